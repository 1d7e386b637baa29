//! A fact, what it stands on, and how it comes and goes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::key::{Hash, hash};
use crate::record::shortened;
use crate::{Error, Result};

/// Longest name of an entity in bytes.
pub const NAME_BYTES_MAX: usize = 1024;
/// Longest name of a predicate or an extractor in bytes.
pub const PREDICATE_BYTES_MAX: usize = 255;
/// Longest value of a fact in bytes.
pub const VALUE_BYTES_MAX: usize = 8 << 10;
/// Sources of one fact; a further one is not noted.
pub const SOURCES_MAX: usize = 1_000;

/// The object of a fact, which the fact relates to its subject: another entity, or a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Object {
    /// An entity, by its name.
    Entity(String),
    /// A text that is no entity.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
}

/// A passage of a collection that a fact is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageRef {
    /// The collection.
    pub collection: String,
    /// The record.
    pub id: String,
    /// Bytes of its text from here …
    pub start: u32,
    /// … to here, exclusive; with 0, to its end.
    pub end: u32,
}

/// A fact to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFact {
    /// Whom or what it is about.
    pub subject: String,
    /// Which relation.
    pub predicate: String,
    /// To whom or what.
    pub object: Object,
    /// When it began to be true, in microseconds since 1970; `None`: not known.
    pub valid_from: Option<i64>,
    /// When it ended to be true, exclusive; `None`: not known, or not yet.
    pub valid_to: Option<i64>,
    /// Where it was read. None: the caller stands for it.
    pub sources: Vec<PassageRef>,
    /// From 0 to 1.
    pub confidence: f64,
    /// The extractor that found it; empty for the caller.
    pub extractor: String,
    /// A fact that it takes the place of.
    pub replaces: Option<u64>,
}

impl NewFact {
    /// Without times and sources.
    pub fn new(subject: impl Into<String>, predicate: impl Into<String>, object: Object) -> Self {
        Self {
            subject: subject.into(),
            predicate: predicate.into(),
            object,
            valid_from: None,
            valid_to: None,
            sources: Vec::new(),
            confidence: 1.0,
            extractor: String::new(),
            replaces: None,
        }
    }
}

/// A passage that a fact was taken from, as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePassage {
    /// Where it is.
    pub of: PassageRef,
    /// The number of the collection.
    pub(crate) collection: u32,
    /// The row that the record had.
    pub(crate) row: u64,
    /// The hash of its text.
    pub(crate) hash: Hash,
}

/// One ground for a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactSource {
    /// `None`: a caller stands for it.
    pub passage: Option<SourcePassage>,
    /// The extractor that found it.
    pub extractor: String,
    /// From 0 to 1.
    pub confidence: f64,
    /// When it was recorded, in milliseconds since 1970.
    pub recorded_ms: u64,
}

/// Why a fact is not believed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// Its predicate is functional, and a later fact has another value.
    Rule,
    /// A fact was recorded in its place.
    Replaced,
    /// Somebody took it back.
    Retracted,
    /// Somebody said when it ended to be true; the fact that says so has its place.
    Ended,
    /// No passage that it was taken from is there any more.
    Source,
}

/// That a fact is not believed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalidated {
    /// From when on, in milliseconds since 1970.
    pub at_ms: u64,
    /// The rule.
    pub why: EndReason,
    /// The fact by which.
    pub by: Option<u64>,
}

/// A fact as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Its number, which no other fact gets.
    pub number: u64,
    /// Whom or what it is about.
    pub subject: String,
    /// Which relation.
    pub predicate: String,
    /// To whom or what.
    pub object: Object,
    /// When it began to be true, in microseconds since 1970; `None`: not known.
    pub valid_from: Option<i64>,
    /// When it ended to be true, exclusive; `None`: not known, or not yet.
    pub valid_to: Option<i64>,
    /// When it was recorded, in milliseconds since 1970.
    pub recorded_ms: u64,
    /// `None`: it is believed, as long as a source stands.
    pub invalidated: Option<Invalidated>,
    /// The fact that it says the same as, but for when that ended to be true.
    pub revises: Option<u64>,
    /// The sources that support it.
    pub sources: Vec<FactSource>,
}

impl Object {
    /// The name, if it is an entity.
    pub fn entity(&self) -> Option<&str> {
        match self {
            Self::Entity(name) => Some(name),
            _ => None,
        }
    }

    /// The name of an entity, or a value: one of them.
    pub fn into_parts(self) -> (Option<String>, Option<Value>) {
        match self {
            Self::Entity(name) => (Some(name), None),
            Self::Text(text) => (None, Some(text.into())),
            Self::Int(number) => (None, Some(number.into())),
            Self::Float(number) => (None, Some(number.into())),
            Self::Bool(is) => (None, Some(is.into())),
        }
    }

    /// The object of a name, or of a value.
    ///
    /// # Errors
    /// `Invalid` for both or neither, and as [`of_value`](Self::of_value).
    pub fn of_parts(object: Option<String>, value: Option<Value>) -> Result<Self> {
        match (object, value) {
            (Some(name), None) => Ok(Self::Entity(name)),
            (None, Some(value)) => Self::of_value(value),
            _ => Err(Error::invalid("a fact has an `object`, which is an entity, or a `value`: give one of them")),
        }
    }

    /// The object of a value.
    ///
    /// # Errors
    /// `Invalid` for what is no text, number or boolean.
    pub fn of_value(value: Value) -> Result<Self> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Bool(is) => Ok(Self::Bool(is)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(int), _) => Ok(Self::Int(int)),
                (None, Some(float)) => Ok(Self::Float(float)),
                (None, None) => Err(Error::invalid(format!("{number} is no number that can be kept"))),
            },
            other => Err(Error::invalid(format!("a value is a text, a number or a boolean, not {other}"))),
        }
    }

    pub(crate) fn hash(&self) -> Hash {
        match self {
            Self::Entity(name) => hash(&[b"entity", name.as_bytes()]),
            Self::Text(text) => hash(&[b"text", text.as_bytes()]),
            Self::Int(number) => hash(&[b"int", &number.to_be_bytes()]),
            // -0 is 0.
            Self::Float(number) => hash(&[b"float", &(number + 0.0).to_be_bytes()]),
            Self::Bool(is) => hash(&[b"bool", &[u8::from(*is)]]),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Entity(name) => check_name("object", name),
            Self::Text(text) if text.len() > VALUE_BYTES_MAX => {
                let bytes = text.len();
                Err(Error::invalid(format!(
                    "the value has {bytes} bytes, and the limit is {VALUE_BYTES_MAX}; keep long texts in a record, and name it"
                )))
            }
            Self::Float(number) if !number.is_finite() => {
                Err(Error::invalid(format!("the value is {number}; give a finite number")))
            }
            _ => Ok(()),
        }
    }
}

impl NewFact {
    /// Whether it could be recorded.
    ///
    /// # Errors
    /// `Invalid` for names that are empty or too long, a confidence out of its range, and an end before the beginning.
    pub fn check(&self) -> Result<()> {
        check_name("subject", &self.subject)?;
        check_predicate(&self.predicate)?;
        self.object.check()?;
        check_extractor(&self.extractor)?;
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(Error::invalid(format!("the confidence is {}; give 0 to 1", self.confidence)));
        }
        if let (Some(from), Some(to)) = (self.valid_from, self.valid_to)
            && from >= to
        {
            return Err(Error::invalid("the fact ends before it begins: `valid_to` must be later than `valid_from`"));
        }
        if self.sources.len() > SOURCES_MAX {
            return Err(Error::invalid(format!("a fact has at most {SOURCES_MAX} sources")));
        }
        Ok(())
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let object = match &self.object {
            Object::Entity(text) | Object::Text(text) => text.len(),
            _ => 8,
        };
        let sources: usize = self.sources.iter().map(|of| of.collection.len() + of.id.len() + 64).sum();
        (self.subject.len() * 2 + self.predicate.len() + object * 2 + sources + 512) as u64
    }
}

impl Fact {
    /// The highest confidence of its sources.
    pub fn confidence(&self) -> f64 {
        self.sources.iter().map(|source| source.confidence).fold(0.0, f64::max)
    }

    /// Whether it says to have been true at that moment, in microseconds since 1970.
    pub fn is_valid_at(&self, moment: i64) -> bool {
        self.valid_from.is_none_or(|from| from <= moment) && self.valid_to.is_none_or(|to| moment < to)
    }
}

/// Whether an entity may be called so.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    check_word(what, name, NAME_BYTES_MAX)
}

/// Whether a relation may be called so.
pub(crate) fn check_predicate(name: &str) -> Result<()> {
    check_word("predicate", name, PREDICATE_BYTES_MAX)
}

pub(crate) fn check_extractor(name: &str) -> Result<()> {
    match name {
        "" => Ok(()),
        name => check_word("extractor", name, PREDICATE_BYTES_MAX),
    }
}

fn check_word(what: &str, word: &str, bytes_max: usize) -> Result<()> {
    match word.len() {
        _ if word.trim().is_empty() => Err(Error::invalid(format!("the {what} is empty; give at least one character"))),
        bytes if bytes > bytes_max => {
            Err(Error::invalid(format!("the {what} {:?} has {bytes} bytes; the limit is {bytes_max}", shortened(word))))
        }
        // It ends words in keys.
        _ if word.contains('\0') => {
            Err(Error::invalid(format!("the {what} {:?} contains the character U+0000; remove it", shortened(word))))
        }
        _ => Ok(()),
    }
}
