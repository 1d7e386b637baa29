//! Explains errors in a document that somebody sent in terms of the document: "expected a whole number of 0 or more",
//! not "expected usize".
//!
//! The libraries that read JSON, addresses and settings name the Rust type that they were to read. Every face says it by these
//! functions instead, and names the field.
//!
//! **Useful for** documents from outside. **Not for** files of our own: the library's words serve better there, in
//! front of a damaged file.
//!
//! **Invariant:** only the libraries' phrases change; above all, the sender's own text does not.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Whole numbers by their Rust types, and what they are.
const NUMBERS: [(&str, &str); 14] = [
    ("usize", NATURAL),
    ("u64", NATURAL),
    ("u128", NATURAL),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u16", "a whole number from 0 to 65535"),
    ("u8", "a whole number from 0 to 255"),
    ("isize", WHOLE),
    ("i128", WHOLE),
    ("i64", WHOLE),
    ("i32", "a whole number from -2147483648 to 2147483647"),
    ("i16", "a whole number from -32768 to 32767"),
    ("i8", "a whole number from -128 to 127"),
    ("f64", "a number"),
    ("f32", "a number"),
];
const NATURAL: &str = "a whole number of 0 or more";
const WHOLE: &str = "a whole number";
/// Other expectations, by how they begin; the rest up to the place is dropped.
const SHAPES: [(&str, &str); 14] = [
    ("struct variant", "an object"),
    ("struct ", "an object"),
    ("internally tagged enum", "an object"),
    ("adjacently tagged enum", "an object"),
    ("enum ", "a name, or an object with one field"),
    ("string or map", "a name, or an object with one field"),
    ("variant identifier", "a name"),
    ("variant of enum", "a name"),
    ("field identifier", "a name"),
    ("tuple ", "an array"),
    ("a tuple", "an array"),
    ("a sequence", "an array"),
    ("a map", "an object"),
    ("unit", "null"),
];
/// The values received instead, by how they begin.
const GIVEN: [(&str, &str); 10] = [
    ("string ", "the string "),
    ("integer ", "the number "),
    ("floating point ", "the number "),
    ("boolean ", ""),
    ("character ", "the string "),
    ("map", "an object"),
    ("sequence", "an array"),
    ("null", "null"),
    ("unit value", "null"),
    ("Option value", "a value"),
];
/// The standard library's messages about text that is no number.
const PARSED: [(&str, &str); 6] = [
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number, got nothing"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "expected a number"),
    ("provided string was not `true` or `false`", "expected `true` or `false`"),
];

/// Rephrases a library's message about a document in terms of the document.
pub fn plain(error: impl Display) -> String {
    let said = error.to_string();
    for kind in ["invalid type: ", "invalid value: "] {
        // The sender's text may contain the same words, so the first and the last occurrence count.
        if let Some((before, rest)) = said.split_once(kind)
            && let Some((given, wanted)) = rest.rsplit_once(", expected ")
        {
            let (wanted, place) = split_place(wanted);
            return format!("{before}expected {}, got {}{place}", expected(wanted), got(given));
        }
    }
    if let Some((before, (_, plain))) = PARSED.iter().find_map(|it| Some((said.strip_suffix(it.0)?, it))) {
        return format!("{before}{plain}");
    }
    // `Cannot parse `id` with value `x` to a `u64``
    match NUMBERS.iter().find_map(|(name, plain)| Some((said.strip_suffix(&format!("to a `{name}`"))?, plain))) {
        Some((before, plain)) => format!("{before}as {plain}"),
        None => said,
    }
}

/// Reads a document; what is wrong is said with the field's path.
///
/// # Errors
/// A sentence.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = from(&mut json)?;
    json.end().map_err(plain)?;
    Ok(value)
}

/// As [`from_json`], of a document that was read otherwise.
///
/// # Errors
/// A sentence.
pub fn from<'de, T: Deserialize<'de>, D>(source: D) -> Result<T, String>
where
    D: serde::Deserializer<'de>,
    D::Error: Display,
{
    serde_path_to_error::deserialize(source).map_err(|error| {
        let said = plain(error.inner());
        match error.path().iter().len() {
            0 => said,
            _ => format!("{}: {said}", error.path()),
        }
    })
}

/// Divides what is expected from where that is in the document.
fn split_place(wanted: &str) -> (&str, &str) {
    let at = wanted.rfind(" at line ").unwrap_or(wanted.len());
    wanted.split_at(at)
}

fn expected(wanted: &str) -> String {
    if let Some(name) = wanted.strip_prefix("a nonzero ") {
        return expected(name).replace("of 0 or more", "of 1 or more").replace("from 0 to", "from 1 to");
    }
    let number = NUMBERS.iter().find(|(name, _)| *name == wanted);
    let shape = || SHAPES.iter().find(|(name, _)| wanted.starts_with(name));
    number.or_else(shape).map_or_else(|| wanted.to_string(), |(_, plain)| (*plain).to_string())
}

fn got(given: &str) -> String {
    let Some((name, plain)) = GIVEN.iter().find(|(name, _)| given.starts_with(name)) else { return given.to_string() };
    let value = &given[name.len()..];
    // Numbers and booleans come in backticks.
    format!("{plain}{}", value.trim_matches('`'))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Asked {
        limit: Option<usize>,
        nested: Option<Vec<Nested>>,
        shift: Option<i64>,
        share: Option<f32>,
        parts: Option<NonZeroU64>,
        port: Option<u16>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Nested {
        count: u64,
    }

    fn wrong(json: &str) -> String {
        from_json::<Asked>(json.as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_said_in_words_of_the_document_with_its_place() {
        for (json, said) in [
            (r#"{"limit": -1}"#, "limit: expected a whole number of 0 or more, got the number -1"),
            (r#"{"limit": "3"}"#, r#"limit: expected a whole number of 0 or more, got the string "3""#),
            (r#"{"limit": 1.5}"#, "limit: expected a whole number of 0 or more, got the number 1.5"),
            (r#"{"limit": true}"#, "limit: expected a whole number of 0 or more, got true"),
            (r#"{"shift": null, "share": "a"}"#, r#"share: expected a number, got the string "a""#),
            (r#"{"shift": []}"#, "shift: expected a whole number, got an array"),
            (r#"{"parts": 0}"#, "parts: expected a whole number of 1 or more, got the number 0"),
            (r#"{"port": 70000}"#, "port: expected a whole number from 0 to 65535, got the number 70000"),
            (r#"{"nested": 5}"#, "nested: expected an array, got the number 5"),
            (r#"{"nested": [{"count": {}}]}"#, "nested[0].count: expected a whole number of 0 or more, got an object"),
            (r#"{"nested": ["a"]}"#, r#"nested[0]: expected an object, got the string "a""#),
            ("7", "expected an object, got the number 7"),
        ] {
            let message = wrong(json);
            let (before, place) = message.split_at(message.rfind(" at line ").unwrap_or(message.len()));
            assert!(before == said && place.starts_with(" at line 1"), "{json}: {message}");
        }
    }

    #[test]
    fn what_the_sender_wrote_stays() {
        let message = wrong(r#"{"limit": "invalid type: map, expected usize"}"#);
        assert!(message.contains(r#"got the string "invalid type: map, expected usize""#), "{message}");
        for said in
            ["missing field `a`", "unknown field `limits`, expected one of `limit`, `mode`", "EOF while parsing"]
        {
            assert_eq!(plain(said), said);
        }
    }

    #[test]
    fn texts_that_are_no_numbers_are_told_so() {
        assert_eq!(plain(format!("limit: {}", "x".parse::<usize>().unwrap_err())), "limit: expected a whole number");
        assert_eq!(plain("".parse::<u64>().unwrap_err()), "expected a whole number, got nothing");
        assert_eq!(plain("300".parse::<u8>().unwrap_err()), "the number is too large");
        assert_eq!(plain("x".parse::<f64>().unwrap_err()), "expected a number");
        assert_eq!(plain("x".parse::<bool>().unwrap_err()), "expected `true` or `false`");
        let said = "Cannot parse `snapshot` with value `x` to a `u64`";
        assert_eq!(plain(said), "Cannot parse `snapshot` with value `x` as a whole number of 0 or more");
    }
}
