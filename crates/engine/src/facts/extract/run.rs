//! Going through a collection: which passages an extractor has not seen, and what it found in them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nuthatch_filter::Value;
use nuthatch_store::{Direction, Reader, Shard, Table};
use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::facts::draft::{Draft, passage_hash};
use crate::facts::extract::{EXTRACTED_MAX, Extracted, ExtractedObject, PassageText, built_in};
use crate::facts::fact::check_extractor;
use crate::facts::key::{self, Hash};
use crate::facts::upkeep::settle_passage;
use crate::facts::value::{Memo, Seen};
use crate::facts::write::{assert, collection_of};
use crate::facts::{FactSource, Facts, NewFact, Object, PassageRef, Recorded, SourcePassage};
use crate::kv::{KeyScan, Rows};
use crate::record::RowParts;
use crate::{Error, Result};

/// Records that one step looks at.
const LOOKED_AT_MAX: usize = 2_000;
/// Texts of one step, in bytes.
const TEXT_BYTES_MAX: usize = 2 << 20;
/// Passages of one step.
const PASSAGES_MAX: usize = 1_000;
/// Longest reason of a failure that is kept, in bytes.
const WHY_BYTES_MAX: usize = 2_000;

/// A request for passages that an extractor has not seen. Its results for texts that it has seen elsewhere are recorded
/// at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The extractor's name, with a version: a different one is asked again.
    pub extractor: String,
    /// The collection.
    pub collection: String,
    /// Passages of one step, 1 to 1,000.
    pub limit: usize,
    /// Also passages at which it failed.
    pub retry: bool,
    /// Continue after the step that gave this cursor.
    pub cursor: Option<String>,
}

/// A passage to extract from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPassage {
    /// The record.
    pub id: String,
    /// The document that it is of: the path of its file, or the record.
    pub document: String,
    /// The text that byte ranges are of.
    pub text: String,
    /// Headings or symbols that it stands under.
    pub context: Option<String>,
    /// The text is source code.
    pub code: bool,
    /// Of the text, with what it stands under. Passages of one hash have one answer.
    pub hash: Hash,
}

/// Passages to extract from, and how far the step came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPage {
    /// Those that the extractor has not seen.
    pub passages: Vec<WorkPassage>,
    /// Passages whose facts were recorded from what is known of their text.
    pub known: u64,
    /// Passages at which the extractor failed before, and which were passed over.
    pub failed: u64,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// An extractor's results for one passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// The record.
    pub id: String,
    /// As the work has it.
    pub hash: Hash,
    /// The facts, or why there are none.
    pub outcome: std::result::Result<Vec<Extracted>, String>,
}

/// Keeps what an extractor found, and records the facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learn {
    /// As the work has it.
    pub extractor: String,
    /// The collection.
    pub collection: String,
    /// Its results, for at most 1,000 passages.
    pub results: Vec<Learned>,
}

/// Lets an extractor that needs no model go through a part of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractBuiltIn {
    /// One of [`BUILT_IN`](super::BUILT_IN).
    pub extractor: String,
    /// The collection.
    pub collection: String,
    /// Continue after the step that gave this cursor.
    pub cursor: Option<String>,
}

/// The result of an extraction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractReport {
    /// Texts that the extractor was called for.
    pub called: u64,
    /// Passages whose facts were recorded from what is known of their text.
    pub known: u64,
    /// Passages at which the extractor failed.
    pub failed: u64,
    /// Facts that were not there.
    pub added: u64,
    /// Facts that ended: by a rule, or because no passage says so any more.
    pub ended: u64,
    /// Passages that changed meanwhile; the next call gets them.
    pub changed: u64,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// A failure of an extractor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractFailure {
    /// A record whose passage it failed at.
    pub id: String,
    /// Why.
    pub why: String,
    /// Calls so far.
    pub calls: u32,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The document that a record is of: the path of the file it was cut from, or the record itself.
pub fn document_of(id: &str, payload: &[u8]) -> Result<String> {
    let payload = if payload.is_empty() { None } else { Some(nuthatch_filter::decode(payload)?) };
    Ok(match payload.as_ref().and_then(|payload| payload.get("path")) {
        Some(Value::Text(path)) if !path.is_empty() => path.clone(),
        _ => id.to_string(),
    })
}

/// A record of the collection as a step sees it.
struct Candidate {
    id: String,
    row: u64,
}

pub(crate) fn work(facts: &Facts, ask: &Work) -> Result<WorkPage> {
    check_extractor(&ask.extractor)?;
    if ask.extractor.is_empty() {
        return Err(Error::invalid("the extractor has no name; give it one, with a version"));
    }
    if !(1..=PASSAGES_MAX).contains(&ask.limit) {
        return Err(Error::invalid(format!("a step cannot have {} passages; ask for 1 to {PASSAGES_MAX}", ask.limit)));
    }
    let space = &facts.keyspace.space;
    let _room = space.shared.reserve_to_write(TEXT_BYTES_MAX as u64 * 2)?;
    facts.change(|draft, reader| {
        let mut recorded = Recorded::default();
        let page = step(draft, reader, ask, space.shard.tenant, &mut recorded)?;
        Ok((page, Outcome::default()))
    })
}

/// One step: what is known is recorded, what is not is handed out.
fn step(
    draft: &mut Draft<'_>,
    reader: &dyn Reader,
    ask: &Work,
    tenant: u32,
    recorded: &mut Recorded,
) -> Result<WorkPage> {
    let collection = collection_of(reader, tenant, &ask.collection)?;
    let shard = Shard { tenant, collection };
    let (candidates, next) = candidates(reader, shard, ask.cursor.as_deref())?;
    let extractor = key::hash(&[ask.extractor.as_bytes()]);
    let mut page = WorkPage::default();
    let (mut bytes, mut last) = (0, None);
    for Candidate { id, row } in candidates {
        if page.passages.len() == ask.limit || bytes > TEXT_BYTES_MAX {
            page.cursor = last.map(cursor_of).or_else(|| ask.cursor.clone());
            return Ok(page);
        }
        let seen: Option<Seen> = draft.get(&key::seen(&extractor, collection, &id))?;
        if seen.is_some_and(|seen| seen.row == row) {
            last = Some(id);
            continue;
        }
        let Some(stored) = draft.rows.record_bytes(collection, row)? else { continue };
        let parts = RowParts::decode(&stored)?;
        if parts.text.is_none_or(|text| text.trim().is_empty()) {
            last = Some(id);
            continue;
        }
        let hash = passage_hash(&parts);
        match draft.get::<Memo>(&key::memo(&extractor, &hash))? {
            Some(Memo { outcome: Ok(found), .. }) => {
                page.known += 1;
                let place = Place { name: &ask.collection, collection, id: &id, row, hash, parts };
                keep(draft, &ask.extractor, &extractor, &place, &found, recorded)?;
            }
            Some(Memo { outcome: Err(_), .. }) if !ask.retry => page.failed += 1,
            _ => {
                bytes += stored.len();
                page.passages.push(WorkPassage {
                    document: document_of(&id, parts.payload)?,
                    text: parts.text.unwrap_or_default().to_string(),
                    context: parts.context.map(str::to_string),
                    code: parts.is_code(),
                    hash,
                    id: id.clone(),
                });
            }
        }
        last = Some(id);
    }
    page.cursor = next;
    Ok(page)
}

/// The next records of a collection by id, and the cursor after them.
fn candidates(reader: &dyn Reader, shard: Shard, cursor: Option<&str>) -> Result<(Vec<Candidate>, Option<String>)> {
    let from = match cursor {
        None => shard.prefix().to_vec(),
        Some(cursor) => {
            let id = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| {
                Error::invalid(format!("{cursor:?} is not a cursor; use the cursor that the previous step returned"))
            })?;
            [shard.key(&id).as_slice(), &[0]].concat()
        }
    };
    let mut found: Vec<Candidate> = Vec::new();
    let mut more = false;
    reader.scan(Table::Ids, &from, &shard.end(), Direction::Forward, &mut |key, row| {
        if found.len() == LOOKED_AT_MAX {
            more = true;
            return ControlFlow::Break(());
        }
        let id = String::from_utf8_lossy(Shard::suffix(key)).into_owned();
        if let Some(row) = row.try_into().ok().map(u64::from_be_bytes) {
            found.push(Candidate { id, row });
        }
        ControlFlow::Continue(())
    })?;
    let next = found.last().filter(|_| more).map(|last| cursor_of(last.id.clone()));
    Ok((found, next))
}

fn cursor_of(id: String) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// Where a passage stands.
struct Place<'a> {
    name: &'a str,
    collection: u32,
    id: &'a str,
    row: u64,
    hash: Hash,
    parts: RowParts<'a>,
}

/// Records what was found in a passage, and that the extractor has seen it.
fn keep(
    draft: &mut Draft<'_>,
    extractor: &str,
    extractor_hash: &Hash,
    place: &Place<'_>,
    found: &[Extracted],
    recorded: &mut Recorded,
) -> Result<()> {
    let Place { name, collection, id, row, hash, parts } = *place;
    let document = document_of(id, parts.payload)?;
    let length = parts.text.unwrap_or_default().len() as u32;
    for extracted in found {
        let object = match &extracted.object {
            ExtractedObject::Plain(object) => object.clone(),
            ExtractedObject::Relative(path) => Object::Entity(resolved(&document, path)),
        };
        let end = if extracted.end == 0 { length } else { extracted.end };
        let of = PassageRef { collection: name.into(), id: id.into(), start: extracted.start, end };
        let new = NewFact {
            subject: extracted.subject.clone().unwrap_or_else(|| document.clone()),
            predicate: extracted.predicate.clone(),
            object,
            valid_from: extracted.valid_from,
            valid_to: extracted.valid_to,
            sources: vec![of.clone()],
            confidence: extracted.confidence,
            extractor: extractor.into(),
            replaces: None,
        };
        new.check()?;
        let source = FactSource {
            passage: Some(SourcePassage { of, collection, row, hash }),
            extractor: extractor.into(),
            confidence: extracted.confidence,
            recorded_ms: draft.now_ms(),
        };
        assert(draft, &new, vec![source], recorded)?;
    }
    let seen = key::seen(extractor_hash, collection, id);
    if let Some(before) = draft.get::<Seen>(&seen)?.filter(|before| before.hash != hash) {
        draft.delete(key::held(extractor_hash, &before.hash, collection, id));
        // By now, the facts that the passage still states have the new text as a source.
        recorded.ended += settle_passage(draft, collection, id)?;
    }
    draft.put(seen, &Seen { id: id.into(), row, hash })?;
    draft.mark(key::held(extractor_hash, &hash, collection, id));
    Ok(())
}

/// A path from that of a document: `a/b.md` and `../c.md` give `c.md`.
fn resolved(document: &str, path: &str) -> String {
    let mut parts: Vec<&str> = match path.starts_with('/') {
        true => Vec::new(),
        false => document.rsplit_once('/').map_or(Vec::new(), |(folder, _)| folder.split('/').collect()),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    match parts.join("/") {
        path if path.is_empty() => document.to_string(),
        path => path.chars().take(500).collect(),
    }
}

/// Keeps results; says what became of them.
pub(crate) fn learn(facts: &Facts, learn: &Learn) -> Result<ExtractReport> {
    if learn.results.len() > PASSAGES_MAX {
        let given = learn.results.len();
        return Err(Error::invalid(format!("{given} results in one call; give at most {PASSAGES_MAX}")));
    }
    check_extractor(&learn.extractor)?;
    for Learned { id, outcome, .. } in &learn.results {
        let found = outcome.as_deref().unwrap_or_default();
        let of = |error: Error| Error::new(error.kind, format!("of record {id:?}: {}", error.message));
        if found.len() > EXTRACTED_MAX {
            let given = found.len();
            return Err(of(Error::invalid(format!("{given} facts in one passage; give at most {EXTRACTED_MAX}"))));
        }
        found.iter().try_for_each(Extracted::check).map_err(of)?;
    }
    let tenant = facts.keyspace.space.shard.tenant;
    let results: usize = learn.results.iter().map(|it| it.outcome.as_ref().map_or(1, Vec::len)).sum();
    let _room = facts.keyspace.space.shared.reserve_to_write((results * 4_096 + (1 << 16)) as u64)?;
    facts.change(|draft, reader| {
        let collection = collection_of(reader, tenant, &learn.collection)?;
        let report = learned(draft, &learn.extractor, &learn.collection, collection, &learn.results)?;
        Ok((report, Outcome::default()))
    })
}

fn learned(
    draft: &mut Draft<'_>,
    extractor: &str,
    name: &str,
    collection: u32,
    results: &[Learned],
) -> Result<ExtractReport> {
    let extractor_hash = key::hash(&[extractor.as_bytes()]);
    let mut report = ExtractReport::default();
    let (mut recorded, mut called) = (Recorded::default(), HashSet::new());
    for Learned { id, hash, outcome } in results {
        report.called += u64::from(called.insert(*hash));
        let Some(row) = draft.rows.row_of(collection, id)? else {
            report.changed += 1;
            continue;
        };
        let Some(stored) = draft.rows.record_bytes(collection, row)? else { continue };
        let parts = RowParts::decode(&stored)?;
        if passage_hash(&parts) != *hash {
            report.changed += 1;
            continue;
        }
        let text = parts.text.unwrap_or_default();
        let misplaced = outcome.as_deref().unwrap_or_default().iter().find(|extracted| {
            let end = if extracted.end == 0 { text.len() } else { extracted.end as usize };
            text.get(extracted.start as usize..end).is_none()
        });
        let outcome = match misplaced {
            None => outcome.clone().map_err(|why| shortened(&why)),
            Some(it) => Err(format!("it names bytes {} to {}, which are no text of the passage", it.start, it.end)),
        };
        let row_of_memo = key::memo(&extractor_hash, hash);
        let calls = draft.get::<Memo>(&row_of_memo)?.map_or(0, |memo| memo.calls);
        let memo = Memo { outcome, at_ms: draft.now_ms(), calls: calls + 1, id: id.clone(), collection };
        draft.put(row_of_memo, &memo)?;
        match &memo.outcome {
            Ok(found) => {
                let place = Place { name, collection, id, row, hash: *hash, parts };
                keep(draft, extractor, &extractor_hash, &place, found, &mut recorded)?;
            }
            Err(_) => {
                // Erasing the passage erases the failure, too.
                draft.mark(key::held(&extractor_hash, hash, collection, id));
                report.failed += 1;
            }
        }
    }
    (report.added, report.ended) = (recorded.added, recorded.ended);
    Ok(report)
}

fn shortened(why: &str) -> String {
    let mut end = why.len().min(WHY_BYTES_MAX);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    why[..end].to_string()
}

/// One step of an extractor that needs no model.
pub(crate) fn extract_built_in(facts: &Facts, ask: &ExtractBuiltIn) -> Result<ExtractReport> {
    let extractor = built_in(&ask.extractor)?;
    let id = extractor.id().to_string();
    let work = Work {
        extractor: id.clone(),
        collection: ask.collection.clone(),
        limit: 500,
        retry: false,
        cursor: ask.cursor.clone(),
    };
    let space = &facts.keyspace.space;
    let _room = space.shared.reserve_to_write(TEXT_BYTES_MAX as u64 * 4)?;
    facts.change(|draft, reader| {
        let mut recorded = Recorded::default();
        let page = step(draft, reader, &work, space.shard.tenant, &mut recorded)?;
        let collection = collection_of(reader, space.shard.tenant, &ask.collection)?;
        let results = page.passages.iter().map(|passage| {
            let text = PassageText { text: &passage.text, context: passage.context.as_deref(), code: passage.code };
            Learned { id: passage.id.clone(), hash: passage.hash, outcome: Ok(extractor.extract(&text)) }
        });
        let results: Vec<Learned> = results.collect();
        let report = learned(draft, &id, &ask.collection, collection, &results)?;
        let report = ExtractReport {
            known: page.known,
            added: report.added + recorded.added,
            ended: report.ended + recorded.ended,
            cursor: page.cursor,
            ..report
        };
        Ok((report, Outcome::default()))
    })
}

/// Returns the failures of an extractor, at most `limit`.
pub(crate) fn failures(rows: &dyn Rows, extractor: &str, limit: usize) -> Result<Vec<ExtractFailure>> {
    let mut found = Vec::new();
    let prefix = key::memos_of(&key::hash(&[extractor.as_bytes()]));
    rows.each(KeyScan::prefix(prefix), &mut |_, value| {
        let memo: Memo = crate::facts::value::decode(value)?;
        if let Err(why) = memo.outcome {
            found.push(ExtractFailure { id: memo.id, why, calls: memo.calls, at_ms: memo.at_ms });
        }
        Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_folder_of_their_document() {
        for (document, path, target) in [
            ("docs/guide/a.md", "../b.md", "docs/b.md"),
            ("docs/a.md", "./c.md", "docs/c.md"),
            ("a.md", "b/c.md", "b/c.md"),
            ("a/b/c.md", "/d.md", "d.md"),
            ("a.md", "../x.md", "../x.md"),
            ("a.md", ".", "a.md"),
        ] {
            assert_eq!(resolved(document, path), target, "{document} {path}");
        }
    }
}
