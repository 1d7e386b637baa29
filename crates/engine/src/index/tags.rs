//! A third index, for tests: which records carry a tag. Everything about it is in this file.
//!
//! One sealed file holds the tags of the rows, those of removed rows included until [`reclaim`](DerivedIndex::reclaim) rewrites it; rows
//! later than `applied` are read from the log. In memory are the tags that the file has, so that a question for another one reads nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_filter::Value;
use nuthatch_segment::{read_sealed, verify_sealed, write_sealed};
use nuthatch_store::Table;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::index::{DerivedIndex, EndSnapshots, IndexId, Indexed, Reach};
use crate::record::Row;
use crate::state::State;
use crate::{Error, ErrorKind, Result};

pub(super) const TAGS: IndexId = IndexId { folder: "tags", holds: "tags" };

#[derive(Default)]
pub(super) struct Tags {
    loaded: Mutex<Loaded>,
    /// The disk is full, a test says.
    pub refuses: AtomicBool,
    pub rebuilds: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Loaded {
    applied: u64,
    tags: BTreeSet<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct Body {
    applied: u64,
    rows: Vec<(u64, String)>,
    removed: BTreeSet<u64>,
}

impl Tags {
    pub fn make() -> Arc<dyn DerivedIndex> {
        Arc::new(Self::default())
    }

    /// Rows that carry a tag: by the file and the log, or from the stored records while the index is broken.
    pub fn find(&self, collection: &dyn Indexed, tag: &str) -> Result<BTreeSet<u64>> {
        let body = match collection.is_sound(TAGS) {
            true if self.loaded.lock().tags.contains(tag) => match read(collection) {
                Err(error) if error.is_corrupt() => {
                    collection.note_damage(&error, TAGS);
                    stored(collection)?
                }
                body => body?,
            },
            true => Body { applied: self.loaded.lock().applied, ..Body::default() },
            false => stored(collection)?,
        };
        let body = with_later(collection, body)?;
        let carries = |(row, of): &(u64, String)| (of == tag && !body.removed.contains(row)).then_some(*row);
        Ok(body.rows.iter().filter_map(carries).collect())
    }

    pub fn file(collection: &dyn Indexed) -> PathBuf {
        collection.folder_of(TAGS).join("MANIFEST")
    }

    fn write(&self, collection: &dyn Indexed, body: &Body) -> Result<()> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Exhausted, "no room for tags"));
        }
        collection.runtime().store()?.sync_all()?;
        let folder = collection.folder_of(TAGS);
        std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        write_sealed(&Self::file(collection), &serde_json::to_vec(body).expect("plain fields are JSON"))?;
        self.learn(body);
        Ok(())
    }

    fn learn(&self, body: &Body) {
        let tags = body.rows.iter().map(|(_, tag)| tag.clone()).collect();
        *self.loaded.lock() = Loaded { applied: body.applied, tags };
    }
}

impl DerivedIndex for Tags {
    fn id(&self) -> IndexId {
        TAGS
    }

    fn open(&self, collection: &dyn Indexed, reach: &Reach, _: &mut State) -> Result<Option<String>> {
        let body = read(collection)?;
        let misses = reach.misses(body.applied);
        if misses.is_none() {
            self.learn(&body);
        }
        Ok(misses)
    }

    fn applied(&self, state: &State) -> Option<u64> {
        state.is_sound(TAGS).then(|| self.loaded.lock().applied)
    }

    fn seal(&self, collection: &dyn Indexed) -> Result<()> {
        let written = collection.state().read().sequence;
        if !collection.is_sound(TAGS) || self.loaded.lock().applied == written {
            return Ok(());
        }
        match read(collection) {
            Err(error) if error.is_corrupt() => {
                collection.note_damage(&error, TAGS);
                Ok(())
            }
            body => self.write(collection, &with_later(collection, body?)?),
        }
    }

    fn rebuild(&self, collection: &dyn Indexed, why: &str) -> Result<()> {
        let _work = collection.index_work().work.lock();
        if collection.is_dropped() || collection.is_sound(TAGS) {
            return Ok(());
        }
        collection.runtime().quarantine(&collection.folder_of(TAGS), why)?;
        let body = {
            let _writes = collection.pause_writes();
            stored(collection)?
        };
        self.write(collection, &body)?;
        self.rebuilds.lock().push(why.to_string());
        collection.state().write().mend(TAGS);
        Ok(())
    }

    fn verify(&self, collection: &dyn Indexed) -> Result<Vec<Error>> {
        Ok(verify_sealed(&Self::file(collection)).err().map(Error::from).into_iter().collect())
    }

    fn files(&self, collection: &dyn Indexed) -> Result<Vec<PathBuf>> {
        Ok(vec![Self::file(collection)])
    }

    fn reclaim(&self, collection: &dyn Indexed, _: &mut dyn EndSnapshots) -> Result<()> {
        let _work = collection.index_work().work.lock();
        let mut body = read(collection)?;
        body.rows.retain(|(row, _)| !body.removed.contains(row));
        body.removed.clear();
        self.write(collection, &body)
    }

    fn resident_bytes(&self, _: &State) -> u64 {
        self.loaded.lock().tags.iter().map(|tag| tag.len() as u64).sum()
    }
}

fn read(collection: &dyn Indexed) -> Result<Body> {
    let path = Tags::file(collection);
    match read_sealed(&path)? {
        Some(body) => serde_json::from_slice(&body).map_err(|error| Error::corrupt(&path, error.to_string())),
        None => Ok(Body::default()),
    }
}

/// Returns the content that an index without a file would have.
fn stored(collection: &dyn Indexed) -> Result<Body> {
    let mut body = Body { applied: collection.state().read().sequence, ..Body::default() };
    collection.each_record(&mut |row, bytes| {
        body.rows.extend(tag_of(&Row::decode(bytes)?)?.map(|tag| (row, tag)));
        Ok(())
    })?;
    Ok(body)
}

/// With the changes that are in the log alone.
fn with_later(collection: &dyn Indexed, mut body: Body) -> Result<Body> {
    let (mut applied, mut added) = (body.applied, BTreeSet::new());
    collection.each_change(body.applied, &mut |sequence, change| {
        applied = sequence;
        added.extend(change.added);
        body.removed.extend(change.removed);
    })?;
    for row in added.difference(&body.removed) {
        if let Some(bytes) = collection.runtime().store()?.get(Table::Records, &collection.shard().number_key(*row))? {
            body.rows.extend(tag_of(&Row::decode(&bytes)?)?.map(|tag| (*row, tag)));
        }
    }
    body.applied = applied;
    Ok(body)
}

fn tag_of(row: &Row) -> Result<Option<String>> {
    let mut fields = row.payload()?.into_iter();
    Ok(fields.find_map(|(name, value)| match value {
        Value::Text(tag) if name == "tag" => Some(tag),
        _ => None,
    }))
}
