//! Extractors: what reads a passage and says which facts are in it, once for each text.
//!
//! **Useful for** links, names and whatever a model or a rule finds in texts. **Not for** deciding what is true: an extractor says
//! what it read, and the rules of facts do the rest.
//!
//! **Invariant:** an extractor is called for a text once, as long as a record has it; a failure is kept and repeated when asked for.

mod entities;
mod links;
mod run;
mod scanner;

use serde::{Deserialize, Serialize};

pub use entities::Mentions;
pub use links::Links;
pub use run::{
    ExtractBuiltIn, ExtractFailure, ExtractReport, Learn, Learned, Work, WorkPage, WorkPassage, document_of,
};
pub(crate) use run::{extract_built_in, failures, learn, work};

use crate::facts::Object;
use crate::facts::fact::{check_name, check_predicate};
use crate::{Error, Result};

/// Facts that one extractor may find in one passage.
pub const EXTRACTED_MAX: usize = 1_000;

/// A passage as an extractor gets it.
#[derive(Clone, Copy, Debug)]
pub struct PassageText<'a> {
    /// The text that byte ranges are of.
    pub text: &'a str,
    /// Headings or symbols that it stands under.
    pub context: Option<&'a str>,
    /// The text is source code.
    pub code: bool,
}

/// To whom or what a fact relates its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExtractedObject {
    /// An entity or a value.
    Plain(Object),
    /// A path relative to that of the document, which becomes an entity.
    Relative(String),
}

/// A fact as an extractor finds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extracted {
    /// Whom it is about; `None`: the document that the passage is of.
    pub subject: Option<String>,
    /// Which relation.
    pub predicate: String,
    /// To whom or what.
    pub object: ExtractedObject,
    /// In microseconds since 1970.
    pub valid_from: Option<i64>,
    /// In microseconds since 1970.
    pub valid_to: Option<i64>,
    /// Bytes of the text from here …
    pub start: u32,
    /// … to here, exclusive.
    pub end: u32,
    /// From 0 to 1.
    pub confidence: f64,
}

impl Extracted {
    /// A fact about the document, found in these bytes.
    pub fn of_document(predicate: &str, object: Object, (start, end): (usize, usize)) -> Self {
        Self {
            subject: None,
            predicate: predicate.into(),
            object: ExtractedObject::Plain(object),
            valid_from: None,
            valid_to: None,
            start: start as u32,
            end: end as u32,
            confidence: 1.0,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.subject.as_deref().map_or(Ok(()), |name| check_name("subject", name))?;
        check_predicate(&self.predicate)?;
        match &self.object {
            ExtractedObject::Plain(object) => object.check()?,
            ExtractedObject::Relative(path) => check_name("object", path)?,
        }
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(Error::invalid(format!("the confidence is {}; give 0 to 1", self.confidence)));
        }
        if let (Some(from), Some(to)) = (self.valid_from, self.valid_to)
            && from >= to
        {
            return Err(Error::invalid("the fact ends before it begins: `valid_to` must be later than `valid_from`"));
        }
        Ok(())
    }
}

/// Finds facts in passages. The same text gives the same facts: what it finds is kept by the text's hash.
pub trait Extractor: Send + Sync {
    /// Returns the extractor's name with its version: a different one is asked again.
    fn id(&self) -> &'static str;

    /// The facts of a passage.
    fn extract(&self, passage: &PassageText<'_>) -> Vec<Extracted>;
}

/// The extractors that need no model, by the names that callers give.
pub static BUILT_IN: &[(&str, &dyn Extractor)] = &[("links", &Links), ("mentions", &Mentions)];

/// The extractor of that name.
pub(crate) fn built_in(name: &str) -> Result<&'static dyn Extractor> {
    let known = || BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, extractor)| *extractor);
    found.ok_or_else(|| Error::not_found(format!("no extractor {name:?}; there are: {}", known())))
}
