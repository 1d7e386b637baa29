//! The normal form of a name: what two spellings of one name have in common.

use unicode_normalization::UnicodeNormalization;

/// Compatible characters and case are one, marks and punctuation are spaces or nothing, and words stand one space apart.
///
/// Names of one normal form are *candidates* of one entity; nothing is merged by it.
pub(crate) fn normal_form(name: &str) -> String {
    let folded = name.nfkd().filter(|character| !is_mark(*character)).flat_map(char::to_lowercase);
    let mut normal = String::with_capacity(name.len());
    let mut gap = false;
    for character in folded.nfkc() {
        match character {
            // J.R.R. is JRR, O'Brien is OBrien.
            '.' | '\'' | '\u{2019}' | '\u{ad}' => {}
            character if character.is_alphanumeric() => {
                if gap && !normal.is_empty() {
                    normal.push(' ');
                }
                gap = false;
                normal.push(character);
            }
            _ => gap = true,
        }
    }
    match normal.is_empty() {
        // Of punctuation alone: itself.
        true => name.nfkc().filter(|character| *character != '\0').collect(),
        false => normal,
    }
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_have_one_form() {
        for (form, names) in [
            ("acme corp", &["Acme Corp.", "ACME  corp", "acme-corp", "Ａｃｍｅ Corp"][..]),
            ("jose obrien", &["José O'Brien", "JOSE OBRIEN", "Jose\u{301} O\u{2019}Brien"]),
            ("jrr tolkien", &["J.R.R. Tolkien", "JRR Tolkien"]),
            ("strasse 7", &["strasse 7", "Strasse #7"]),
        ] {
            for name in names {
                assert_eq!(normal_form(name), form, "{name:?}");
            }
        }
        assert_ne!(normal_form("Acme"), normal_form("Acme Inc"));
        assert_eq!(normal_form("++"), "++");
        assert!(!normal_form("\0").contains('\0'));
    }
}
