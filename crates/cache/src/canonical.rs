//! One form for prompts that differ in case, white space, contractions and politeness only.
//!
//! **Invariant:** what is left out never changes an answer. Signs, numbers, words that ask, modal verbs and prepositions stay, in
//! their order. A prompt with code or quotations keeps everything but the white space at its ends.

use unicode_normalization::UnicodeNormalization;

use crate::language::{ENGLISH, language};
use crate::tokens::{Tokens, unified};

/// Words that leave a request as it is, at its beginning.
const POLITE: &[&str] = &["please", "bitte"];
/// The same behind a comma at its end.
const POLITE_ENDS: &[&str] = &[
    "please",
    "thanks",
    "thank you",
    "bitte",
    "danke",
    "s'il vous plaît",
    "s'il te plaît",
    "merci",
    "por favor",
    "gracias",
    "per favore",
    "grazie",
];
/// Contractions of two words. Others, such as `he'd`, have two readings.
const CONTRACTIONS: &[(&str, &str)] = &[
    ("can't", "can not"),
    ("cannot", "can not"),
    ("won't", "will not"),
    ("shan't", "shall not"),
    ("what's", "what is"),
    ("who's", "who is"),
    ("where's", "where is"),
    ("how's", "how is"),
    ("that's", "that is"),
    ("it's", "it is"),
    ("there's", "there is"),
    ("i'm", "i am"),
];
/// Words after which a question mark adds nothing.
const ASKS: &[&str] = &[
    "what", "who", "whom", "whose", "which", "when", "where", "why", "how", "is", "are", "was", "were", "do", "does",
    "did", "can", "could", "should", "would", "will",
];
/// Fewer words than this are left as they are.
const POLITE_FROM_WORDS: usize = 4;

/// The form of a prompt. Two prompts of one form ask the same.
pub fn canonical(prompt: &str) -> String {
    if !is_plain(prompt) {
        return prompt.nfc().collect::<String>().trim().to_string();
    }
    let text: String = prompt.nfkc().map(unified).collect();
    let shouts = !text.chars().any(char::is_lowercase);
    let mut words: Vec<String> = text.split_whitespace().map(|word| folded(word, shouts)).collect();
    let english = language(Tokens::of(prompt).words()) == Some(ENGLISH);
    strip_politeness(&mut words);
    if english {
        words = words.iter().flat_map(|word| opened(word)).collect();
        drop_articles(&mut words);
    }
    end(words, english)
}

/// No code, no quotation, no line break: nothing in which case or spaces could count.
fn is_plain(prompt: &str) -> bool {
    let counts = |char: char| {
        matches!(
            char,
            '`' | '{' | '}' | '<' | '>' | '[' | ']' | '=' | '\\' | '|' | '_' | ';' | ':' | '~' | '^' | '@' | '(' | ')'
        ) || unified(char) == '"'
            || (char.is_whitespace() && char != ' ' && char != '\u{A0}')
    };
    let text = prompt.trim();
    !text.chars().any(counts) && Tokens::of(text).codes.iter().all(|code| code.len() <= 4)
}

/// In lower case, unless it is an acronym: `IT` is not `it`.
fn folded(word: &str, shouts: bool) -> String {
    let letters = word.chars().filter(|char| char.is_alphabetic()).count();
    let is_acronym = !shouts && letters > 1 && word.chars().filter(|char| char.is_alphabetic()).all(char::is_uppercase);
    if is_acronym { word.to_string() } else { word.to_lowercase() }
}

fn strip_politeness(words: &mut Vec<String>) {
    if words.len() < POLITE_FROM_WORDS {
        return;
    }
    if POLITE.contains(&words[0].trim_end_matches(',')) {
        words.remove(0);
    }
    for ending in POLITE_ENDS {
        let count = ending.split(' ').count();
        let Some(from) = words.len().checked_sub(count).filter(|from| *from >= POLITE_FROM_WORDS - 1) else { continue };
        let tail = words[from..].join(" ");
        if tail.trim_end_matches(['.', '!', '?']) == *ending && words[from - 1].ends_with(',') {
            let marks: String = tail.chars().skip(ending.chars().count()).collect();
            words.truncate(from);
            if let Some(last) = words.last_mut() {
                last.pop();
                last.push_str(&marks);
            }
            return;
        }
    }
}

/// A contraction, opened.
fn opened(word: &str) -> Vec<String> {
    let (stem, marks) = word.split_at(word.trim_end_matches(['.', ',', '?', '!']).len());
    let opened = match CONTRACTIONS.iter().find(|(short, _)| *short == stem) {
        Some((_, long)) => long.to_string(),
        None => match stem.strip_suffix("n't") {
            Some(stem) if !stem.is_empty() => format!("{stem} not"),
            _ => [("'re", " are"), ("'ve", " have"), ("'ll", " will")]
                .iter()
                .find_map(|(short, long)| stem.strip_suffix(short).map(|stem| format!("{stem}{long}")))
                .unwrap_or_else(|| stem.to_string()),
        },
    };
    format!("{opened}{marks}").split(' ').map(str::to_string).collect()
}

/// Takes out articles before words of two letters or more: the `a` of `vitamin a` is a name.
fn drop_articles(words: &mut Vec<String>) {
    let is_word =
        |word: Option<&String>| word.is_some_and(|word| word.chars().filter(|char| char.is_alphabetic()).count() > 1);
    let kept = (0..words.len()).filter(|at| {
        let article = matches!(words[*at].as_str(), "the" | "a" | "an");
        !(article && is_word(words.get(at + 1)))
    });
    *words = kept.map(|at| words[at].clone()).collect();
}

/// Joins the words, with the marks at the end written in one way.
fn end(words: Vec<String>, english: bool) -> String {
    let asks = english && words.first().is_some_and(|word| ASKS.contains(&word.as_str()));
    let text = words.join(" ");
    let bare = text.trim_end_matches(['.', '!', '?', ' ', '…']);
    let marks = &text[bare.len()..];
    // An ellipsis leaves something open.
    if bare.is_empty() || marks.contains("..") || marks.contains('…') {
        return text;
    }
    match marks.contains('?') && !asks {
        true => format!("{bare}?"),
        false => bare.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_differ_in_form_have_one_form() {
        for (a, b) in [
            ("What is the purpose of life ?", "what is the purpose of life?"),
            ("What's the capital of France?", "what is the capital of france"),
            ("Please explain how DNS works.", "explain how DNS works"),
            ("Explain how DNS works, please!", "explain how DNS works"),
            ("How  do I\u{a0}sort a list?", "how do i sort list"),
            ("Why doesn’t it rain?", "why does not it rain?"),
            ("Wie alt ist die Erde?", "wie alt ist die erde?"),
            ("ｗｈａｔ is the time", "What is the time"),
        ] {
            assert_eq!(canonical(a), canonical(b), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn prompts_that_ask_something_else_keep_their_forms() {
        for (a, b) in [
            ("What is C#?", "What is C?"),
            ("What is C++?", "What is C?"),
            ("What is vitamin a?", "What is vitamin?"),
            ("Who leads IT?", "Who leads it?"),
            ("How should I sort a list?", "How can I sort a list?"),
            ("How do I get to Rome?", "How do I get from Rome?"),
            ("What is 5% of 20?", "What is 5 of 20?"),
            ("Translate: Thank you", "Translate:"),
            ("Say \"Hello\" in French", "Say \"hello\" in French"),
            ("How do you say please in French?", "How do you say thanks in French?"),
            ("You can go?", "You can go."),
            ("Wait...", "Wait"),
            ("def f(a): return a", "def f(A): return A"),
            ("What is -5 + 3?", "What is 5 + 3?"),
            ("voy a la casa de mi madre", "voy la casa de mi madre"),
            ("Why is the sky blue?", "When is the sky blue?"),
        ] {
            assert_ne!(canonical(a), canonical(b), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn a_form_has_itself_as_its_form() {
        for prompt in [
            "What's the time?",
            "Please, tell me the way.",
            "",
            "  ",
            "...",
            "¿Qué hora es?",
            "please",
            "x = 1;\ny",
            "can't",
        ] {
            let once = canonical(prompt);
            assert_eq!(canonical(&once), once, "{prompt:?}");
        }
    }
}
