//! From text to the words that are counted: cut, lower-case, drop stop words, stem.

use tantivy::tokenizer::{Language, LowerCaser, RemoveLongFilter, Stemmer, StopWordFilter, TextAnalyzer};

use crate::words::{WordTokenizer, Words};
use crate::{Result, TextError};

/// Longer words (base64, minified code) are dropped: nobody types them, and each would be a dictionary entry of its own.
pub const WORD_BYTES_MAX: usize = 255;

/// Raised when the words that an analyzer makes of a text change; an index built by another version is refused.
pub(crate) const ANALYZER_VERSION: u32 = 1;

const LANGUAGES: [(&str, Language); 18] = [
    ("arabic", Language::Arabic),
    ("danish", Language::Danish),
    ("dutch", Language::Dutch),
    ("english", Language::English),
    ("finnish", Language::Finnish),
    ("french", Language::French),
    ("german", Language::German),
    ("greek", Language::Greek),
    ("hungarian", Language::Hungarian),
    ("italian", Language::Italian),
    ("norwegian", Language::Norwegian),
    ("portuguese", Language::Portuguese),
    ("romanian", Language::Romanian),
    ("russian", Language::Russian),
    ("spanish", Language::Spanish),
    ("swedish", Language::Swedish),
    ("tamil", Language::Tamil),
    ("turkish", Language::Turkish),
];

/// One word of a text and where it stood (byte offsets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The word as it is indexed: in lower case, and stemmed where the language has a stemmer.
    pub text: String,
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// Turns text into words. The index, its memtable, [`scan`](crate::scan) and queries all use the same one.
#[derive(Clone)]
pub struct Analyzer {
    language: String,
    prose: TextAnalyzer,
    code: TextAnalyzer,
    query: TextAnalyzer,
}

impl Analyzer {
    /// `"english"`: lower case, Lucene's 33 English stop words, Snowball's English stemmer. `"none"`: lower case only.
    /// The other Snowball languages by their English names, with the stop words that come with tantivy.
    pub fn new(language: &str) -> Result<Self> {
        let stemmed = match LANGUAGES.iter().find(|(name, _)| *name == language) {
            Some((_, language)) => Some(*language),
            None if language == "none" => None,
            None => {
                return Err(TextError::UnknownLanguage { asked: language.into() });
            }
        };
        Ok(Self {
            language: language.into(),
            prose: chain(Words::Prose, stemmed),
            code: chain(Words::Code, stemmed),
            query: chain(Words::Query, stemmed),
        })
    }

    /// The name given to [`new`](Self::new).
    pub fn language(&self) -> &str {
        &self.language
    }

    /// The words of a passage. With `code`, identifiers such as `blockCache` and `block_cache` also give their whole and
    /// their parts; the natural words come out the same with and without.
    pub fn tokens(&self, text: &str, code: bool) -> Vec<Token> {
        let mut tokens = Vec::new();
        let chain = if code { &self.code } else { &self.prose };
        each(chain, text, |token| {
            tokens.push(Token { text: token.text.clone(), start: token.offset_from, end: token.offset_to });
        });
        tokens
    }

    /// The words that a query looks for: its natural words, and the whole of each snake_case identifier.
    /// (A camelCase identifier is one natural word already.)
    pub(crate) fn query_words(&self, query: &str, word: impl FnMut(&tantivy::tokenizer::Token)) {
        each(&self.query, query, word);
    }

    pub(crate) fn passage_words(&self, text: &str, code: bool, word: impl FnMut(&tantivy::tokenizer::Token)) {
        each(if code { &self.code } else { &self.prose }, text, word);
    }

    /// How the index's schema names this analyzer.
    pub(crate) fn stored_name(&self) -> String {
        format!("nuthatch-{}-{ANALYZER_VERSION}", self.language)
    }

    pub(crate) fn chain_for_schema(&self) -> TextAnalyzer {
        self.prose.clone()
    }
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Analyzer({})", self.language)
    }
}

/// All languages, for messages.
pub(crate) fn names() -> String {
    let mut names = String::from("none");
    for (name, _) in LANGUAGES {
        names.push_str(", ");
        names.push_str(name);
    }
    names
}

fn chain(words: Words, language: Option<Language>) -> TextAnalyzer {
    let chain = TextAnalyzer::builder(WordTokenizer { words })
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX + 1))
        .filter(LowerCaser)
        .dynamic();
    let Some(language) = language else {
        return chain.build();
    };
    match StopWordFilter::new(language) {
        Some(stop_words) => chain.filter_dynamic(stop_words),
        None => chain,
    }
    .filter_dynamic(Stemmer::new(language))
    .build()
}

fn each(chain: &TextAnalyzer, text: &str, mut word: impl FnMut(&tantivy::tokenizer::Token)) {
    // tantivy's streams borrow their chain mutably; a clone is a few reference counts.
    let mut chain = chain.clone();
    let mut stream = chain.token_stream(text);
    while stream.advance() {
        if !stream.token().text.is_empty() {
            word(stream.token());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(language: &str, text: &str, code: bool) -> Vec<String> {
        let tokens = Analyzer::new(language).unwrap().tokens(text, code);
        tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn english_drops_stop_words_and_stems() {
        assert_eq!(words("english", "The running of the Foxes", false), ["run", "fox"]);
        assert_eq!(words("none", "The Foxes", false), ["the", "foxes"]);
        assert_eq!(words("german", "die Häuser", false), ["haus"]);
    }

    #[test]
    fn unknown_language_names_the_known_ones() {
        let error = Analyzer::new("klingon").unwrap_err().to_string();
        assert!(error.contains("klingon") && error.contains("english"), "{error}");
    }

    #[test]
    fn code_gives_identifiers_their_parts_and_their_whole() {
        assert_eq!(
            words("none", "HTTPServer.read_at(blockCache)", true),
            ["httpserver", "http", "server", "read", "at", "readat", "blockcache", "block", "cache"]
        );
        assert_eq!(
            words("none", "x __init__ sha256 Base64Encode _", true),
            ["x", "init", "sha256", "base64encode", "base64", "encode"]
        );
    }

    #[test]
    fn prose_is_the_same_with_and_without_code() {
        let text = "Reset a password: it takes 3 steps, naïve café, mRNA.";
        let prose = words("english", text, false);
        let code = words("english", text, true);
        assert!(prose.iter().all(|word| code.contains(word)));
        let plain = "reset a password in three easy steps";
        assert_eq!(words("english", plain, false), words("english", plain, true));
    }

    #[test]
    fn offsets_point_at_the_words() {
        let text = "öl — read_at, Straße";
        for token in Analyzer::new("none").unwrap().tokens(text, true) {
            let spelled = text[token.start..token.end].to_lowercase().replace('_', "");
            assert_eq!(spelled, token.text);
        }
    }

    #[test]
    fn endless_words_are_dropped() {
        let long = "a".repeat(WORD_BYTES_MAX + 1);
        assert!(words("none", &long, true).is_empty());
        assert_eq!(words("none", &long[1..], true).len(), 1);
    }
}
