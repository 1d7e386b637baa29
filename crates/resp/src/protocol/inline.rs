//! Commands written as a line of words, by hand or by a health check: `SET key "two words"`.

/// The words of a line; `None` when a quote is not closed, or something follows it at once.
///
/// In double quotes `\n \r \t \b \a`, `\xHH` and a backslash before anything else mean what they do in C; in single quotes only
/// `\'` does.
pub(crate) fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some((first, after)) = rest.split_first() {
            match first {
                first if first.is_ascii_whitespace() => break,
                b'"' | b'\'' => {
                    rest = quoted(*first, after, &mut word)?;
                    if rest.first().is_some_and(|next| !next.is_ascii_whitespace()) {
                        return None;
                    }
                }
                first => {
                    word.push(*first);
                    rest = after;
                }
            }
        }
        words.push(word);
    }
}

/// Takes up to the closing quote; what comes after it.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match (*first, quote) {
            (first, quote) if first == quote => return Some(rest),
            (b'\\', b'"') => {
                let (escaped, after) = rest.split_first()?;
                rest = after;
                let hex = || Some((digit(*after.first()?)? << 4) | digit(*after.get(1)?)?);
                match (escaped, hex()) {
                    (b'x', Some(byte)) => {
                        word.push(byte);
                        rest = &after[2..];
                    }
                    (b'n', _) => word.push(b'\n'),
                    (b'r', _) => word.push(b'\r'),
                    (b't', _) => word.push(b'\t'),
                    (b'b', _) => word.push(8),
                    (b'a', _) => word.push(7),
                    (other, _) => word.push(*other),
                }
            }
            (b'\\', b'\'') if rest.first() == Some(&b'\'') => {
                word.push(b'\'');
                rest = &rest[1..];
            }
            (other, _) => word.push(other),
        }
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_unquoted() {
        let split = |line: &str| words(line.as_bytes());
        assert_eq!(split("  a  b ").unwrap(), [b"a", b"b"]);
        assert_eq!(split(r#"SET "a \x41\n\"" 'it\'s'"#).unwrap(), [&b"SET"[..], b"a A\n\"", b"it's"]);
        assert_eq!(split(r#""""#).unwrap(), [b""]);
        assert_eq!(split(""), Some(vec![]));
        for open in [r#""a"#, "'a", r#""a"b"#, r#""\"#] {
            assert_eq!(split(open), None, "{open}");
        }
    }
}
