//! The JSON of `POST /embeddings`.

use serde::{Deserialize, Serialize};

#[derive(Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub input: &'a [&'a str],
    pub encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Response {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some servers leave it out; then the position counts.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// A text as it is sent. Endpoints refuse an empty string; a space stands for it.
pub fn input(prefix: &str, text: &str) -> String {
    if prefix.is_empty() && text.is_empty() { " ".to_owned() } else { format!("{prefix}{text}") }
}

/// The vectors of an answer, in the order of the `expected` inputs. The error says what is wrong.
pub fn vectors(body: &[u8], expected: usize) -> Result<Vec<Vec<f32>>, String> {
    let response: Response =
        serde_json::from_slice(body).map_err(|e| format!("it is not a list of embeddings ({e}): {}", excerpt(body)))?;
    if response.data.len() != expected {
        return Err(format!("it holds {} embedding(s) for {expected} text(s)", response.data.len()));
    }
    let mut vectors = vec![Vec::new(); expected];
    for (position, item) in response.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        if item.embedding.is_empty() {
            return Err(format!("embedding {index} is empty"));
        }
        match vectors.get_mut(index) {
            Some(slot) if slot.is_empty() => *slot = item.embedding,
            Some(_) => return Err(format!("index {index} comes twice")),
            None => return Err(format!("index {index} is outside of the {expected} text(s) sent")),
        }
    }
    Ok(vectors)
}

/// The beginning of a body, on one line, for an error message.
pub fn excerpt(body: &[u8]) -> String {
    const CHARS_MAX: usize = 300;
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * CHARS_MAX)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "(empty body)".to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_vectors_in_the_order_of_their_index() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(vectors(body, 2).unwrap(), [[1.0], [2.0]]);
        let without_index = br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(vectors(without_index, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn says_what_is_wrong_with_an_answer() {
        let of = |body: &str, expected| vectors(body.as_bytes(), expected).unwrap_err();
        assert!(of("<html>502</html>", 1).contains("<html>502</html>"));
        assert!(of(r#"{"error":{"message":"no such model"}}"#, 1).contains("no such model"));
        assert!(of(r#"{"data":[]}"#, 1).contains("0 embedding(s) for 1 text(s)"));
        assert!(of(r#"{"data":[{"index":0,"embedding":[]}]}"#, 1).contains("empty"));
        assert!(of(r#"{"data":[{"index":7,"embedding":[1]}]}"#, 1).contains("index 7 is outside"));
        assert!(of(r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2).contains("twice"));
        assert!(of(r#"{"data":[{"index":0,"embedding":[null]}]}"#, 1).contains("not a list of embeddings"));
    }

    #[test]
    fn an_excerpt_is_one_short_line_whatever_the_bytes() {
        assert_eq!(excerpt(b""), "(empty body)");
        assert_eq!(excerpt(b"a\n\n  b"), "a b");
        assert_eq!(excerpt("é".repeat(5000).as_bytes()).chars().count(), 301);
        assert!(!excerpt(&[0xff; 10]).is_empty());
    }
}
