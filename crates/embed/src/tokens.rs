//! Texts to token ids: WordPiece by `kitoken`, cut to what the model reads.

use std::borrow::Cow;
use std::path::Path;

use kitoken::Kitoken;

use crate::{EmbedError, ModelManifest};

/// First slice of a long text that is tokenized: enough for 256 tokens of nearly any prose.
const FIRST_SLICE_BYTES: usize = 4096;

/// A tokenizer that gives at most `max_tokens` ids, the start and end marks included.
pub struct Tokens {
    encoder: Kitoken,
    start: u32,
    end: u32,
    words_max: usize,
    name: String,
}

impl Tokens {
    pub fn open(path: &Path, manifest: &ModelManifest) -> Result<Self, EmbedError> {
        let encoder = Kitoken::from_tokenizers_file(path).map_err(|e| EmbedError::DamagedModel {
            path: path.to_owned(),
            what: format!("is not a tokenizer that can be used ({e})"),
        })?;
        Ok(Self {
            encoder,
            start: manifest.start_token,
            end: manifest.end_token,
            words_max: manifest.max_tokens - 2,
            name: manifest.name.clone(),
        })
    }

    /// The ids of a text, marks included. Marks that are spelled out in the text ("[SEP]") are ordinary text.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, EmbedError> {
        let mut slice_bytes = FIRST_SLICE_BYTES;
        let ids = loop {
            // A megabyte of text is not tokenized for its first 256 tokens. The cut is at white space, so that it
            // cannot change a token; if the slice turns out too short, a longer one is tried.
            let slice = head(text, slice_bytes);
            let ids = self.encoder.encode(per_character(slice), false).map_err(|e| EmbedError::Runtime {
                name: self.name.clone(),
                what: format!("the text cannot be tokenized ({e})"),
            })?;
            if ids.len() >= self.words_max || slice.len() == text.len() {
                break ids;
            }
            slice_bytes *= 4;
        };
        let words = ids.iter().take(self.words_max).copied();
        Ok(std::iter::once(self.start).chain(words).chain(std::iter::once(self.end)).map(i64::from).collect())
    }
}

/// BERT lowers letter by letter; the encoder lowers whole words, where a capital sigma at the end becomes another letter.
fn per_character(text: &str) -> Cow<'_, str> {
    if text.contains('Σ') { Cow::Owned(text.replace('Σ', "σ")) } else { Cow::Borrowed(text) }
}

/// The part of a text up to the first white space at or after `bytes`; all of it when there is none.
fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let from = text.ceil_char_boundary(bytes);
    match text[from..].find(char::is_whitespace) {
        Some(at) => &text[..from + at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Tokens, head};
    use crate::{DEFAULT_MODEL, ModelManifest, default_model_dir};

    #[derive(serde::Deserialize)]
    struct Reference {
        text: String,
        ids: Vec<i64>,
    }

    /// The ids were written by the model's own tokenizer library (`tests/data/token_ids.json`).
    #[test]
    fn gives_the_ids_of_the_reference_tokenizer() {
        let in_checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../.venv/share/nuthatch/models")
            .join(DEFAULT_MODEL);
        let Some(dir) = default_model_dir().or_else(|| in_checkout.is_dir().then_some(in_checkout)) else {
            println!("skipped: the default model is not installed; run `python -m nuthatch.model install`");
            return;
        };
        let manifest = ModelManifest::read(&dir).unwrap();
        let tokens = Tokens::open(&dir.join(&manifest.tokenizer.name), &manifest).unwrap();
        let references: Vec<Reference> = serde_json::from_str(include_str!("../tests/data/token_ids.json")).unwrap();
        assert!(references.len() > 20);
        for reference in references {
            assert_eq!(tokens.encode(&reference.text).unwrap(), reference.ids, "{:?}", reference.text);
        }
    }

    #[test]
    fn a_slice_ends_at_white_space_and_never_inside_a_character() {
        assert_eq!(head("abc def ghi", 2), "abc");
        assert_eq!(head("abc def ghi", 3), "abc");
        assert_eq!(head("abc def ghi", 4), "abc def");
        assert_eq!(head("ééé é", 1), "ééé");
        assert_eq!(head("no-white-space", 3), "no-white-space");
        assert_eq!(head("short", 4096), "short");
    }
}
