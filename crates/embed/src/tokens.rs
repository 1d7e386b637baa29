//! Texts to token ids by `kitoken`, cut to what the model reads.

use std::borrow::Cow;
use std::path::Path;

use kitoken::Kitoken;

use crate::{EmbedError, Model, ModelManifest};

/// First slice of a long text that is tokenized: enough for 256 tokens of nearly any prose.
const FIRST_SLICE_BYTES: usize = 4096;

/// A tokenizer that gives at most `tokens_max` ids.
pub struct Tokens {
    encoder: Kitoken,
    tokens_max: usize,
    name: String,
}

impl Tokens {
    /// `rules`: the contents of `tokenizer.json`, which lies at `path`.
    pub fn new(rules: &[u8], path: &Path, name: &str, tokens_max: usize, model: Model) -> Result<Self, EmbedError> {
        let encoder = Kitoken::from_tokenizers_slice(rules).map_err(|e| EmbedError::DamagedModel {
            model,
            path: path.to_owned(),
            what: format!("is not a tokenizer that can be used ({e})"),
        })?;
        Ok(Self { encoder, tokens_max, name: name.to_owned() })
    }

    /// The ids of a text. Marks that are spelled out in the text ("[SEP]") are ordinary text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        let mut slice_bytes = FIRST_SLICE_BYTES;
        loop {
            // A megabyte of text is not tokenized for its first 256 tokens. The cut is at white space, so that it
            // cannot change a token; if the slice turns out too short, a longer one is tried.
            let slice = head(text, slice_bytes);
            let mut ids = self.encoder.encode(slice, false).map_err(|e| EmbedError::Runtime {
                name: self.name.clone(),
                what: format!("the text cannot be tokenized ({e})"),
            })?;
            if ids.len() >= self.tokens_max || slice.len() == text.len() {
                ids.truncate(self.tokens_max);
                return Ok(ids);
            }
            slice_bytes *= 4;
        }
    }
}

/// The tokens of a BERT model: a mark before the text and one after it.
pub struct Marked {
    tokens: Tokens,
    start: u32,
    end: u32,
}

impl Marked {
    pub fn open(path: &Path, manifest: &ModelManifest) -> Result<Self, EmbedError> {
        let model = Model::Default;
        #[allow(clippy::disallowed_methods, reason = "whoever opens a model checks its files before")]
        let rules = std::fs::read(path).map_err(|e| EmbedError::DamagedModel {
            model,
            path: path.to_owned(),
            what: format!("cannot be read ({e})"),
        })?;
        let tokens = Tokens::new(&rules, path, &manifest.name, manifest.max_tokens - 2, model)?;
        Ok(Self { tokens, start: manifest.start_token, end: manifest.end_token })
    }

    /// The ids of a text, marks included: at most the manifest's `max_tokens`.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, EmbedError> {
        let words = self.tokens.encode(&per_character(text))?;
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
    use super::{Marked, head};
    use crate::{Model, ModelManifest};

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
            .join(Model::Default.name());
        let Some(dir) = Model::Default.dir().or_else(|| in_checkout.is_dir().then_some(in_checkout)) else {
            println!("skipped: the default model is not installed; run `python -m nuthatch.model install`");
            return;
        };
        let manifest = ModelManifest::read(&dir).unwrap();
        let tokens = Marked::open(&dir.join(&manifest.tokenizer.name), &manifest).unwrap();
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
