//! The links and names in a document: one fact for each thing in a passage.

use std::collections::HashSet;

use crate::facts::Object;
use crate::facts::extract::scanner::{Kind, scan};
use crate::facts::extract::{EXTRACTED_MAX, Extracted, ExtractedObject, Extractor, PassageText};

/// Links, addresses, issues, paths, symbols, dates, versions and headings.
pub struct Links;

impl Extractor for Links {
    fn id(&self) -> &'static str {
        "nuthatch:links:1"
    }

    fn extract(&self, passage: &PassageText<'_>) -> Vec<Extracted> {
        let mut facts: Vec<Extracted> = Vec::new();
        let mut known = HashSet::new();
        if let Some(heading) = passage.context.map(str::trim).filter(|heading| !heading.is_empty()) {
            let heading: String = heading.chars().take(500).collect();
            facts.push(Extracted::of_document("has_heading", Object::Text(heading), (0, passage.text.len())));
        }
        for found in scan(passage.text) {
            let place = (found.start, found.end);
            let predicate = predicate_of(found.kind);
            if facts.len() == EXTRACTED_MAX || !known.insert((predicate, found.name.clone())) {
                continue;
            }
            facts.push(match found.kind {
                Kind::Link => Extracted {
                    object: ExtractedObject::Relative(found.name.clone()),
                    ..Extracted::of_document(predicate, Object::Bool(true), place)
                },
                Kind::Date | Kind::Version => Extracted::of_document(predicate, Object::Text(found.name), place),
                _ => Extracted::of_document(predicate, Object::Entity(found.name), place),
            });
        }
        facts
    }
}

fn predicate_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Url | Kind::Link | Kind::WikiLink => "links_to",
        Kind::Email => "mentions_email",
        Kind::Issue => "mentions_issue",
        Kind::Path => "mentions_path",
        Kind::Symbol => "mentions_symbol",
        Kind::Date => "mentions_date",
        Kind::Version => "mentions_version",
    }
}
