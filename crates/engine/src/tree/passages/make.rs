//! Making the passages that a tree lacks: in steps, each of which leaves whole files behind.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_extract::{Document, ExtractError, PassageOptions, extract};
use nuthatch_filter::Value;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::TreePassages;
use super::live::{Live, Wanted};
use super::source::Source;
use crate::call::{Call, Choice};
use crate::collection::{Collection, WriteSet};
use crate::durability::Durability;
use crate::embedder::EmbedderChoice;
use crate::file_entry::FileEntry;
use crate::files::{COMMIT_PASSAGES, PassageSink, passage_hash, records_of};
use crate::record::Record;
use crate::tree::draft::lacking;
use crate::tree::value::Held;
use crate::tree::{TreeAt, content, history};
use crate::{Error, Result};

/// The field of a passage by whose number its source is found.
pub(super) const SOURCE: &str = "source";
/// The field of a passage that names its content.
pub(super) const CONTENT: &str = "content";
/// The kind of an entry whose content gives no passages.
const UNREAD: &str = "unread";
/// The longest that one call works before it reports its progress; others wait meanwhile.
const STEP: Duration = Duration::from_secs(2);
/// Larger files get no passages.
const READ_BYTES_MAX: u64 = 32 << 20;
/// Contents that are read, split and stored together.
const BATCH_BYTES: u64 = 4 << 20;
/// The same where their vectors have to be made at once.
const EMBEDDED_BYTES: u64 = 64 << 10;
const BATCH_FILES: usize = 256;
const THREADS_MAX: usize = 4;
/// Times that contents are in memory while passages are made of them.
const COPIES: u64 = 4;
/// Up to this many entries are looked up one by one; beyond that, all are read.
const LOOKUPS_MAX: usize = 2_000;

/// Makes passages of the files of a tree at a moment, those that lack them, for about two seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MakePassages {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The embedder of their vectors; the first one used settles it for all trees of the tenant.
    pub embedder: Choice,
}

/// The result of a [`MakePassages`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassagesMade {
    /// Contents that were read.
    pub contents: u64,
    /// Passages that were made of them.
    pub passages: u64,
    /// Of these, passages whose text was there before: their vectors were kept.
    pub reused: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Contents that gave none.
    pub unread: Vec<Unread>,
    /// Contents that are left; ask again.
    pub left: u64,
    /// Passages of all trees whose vectors are still to come.
    pub pending: u64,
}

/// A file that gave no passages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Where it stands.
    pub path: String,
    /// The reason, and what to do about it.
    pub why: String,
    /// False for what is passed over by design, such as binaries.
    pub is_error: bool,
}

/// A content that was split.
struct Split {
    records: Vec<Record>,
    kind: String,
}

impl TreePassages {
    /// Makes passages that are missing, for as long as one step may take.
    pub(crate) fn make(&self, at: &TreeAt) -> Result<PassagesMade> {
        self.complete(at).map(|(_, made)| made)
    }

    /// The same, with the files of the moment.
    pub(super) fn complete(&self, at: &TreeAt) -> Result<(Arc<Live>, PassagesMade)> {
        let (keyspace, mut made) = (&self.trees.keyspace, PassagesMade::default());
        let made_by = format!("{}/{}", nuthatch_extract::VERSION, PassageOptions::default().target_chars);
        let read = || keyspace.at_once(|rows| self.live(rows, at, &made_by));
        let (live, _) = read()?;
        if !live.is_complete() {
            let started = Instant::now();
            let _working = self.trees.attached.passages.working.lock();
            // Somebody else may have made them meanwhile.
            let (live, wanted) = read()?;
            let missing = if live.is_complete() { Vec::new() } else { self.missing(wanted, &made_by)? };
            made.left = missing.len() as u64;
            let sink = self.sink();
            let later = missing.is_empty() || embeds_later(&sink)?;
            for batch in batches(missing, if later { BATCH_BYTES } else { EMBEDDED_BYTES }) {
                keyspace.call.waits().check()?;
                if started.elapsed() >= STEP {
                    break;
                }
                made.left -= batch.len() as u64;
                self.make_batch(&sink, at, batch, (&made_by, later), &mut made)?;
            }
            if made.left == 0 {
                self.remember(&live);
            }
            made.pending = self.collection.core.pending_rows();
            return Ok((live, made));
        }
        made.pending = self.collection.core.pending_rows();
        Ok((live, made))
    }

    /// The collection as passages go into it: all have vectors of one embedder, whatever a caller searches with.
    fn sink(&self) -> Collection {
        let own = self.collection.clone().with_durability(Durability::Os);
        let brings_none = matches!(own.call.embedder(), Some(EmbedderChoice::None));
        if brings_none { Collection { call: Call::default().waiting(own.call.waits().clone()), ..own } } else { own }
    }

    /// Of these sources those that have no passages, or passages of another splitter.
    fn missing(&self, wanted: Vec<Wanted>, made_by: &str) -> Result<Vec<Wanted>> {
        let (core, mut missing) = (&self.collection.core, Vec::new());
        if wanted.len() <= LOOKUPS_MAX {
            for wanted in wanted {
                let entry = core.file_entry(&wanted.source.name())?;
                if entry.is_none_or(|entry| entry.made_by != made_by) {
                    missing.push(wanted);
                }
            }
            return Ok(missing);
        }
        let mut there = HashSet::new();
        core.each_file("", &mut |name, entry| {
            if FileEntry::decode(entry)?.made_by == made_by {
                there.extend(Source::of_name(name).map(|source| source.number()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(wanted.into_iter().filter(|wanted| !there.contains(&wanted.number)).collect())
    }

    fn make_batch(
        &self,
        sink: &Collection,
        at: &TreeAt,
        batch: Vec<Wanted>,
        (made_by, later): (&str, bool),
        made: &mut PassagesMade,
    ) -> Result<()> {
        let keyspace = &self.trees.keyspace;
        let shared = &keyspace.space.shared;
        let bytes: u64 = batch.iter().map(|wanted| wanted.bytes.min(READ_BYTES_MAX)).sum();
        let reservation = shared.reserve_to_write(bytes * COPIES)?;
        let contents = keyspace.at_once(|rows| {
            let is_read = |wanted: &Wanted| wanted.bytes <= READ_BYTES_MAX;
            // Contents that were erased meanwhile need no passages.
            let keys: Vec<_> = batch.iter().map(|wanted| crate::tree::key::content(&wanted.source.id)).collect();
            let there = rows.values(&keys)?;
            let is_there: Vec<bool> = there.iter().map(Option::is_some).collect();
            let wanted = batch.iter().zip(&is_there).filter(|(wanted, there)| **there && is_read(wanted));
            let ids: Vec<_> = wanted.map(|(wanted, _)| wanted.source.id).collect();
            let mut read = content::read_all(rows, &ids)?.into_iter();
            let mut contents = Vec::with_capacity(batch.len());
            for (wanted, is_there) in batch.iter().zip(is_there) {
                contents.push(match is_there {
                    true if is_read(wanted) => Some(Some(read.next().ok_or_else(lacking)?)),
                    true => Some(None),
                    false => None,
                });
            }
            Ok(contents)
        })?;
        let work: Vec<(Wanted, Option<Vec<u8>>)> =
            batch.into_iter().zip(contents).filter_map(|(wanted, content)| Some((wanted, content?))).collect();
        let split = split_all(&work)?;
        let mut set = WriteSet::default();
        for ((wanted, content), split) in work.into_iter().zip(split) {
            let name = wanted.source.name();
            let old = self.collection.core.file_entry(&name)?;
            let split = split.unwrap_or_else(|error| {
                let is_error = !matches!(error, ExtractError::Binary { .. } | ExtractError::Unsupported { .. });
                made.unread.push(Unread { path: wanted.path.clone(), why: why(&wanted, &error), is_error });
                Split { records: Vec::new(), kind: UNREAD.into() }
            });
            let Split { mut records, kind } = split;
            let passages: Vec<[u8; 16]> = records.iter().map(passage_hash).collect();
            made.reused += self.reuse_vectors(sink, at, &wanted, &passages, &mut records)?;
            made.contents += 1;
            made.bytes += content.map_or(0, |content| content.len() as u64);
            made.passages += records.len() as u64;
            if let Some(old) = &old {
                set.deletes.extend(old.ids(&name).skip(records.len()));
            }
            if later {
                let waits = records.iter().filter(|record| record.text_to_embed().is_some());
                set.later.extend(waits.map(|record| record.id.clone()));
            } else {
                for slice in records.chunks_mut(COMMIT_PASSAGES) {
                    sink.embed_missing(slice)?;
                }
            }
            let entry = FileEntry {
                bytes: wanted.bytes,
                mtime_ns: 0,
                hash: wanted.source.id.0,
                made_by: made_by.to_owned(),
                kind,
                passages,
            };
            set.files.push((name, Some(entry.encode())));
            set.upserts.extend(records);
            if set.upserts.len() >= 8 * COMMIT_PASSAGES {
                sink.apply(std::mem::take(&mut set))?;
            }
        }
        drop(reservation);
        if !set.files.is_empty() {
            sink.apply(set)?;
        }
        Ok(())
    }

    /// Passages that the version before had as well take over its vectors: embedding is what costs.
    fn reuse_vectors(
        &self,
        sink: &Collection,
        at: &TreeAt,
        wanted: &Wanted,
        hashes: &[[u8; 16]],
        records: &mut [Record],
    ) -> Result<u64> {
        if records.is_empty() {
            return Ok(0);
        }
        let versions = self.trees.keyspace.at_once(|rows| history::versions(rows, &at.tree, &wanted.path))?;
        let own = versions.iter().position(|(_, version)| version.what.content() == Some(&wanted.source.id));
        let older = versions.iter().skip(own.map_or(0, |own| own + 1));
        let newer = versions.iter().take(own.unwrap_or(0)).rev();
        let other = older.chain(newer).find_map(|(_, version)| match &version.what {
            Held::File { content, .. } if *content != wanted.source.id => Some(Source::of(&wanted.path, *content)),
            _ => None,
        });
        let Some(name) = other.map(|source| source.name()) else { return Ok(0) };
        let Some(entry) = self.collection.core.file_entry(&name)? else { return Ok(0) };
        let places: HashMap<&[u8; 16], usize> =
            entry.passages.iter().enumerate().map(|(at, hash)| (hash, at)).collect();
        let (alike, ids): (Vec<&mut Record>, Vec<String>) = records
            .iter_mut()
            .zip(hashes)
            .filter_map(|(record, hash)| Some((record, crate::file_entry::passage_id(&name, *places.get(hash)?))))
            .unzip();
        let mut reused = 0;
        for (record, vector) in alike.into_iter().zip(sink.vectors(ids)?) {
            reused += u64::from(vector.is_some());
            record.vector = vector;
        }
        Ok(reused)
    }
}

/// Whether vectors may come after the passages: some process makes them, this one if it does background work.
fn embeds_later(sink: &Collection) -> Result<bool> {
    Ok(sink.embedding()?.is_none() || sink.core.embedder_alone()?.is_some())
}

/// In groups that are read together.
fn batches(missing: Vec<Wanted>, bytes_max: u64) -> impl Iterator<Item = Vec<Wanted>> {
    let mut missing = missing.into_iter().peekable();
    std::iter::from_fn(move || {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(wanted) = missing.next_if(|wanted| {
            batch.is_empty() || (batch.len() < BATCH_FILES && bytes + wanted.bytes.min(READ_BYTES_MAX) <= bytes_max)
        }) {
            bytes += wanted.bytes.min(READ_BYTES_MAX);
            batch.push(wanted);
        }
        (!batch.is_empty()).then_some(batch)
    })
}

/// Splits contents on several threads.
fn split_all(work: &[(Wanted, Option<Vec<u8>>)]) -> Result<Vec<std::result::Result<Split, ExtractError>>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).clamp(1, THREADS_MAX);
    let (next, split) = (Mutex::new(0), Mutex::new(Vec::new()));
    split.lock().resize_with(work.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(work.len()) {
            scope.spawn(|| {
                loop {
                    let at = {
                        let mut next = next.lock();
                        *next += 1;
                        *next - 1
                    };
                    let Some((wanted, content)) = work.get(at) else { return };
                    let made = split_one(wanted, content.as_deref());
                    split.lock()[at] = Some(made);
                }
            });
        }
    });
    let split = split.into_inner().into_iter();
    split.map(|made| made.ok_or_else(|| Error::internal("a thread that splits files has ended"))).collect()
}

fn split_one(wanted: &Wanted, content: Option<&[u8]>) -> std::result::Result<Split, ExtractError> {
    let Source { id, form } = &wanted.source;
    let Some(content) = content else {
        return Err(ExtractError::TooLarge { path: form.into(), bytes: wanted.bytes, limit: READ_BYTES_MAX });
    };
    let document: Document = extract(Path::new(form), content, &PassageOptions::default())?;
    let mut records = records_of(&wanted.source.name(), wanted.bytes, None, &document);
    for record in &mut records {
        record.payload.insert(SOURCE.into(), Value::Int(wanted.number));
        record.payload.insert(CONTENT.into(), Value::Text(id.to_string()));
    }
    if let Some(error) = records.iter().find_map(|record| record.check().err()) {
        return Err(ExtractError::Broken { path: form.into(), what: error.message });
    }
    Ok(Split { records, kind: document.kind.as_str().to_owned() })
}

/// An error names the file that was read; here that is a name that stands for many.
fn why(wanted: &Wanted, error: &ExtractError) -> String {
    error.to_string().replacen(&wanted.source.form, &wanted.path, 1)
}
