//! Co-occurrence: things that one passage names relate to each other.

use std::collections::BTreeMap;

use crate::facts::Object;
use crate::facts::extract::scanner::{Kind, scan};
use crate::facts::extract::{Extracted, Extractor, PassageText};

/// Things of one passage that are related: the pairs of these are 28.
const TOGETHER_MAX: usize = 8;

/// Which things a passage names together. Of more than eight, the first eight.
pub struct Mentions;

impl Extractor for Mentions {
    fn id(&self) -> &'static str {
        "nuthatch:mentions:1"
    }

    fn extract(&self, passage: &PassageText<'_>) -> Vec<Extracted> {
        let mut things: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        for found in scan(passage.text) {
            let is_thing = !matches!(found.kind, Kind::Date | Kind::Version | Kind::Link);
            if is_thing && things.len() < TOGETHER_MAX && !things.values().any(|(_, name)| *name == found.name) {
                things.insert(found.start, (found.end, found.name));
            }
        }
        let things: Vec<(usize, usize, String)> = things.into_iter().map(|(at, (end, name))| (at, end, name)).collect();
        let mut facts = Vec::new();
        for (at, (start, _, one)) in things.iter().enumerate() {
            for (_, end, other) in &things[at + 1..] {
                // Of two names the same way round, whichever stands first.
                let (subject, object) = if one <= other { (one, other) } else { (other, one) };
                let object = Object::Entity(object.clone());
                let fact = Extracted::of_document("mentioned_with", object, (*start, *end));
                facts.push(Extracted { subject: Some(subject.clone()), ..fact });
            }
        }
        facts
    }
}
