//! Facts about contents as source code: derived on the first question, stored with the contents, and removed with them.
//!
//! | row | value |
//! |---|---|
//! | names | head, version of the facts, number of parts (4 bytes), which names there are |
//! | facts | head, a part of the facts |
//!
//! The head is an upload's without chunks (`key.rs` says why). A row of another version is as good as none.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use nuthatch_code::{FACTS_VERSION, Facts, Found, Language, Names, PARSED_BYTES_MAX, facts_of, look};
use parking_lot::Mutex;

use crate::call::{Call, Outcome};
use crate::kv::{KeyScan, Live, Rows};
use crate::tree::draft::{self, Draft, lacking};
use crate::tree::value::{Content, Piece, encode};
use crate::tree::{ContentId, Trees, content, key};
use crate::{ErrorKind, Result};

/// Bytes of facts that one row has; larger values lie elsewhere.
pub(super) const PART_BYTES: usize = 32 << 10;
/// Bytes of source that are read, parsed and kept together.
const BATCH_BYTES: u64 = 2 << 20;
const BATCH_FILES: usize = 1_000;
const THREADS_MAX: usize = 4;
/// Times that source is in memory while its facts are found: itself, the syntax trees of some, the facts as they are kept.
const COPIES: u64 = 8;

/// A content as source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    pub id: ContentId,
    pub language: Language,
    pub bytes: u64,
}

/// Facts that nothing keeps, because what is asked is a snapshot, or because nothing may be written.
pub(crate) type Loose = HashMap<(ContentId, Language), Arc<Facts>>;

/// The names of some sources; `None` where they are not kept.
pub(crate) fn names(rows: &dyn Rows, sources: &[Source]) -> Result<Vec<Option<KeptNames>>> {
    let keys: Vec<_> = sources.iter().map(|source| key::code_names(&source.id, source.language.number())).collect();
    let stored = rows.values(&keys)?;
    Ok(stored.into_iter().map(|stored| KeptNames::of(stored?)).collect())
}

/// The row of the names of a source.
pub(crate) struct KeptNames {
    row: Vec<u8>,
    head: usize,
    pub parts: u32,
}

impl KeptNames {
    fn of(row: Vec<u8>) -> Option<Self> {
        let head = head().ok()?;
        let rest = row.strip_prefix(&head[..])?;
        let (&version, rest) = rest.split_first()?;
        let (parts, _) = rest.split_first_chunk::<4>()?;
        let parts = (version == FACTS_VERSION).then(|| u32::from_be_bytes(*parts))?;
        Some(Self { head: head.len() + 5, parts, row })
    }

    /// Looks for names whose hashes ascend.
    pub fn look(&self, hashes: &[u32]) -> Option<Found> {
        look(self.row.get(self.head..)?, hashes)
    }
}

/// Returns the common prefix of all rows of this kind.
pub(super) fn head() -> Result<Vec<u8>> {
    encode(&Vec::<Piece>::new())
}

/// The facts of sources of which the number of parts is known; `None` where something is missing or of another version.
pub(crate) fn facts(rows: &dyn Rows, sources: &[(Source, u32)]) -> Result<Vec<Option<Facts>>> {
    let keys = sources.iter().flat_map(|(source, parts)| {
        (0..*parts).map(|part| key::code_facts(&source.id, source.language.number(), part))
    });
    let mut stored = rows.values(&keys.collect::<Vec<_>>())?.into_iter();
    let head = head()?;
    let mut all = Vec::with_capacity(sources.len());
    for (_, parts) in sources {
        let mut whole = Some(Vec::new());
        for part in stored.by_ref().take(*parts as usize) {
            let part = part.as_deref().and_then(|part| part.strip_prefix(&head[..]));
            whole = whole.zip(part).map(|(mut whole, part)| {
                whole.extend_from_slice(part);
                whole
            });
        }
        all.push(whole.and_then(|whole| Facts::decode(&whole)));
    }
    Ok(all)
}

/// Reads sources and finds their facts, on several threads, which make what is wanted of them.
fn find<T: Send>(rows: &dyn Rows, sources: &[Source], make: fn(Facts) -> T) -> Result<Vec<T>> {
    let is_small = |source: &Source| source.bytes <= PARSED_BYTES_MAX as u64;
    let ids: Vec<ContentId> = sources.iter().filter(|source| is_small(source)).map(|source| source.id).collect();
    let mut contents = content::read_all(rows, &ids)?.into_iter();
    let mut wanted = Vec::with_capacity(sources.len());
    for source in sources {
        wanted.push(if is_small(source) { Some(contents.next().ok_or_else(lacking)?) } else { None });
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).clamp(1, THREADS_MAX);
    let (next, found) = (Mutex::new(0), Mutex::new(Vec::new()));
    found.lock().resize_with(sources.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(sources.len()) {
            scope.spawn(|| {
                loop {
                    let at = {
                        let mut next = next.lock();
                        *next += 1;
                        *next - 1
                    };
                    let (Some(source), Some(bytes)) = (sources.get(at), wanted.get(at)) else { return };
                    let facts = match bytes {
                        Some(bytes) => facts_of(source.language, bytes),
                        None => Facts::unparsed(source.language),
                    };
                    let made = make(facts);
                    found.lock()[at] = Some(made);
                }
            });
        }
    });
    let found = found.into_inner().into_iter();
    found.map(|made| made.ok_or_else(|| crate::Error::internal("a thread that finds facts has ended"))).collect()
}

/// Facts as they are kept.
struct Spelt {
    names: Vec<u8>,
    facts: Vec<u8>,
}

impl Spelt {
    fn of(facts: Facts) -> Self {
        Self { names: Names::of(&facts).encode(facts.reading), facts: facts.encode() }
    }
}

/// Sources in groups that are read together.
fn in_batches(sources: Vec<Source>) -> Vec<Vec<Source>> {
    let mut batches: Vec<Vec<Source>> = Vec::new();
    let mut room = 0;
    for source in sources {
        let bytes = source.bytes.min(PARSED_BYTES_MAX as u64);
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_FILES && bytes <= room => {
                room -= bytes;
                batch.push(source);
            }
            _ => {
                room = BATCH_BYTES.saturating_sub(bytes);
                batches.push(vec![source]);
            }
        }
    }
    batches
}

/// Finds the facts of sources without keeping them.
pub(crate) fn find_loose(rows: &dyn Rows, sources: Vec<Source>, loose: &mut Loose) -> Result<()> {
    for batch in in_batches(sources) {
        for (source, facts) in batch.iter().zip(find(rows, &batch, Arc::new)?) {
            loose.insert((source.id, source.language), facts);
        }
    }
    Ok(())
}

impl Trees {
    /// Finds the facts of sources and keeps them. Returns the sources whose facts cannot be kept.
    ///
    /// # Errors
    /// `Unavailable` when nobody waits for the answer any more: what was found by then is kept.
    pub(crate) fn keep_code(&self, sources: Vec<Source>) -> Result<Vec<Source>> {
        let space = &*self.keyspace.space;
        let mut batches = in_batches(sources).into_iter();
        while let Some(batch) = batches.next() {
            self.keyspace.call.waits().check()?;
            let bytes: u64 = batch.iter().map(|source| source.bytes.min(PARSED_BYTES_MAX as u64)).sum();
            let reservation = space.shared.reserve_to_write(bytes.saturating_mul(COPIES).min(BATCH_BYTES * COPIES))?;
            let found = self.keyspace.at_once(|rows| {
                // Contents erased in the meantime need no facts.
                let keys: Vec<_> = batch.iter().map(|source| key::content(&source.id)).collect();
                let is_there = rows.values(&keys)?;
                let there = batch.iter().zip(&is_there).filter(|(_, there)| there.is_some());
                let there: Vec<Source> = there.map(|(source, _)| *source).collect();
                let facts = find(rows, &there, Spelt::of)?;
                Ok(there.into_iter().zip(facts).collect::<Vec<_>>())
            })?;
            let kept = draft::change(space, &Call::default(), |draft| {
                found.iter().try_for_each(|(source, facts)| draft.keep_code(source, facts))?;
                Ok(((), Outcome::default()))
            });
            drop(reservation);
            match kept {
                Ok(_) => {} // derived: nobody waits until it is durable
                Err(error) if error.kind == ErrorKind::Exhausted => {
                    return Ok(batch.into_iter().chain(batches.flatten()).collect());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Vec::new())
    }
}

impl Draft<'_> {
    /// Keeps facts for as long as the content is there.
    fn keep_code(&mut self, source: &Source, spelt: &Spelt) -> Result<()> {
        if self.get::<Content>(&key::content(&source.id))?.is_none() {
            return Ok(());
        }
        let (head, language) = (head()?, source.language.number());
        let parts = spelt.facts.chunks(PART_BYTES);
        let count = parts.len() as u32;
        for (number, part) in parts.enumerate() {
            self.put_spelt(key::code_facts(&source.id, language, number as u32), [&head, part].concat());
        }
        let row = [&head[..], &[FACTS_VERSION], &count.to_be_bytes(), &spelt.names].concat();
        self.put_spelt(key::code_names(&source.id, language), row);
        Ok(())
    }

    /// Removes what is known of a content as source code.
    pub(crate) fn forget_code(&mut self, id: &ContentId) -> Result<()> {
        let rows = Live { space: self.space, reader: self.reader };
        for prefix in key::code_below(id) {
            let scan = KeyScan { keys_only: true, ..KeyScan::prefix(prefix) };
            let mut found = Vec::new();
            rows.each(scan, &mut |row, _| {
                found.push(row.to_vec());
                Ok(std::ops::ControlFlow::Continue(()))
            })?;
            found.into_iter().for_each(|row| self.delete(row));
        }
        Ok(())
    }
}
