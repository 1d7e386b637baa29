//! Derived indexes: what a collection keeps on disk to answer sooner, and can build again from its stored records.
//!
//! **Useful for** everything that concerns every index alike: opening, replaying the log, sealing, rebuilding after
//! damage, checking, backing up, reclaiming, counting memory. Each of them walks a collection's list of indexes and
//! names none. **Not for** searching: text and vector queries differ, and each caller knows the index that answers its
//! own.
//!
//! **Invariant:** an index shows the stored records as of the last change that it has
//! [`applied`](DerivedIndex::applied), which is in one file with what it shows; later changes stay in the collection's
//! log until every index has applied them. Searches bypass a broken index until it is rebuilt, and nothing is lost with
//! it.
//!
//! `docs/rfcs/0028-derived-indexes.md` says why, and what an index has to promise.

mod indexed;
mod segments;
#[cfg(test)]
mod tags;
#[cfg(test)]
mod tests;
mod text;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use indexed::{EndSnapshots, IndexWork, Indexed};
pub(crate) use segments::{Eagerness, close_retired, merge};

use crate::descriptor::field::{FieldVectors, Fields};
use crate::record::Row;
use crate::state::State;
pub(crate) use crate::state::{IndexId, SEGMENTS, TEXT};
use crate::{Error, Result};

/// One index of one collection. The data that searches read is in the collection's [`State`], so that they see one
/// moment, or in the index itself.
pub(crate) trait DerivedIndex: Any + Send + Sync {
    fn id(&self) -> IndexId;

    /// Loads what is on disk; an empty index where there is nothing. It is called once, before all others. An answer is why the log cannot
    /// bring the index up to date, by [`Reach::misses`]; an index that gives one holds nothing.
    ///
    /// # Errors
    /// `Corrupt` and `NotFound` are damage: the index is passed by and rebuilt. Any other error fails the opening.
    fn open(&self, collection: &dyn Indexed, reach: &Reach, state: &mut State) -> Result<Option<String>>;

    /// The last change that the files on disk show; `None` while the index is broken.
    fn applied(&self, state: &State) -> Option<u64>;

    /// Takes a row whose change is later than `applied`, while a collection is opened. An index that reads the log when it is sealed
    /// has nothing to do.
    fn replay(&self, _state: &mut State, _row: &Replayed<'_>) -> Result<()> {
        Ok(())
    }

    /// Brings everything written so far into the files. `work` is held. Writes and searches go on: `applied` and what it stands for
    /// change in one step, and not before the store is synced, so that no index is durable before its records are.
    ///
    /// A broken index does nothing. One that finds damage notes it by [`Indexed::note_damage`] and succeeds.
    fn seal(&self, collection: &dyn Indexed) -> Result<()>;

    /// Quarantines what is there and builds the index from the stored records; does nothing when another caller was first. It takes
    /// `work`.
    fn rebuild(&self, collection: &dyn Indexed, why: &str) -> Result<()>;

    /// Reads every byte of the files, also of a broken index: one `Corrupt` for each damaged file. `work` is held.
    fn verify(&self, collection: &dyn Indexed) -> Result<Vec<Error>>;

    /// The files that are the index, for a copy of it. Not asked of a broken one; `work` and `manifest` are held. Each is a
    /// block file, a record file or a sealed file of `nuthatch-segment`. A file that is replaced under its name is called `MANIFEST`;
    /// every other name is written once.
    fn files(&self, collection: &dyn Indexed) -> Result<Vec<PathBuf>>;

    /// Rewrites the files that hold bytes of removed rows. Called after `seal`, without a lock. Snapshots that read the old files are
    /// ended through `ending`.
    fn reclaim(&self, collection: &dyn Indexed, ending: &mut dyn EndSnapshots) -> Result<()>;

    /// Bytes of memory that stay with the open index, outside of the block cache and of the fresh rows.
    fn resident_bytes(&self, state: &State) -> u64;
}

/// A row that an index lacks when its collection is opened.
pub(crate) struct Replayed<'r> {
    pub row: u64,
    pub stored: &'r Row,
    pub vectors: &'r FieldVectors,
    pub fields: &'r Fields,
}

/// How far a collection's log reaches.
pub(crate) struct Reach {
    /// The oldest change that it still has; one past the last when it has none.
    pub oldest: u64,
    /// The last change of the stored records.
    pub newest: u64,
}

impl Reach {
    /// Returns why an index that has applied the changes up to `applied` cannot be brought up to date: it can if every
    /// later change is still in the log.
    pub fn misses(&self, applied: u64) -> Option<String> {
        match applied {
            _ if applied > self.newest => Some("it is ahead of the stored records".into()),
            _ if applied + 1 < self.oldest => Some("it is missing, or older than the change log".into()),
            _ => None,
        }
    }
}

/// Constructs an index that has yet to be opened.
pub(crate) type MakeIndex = fn() -> Arc<dyn DerivedIndex>;

/// The indexes of a collection. Sealing and rebuilding go in this order: writers wait for the first.
pub(crate) const OWN: [MakeIndex; 2] = [|| Arc::new(segments::Segments), || Arc::new(text::Text)];

/// A derived file is damaged or gone: rebuild it. Anything else (permissions, too many open files) is the caller's to see.
pub(crate) fn is_damage(error: &Error) -> bool {
    error.is_corrupt() || error.kind == crate::ErrorKind::NotFound
}
