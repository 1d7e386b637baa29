//! Reading the facts of an export.

use std::path::Path;

use nuthatch_engine::durability::Durability;
use nuthatch_engine::transfer::bad_line;
use nuthatch_engine::transfer::facts::FactsLine;
use nuthatch_engine::transfer::manifest::FactsEntry;
use nuthatch_engine::{Error, FactsPart, Result, wording};

use super::trees::each_line;
use super::{ImportOptions, batches, tell};
use crate::Database;

/// Takes in facts of one name; says how many.
///
/// # Errors
/// `Invalid` for a fact or an alias that is there otherwise.
pub(super) fn import(db: &Database, path: &Path, entry: &FactsEntry, options: &mut ImportOptions<'_>) -> Result<u64> {
    let facts = db.facts(&entry.name)?.with_durability(Durability::Os);
    let mut done = 0;
    batches(path, &mut |lines| {
        let mut parts = Vec::with_capacity(lines.len());
        for (number, text) in lines {
            let part = part(path, *number, text)?;
            done += u64::from(matches!(part, FactsPart::Fact(_)));
            parts.push(part);
        }
        let first = lines.first().map_or(0, |(number, _)| *number);
        facts.import(parts).map_err(|error| {
            Error::new(error.kind, format!("{}, lines from {first} on: {}", path.display(), error.message))
        })?;
        tell(options, &entry.name, done, entry.facts)
    })?;
    Ok(done)
}

/// Looks at the facts of an entry, before anything is written.
///
/// # Errors
/// `Invalid` for a file with another hash, or other facts, than the manifest says.
pub(super) fn look(path: &Path, entry: &FactsEntry) -> Result<()> {
    let mut facts = 0;
    each_line(path, entry.hash, &mut |number, text| {
        if !text.trim().is_empty() {
            facts += u64::from(matches!(part(path, number, text)?, FactsPart::Fact(_)));
        }
        Ok(())
    })?;
    match facts == entry.facts {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{} has {facts} facts, and the manifest says {}: the file is not whole",
            path.display(),
            entry.facts
        ))),
    }
}

fn part(path: &Path, number: u64, text: &str) -> Result<FactsPart> {
    let line: FactsLine = wording::from_json(text.as_bytes()).map_err(|why| bad_line(path, number, why))?;
    line.into_part().map_err(|error| bad_line(path, number, error))
}
