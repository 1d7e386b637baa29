//! Facts as lines of JSON: what is declared, the facts, and what extractors found.

use std::collections::HashMap;

use nuthatch_store::Reader;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{
    EndReason, Extracted, ExtractedObject, Fact, FactSource, FactsPart, GONE, Invalidated, Object, PassageRead,
    PassageRef, SourcePassage, TextRead, each_part,
};
use crate::kv::{Live, Space};
use crate::transfer::export::Lines;
use crate::transfer::key::{hex, unhex};
use crate::transfer::manifest::FactsEntry;
use crate::transfer::{ExportReport, Outlet};
use crate::{Error, Result};

/// A line of facts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactsLine {
    /// A relation that is declared functional.
    Functional(String),
    /// Another name of an entity.
    Alias(AliasLine),
    /// A fact.
    Fact(FactLine),
    /// An extractor's findings in a text.
    Found(FoundLine),
    /// A record that an extractor has seen.
    Seen(SeenLine),
    /// The highest number that a fact ever had.
    Numbers(u64),
}

/// Another name of an entity.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AliasLine {
    alias: String,
    name: String,
}

/// A fact, believed or not. Times of validity are in microseconds since 1970, others in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactLine {
    number: u64,
    subject: String,
    predicate: String,
    /// An entity; else there is a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_from_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_to_us: Option<i64>,
    recorded_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<EndLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revises: Option<u64>,
    sources: Vec<SourceLine>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    at_ms: u64,
    why: EndReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<u64>,
}

/// The source of a fact. Without a passage, a caller vouches for the fact.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passage: Option<PassageLine>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    extractor: String,
    confidence: f64,
    recorded_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PassageLine {
    collection: String,
    /// That collection is not there any more: another one of the name is not it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
    id: String,
    start: u32,
    end: u32,
    /// The hash of its text, hexadecimal.
    text: String,
}

/// An extractor's findings in a text, or the reason why it failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundLine {
    of: SeenLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts: Option<Vec<ExtractedLine>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    at_ms: u64,
    calls: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtractedLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    predicate: String,
    /// An entity, a value, or a path relative to that of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_from_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_to_us: Option<i64>,
    start: u32,
    end: u32,
    confidence: f64,
}

/// A record that an extractor has seen. Extractor and text are hashes, hexadecimal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenLine {
    extractor: String,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    id: String,
}

/// Writes facts of one name. `collections`: the names of all collections by their numbers.
pub(crate) fn export_facts(
    space: &Space,
    reader: &dyn Reader,
    collections: &HashMap<u32, String>,
    outlet: &mut dyn Outlet,
    report: &mut ExportReport,
) -> Result<FactsEntry> {
    let name = space.name.clone();
    let file = format!("facts/{:03}-{name}.jsonl", report.fact_sets);
    let mut lines = Lines::begin(outlet, &file)?;
    let mut facts = 0;
    each_part(&Live { space, reader }, collections, &mut |part| {
        facts += u64::from(matches!(part, FactsPart::Fact(_)));
        lines.push(&FactsLine::of(part))?;
        lines.tell(&name, facts, 0)
    })?;
    let hash = Some(lines.hash());
    report.bytes += lines.finish()?;
    (report.fact_sets, report.facts) = (report.fact_sets + 1, report.facts + facts);
    Ok(FactsEntry { name, file, facts, hash })
}

impl FactsLine {
    fn of(part: FactsPart) -> Self {
        match part {
            FactsPart::Functional(predicate) => Self::Functional(predicate),
            FactsPart::Alias { alias, name } => Self::Alias(AliasLine { alias, name }),
            FactsPart::Fact(fact) => Self::Fact(FactLine::of(*fact)),
            FactsPart::Found(read) => Self::Found(FoundLine::of(*read)),
            FactsPart::Seen(seen) => Self::Seen(SeenLine::of(seen)),
            FactsPart::Numbers(last) => Self::Numbers(last),
        }
    }

    /// The part that it was made of.
    ///
    /// # Errors
    /// `Invalid` for a hash that is none, and where there is not one of several fields.
    pub fn into_part(self) -> Result<FactsPart> {
        Ok(match self {
            Self::Functional(predicate) => FactsPart::Functional(predicate),
            Self::Alias(AliasLine { alias, name }) => FactsPart::Alias { alias, name },
            Self::Fact(fact) => FactsPart::Fact(Box::new(fact.into_fact()?)),
            Self::Found(found) => FactsPart::Found(Box::new(found.into_read()?)),
            Self::Seen(seen) => FactsPart::Seen(seen.into_read()?),
            Self::Numbers(last) => FactsPart::Numbers(last),
        })
    }
}

fn hash_of(digits: &str) -> Result<[u8; 16]> {
    unhex(digits).ok_or_else(|| Error::invalid(format!("{digits:?} is not a hash of 32 hexadecimal digits")))
}

impl FactLine {
    fn of(fact: Fact) -> Self {
        let (object, value) = fact.object.into_parts();
        let ended = |Invalidated { at_ms, why, by }| EndLine { at_ms, why, by };
        Self {
            number: fact.number,
            subject: fact.subject,
            predicate: fact.predicate,
            object,
            value,
            valid_from_us: fact.valid_from,
            valid_to_us: fact.valid_to,
            recorded_ms: fact.recorded_ms,
            ended: fact.invalidated.map(ended),
            revises: fact.revises,
            sources: fact.sources.into_iter().map(SourceLine::of).collect(),
        }
    }

    fn into_fact(self) -> Result<Fact> {
        let ended = |EndLine { at_ms, why, by }| Invalidated { at_ms, why, by };
        Ok(Fact {
            number: self.number,
            subject: self.subject,
            predicate: self.predicate,
            object: Object::of_parts(self.object, self.value)?,
            valid_from: self.valid_from_us,
            valid_to: self.valid_to_us,
            recorded_ms: self.recorded_ms,
            invalidated: self.ended.map(ended),
            revises: self.revises,
            sources: self.sources.into_iter().map(SourceLine::into_source).collect::<Result<_>>()?,
        })
    }
}

impl SourceLine {
    fn of(source: FactSource) -> Self {
        let passage = |SourcePassage { of, collection, hash, .. }| {
            let PassageRef { collection: name, id, start, end } = of;
            PassageLine { collection: name, gone: collection == GONE, id, start, end, text: hex(&hash) }
        };
        let FactSource { passage: found, extractor, confidence, recorded_ms } = source;
        Self { passage: found.map(passage), extractor, confidence, recorded_ms }
    }

    fn into_source(self) -> Result<FactSource> {
        let passage = |PassageLine { collection, gone, id, start, end, text }: PassageLine| -> Result<_> {
            let of = PassageRef { collection, id, start, end };
            // The number and the row are looked up where it comes in.
            Ok(SourcePassage { of, collection: if gone { GONE } else { 0 }, row: 0, hash: hash_of(&text)? })
        };
        let Self { passage: given, extractor, confidence, recorded_ms } = self;
        Ok(FactSource { passage: given.map(passage).transpose()?, extractor, confidence, recorded_ms })
    }
}

impl FoundLine {
    fn of(read: TextRead) -> Self {
        let (facts, failed) = match read.outcome {
            Ok(found) => (Some(found.into_iter().map(ExtractedLine::of).collect()), None),
            Err(why) => (None, Some(why)),
        };
        Self { of: SeenLine::of(read.of), facts, failed, at_ms: read.at_ms, calls: read.calls }
    }

    fn into_read(self) -> Result<TextRead> {
        let outcome = match (self.facts, self.failed) {
            (Some(facts), None) => Ok(facts.into_iter().map(ExtractedLine::into_extracted).collect::<Result<_>>()?),
            (None, Some(why)) => Err(why),
            _ => return Err(Error::invalid("give either `facts` or `failed`")),
        };
        Ok(TextRead { of: self.of.into_read()?, outcome, at_ms: self.at_ms, calls: self.calls })
    }
}

impl ExtractedLine {
    fn of(found: Extracted) -> Self {
        let (object, value, path) = match found.object {
            ExtractedObject::Plain(object) => {
                let (object, value) = object.into_parts();
                (object, value, None)
            }
            ExtractedObject::Relative(path) => (None, None, Some(path)),
        };
        Self {
            subject: found.subject,
            predicate: found.predicate,
            object,
            value,
            path,
            valid_from_us: found.valid_from,
            valid_to_us: found.valid_to,
            start: found.start,
            end: found.end,
            confidence: found.confidence,
        }
    }

    fn into_extracted(self) -> Result<Extracted> {
        let object = match (self.path, self.object, self.value) {
            (Some(path), None, None) => ExtractedObject::Relative(path),
            (None, object, value) => ExtractedObject::Plain(Object::of_parts(object, value)?),
            _ => return Err(Error::invalid("give either `object`, `value` or `path`")),
        };
        Ok(Extracted {
            subject: self.subject,
            predicate: self.predicate,
            object,
            valid_from: self.valid_from_us,
            valid_to: self.valid_to_us,
            start: self.start,
            end: self.end,
            confidence: self.confidence,
        })
    }
}

impl SeenLine {
    fn of(PassageRead { extractor, text, collection, id }: PassageRead) -> Self {
        Self { extractor: hex(&extractor), text: hex(&text), collection, id }
    }

    fn into_read(self) -> Result<PassageRead> {
        let Self { extractor, text, collection, id } = self;
        Ok(PassageRead { extractor: hash_of(&extractor)?, text: hash_of(&text)?, collection, id })
    }
}
