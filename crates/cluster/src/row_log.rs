//! A group's log in rows of a database that can compare and set one of them: the *head*.
//!
//! A writer first stores an entry's rows, unconditionally. The entry is in the log once one conditional change has
//! moved the head to its slot: from the slot before it, and only while its writer owns the group. That change orders,
//! fences and commits. Rows that no head ever reached are void, no matter who wrote them.
//!
//! **Invariant:** an entry of a slot up to the head is the one of the writer that owned the group there (its [`Tenure`]), and a writer
//! has one entry for a slot. So what became of a change that was not answered, the head says.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::encoding::{decode_entry, encode_entry};
use crate::log::{Appended, Log};
use crate::{Base, ClusterError, Entry, Epoch, Kind, Known, Mark, Place, Result, Slot};

/// Bytes of an entry in one row at most.
pub const PART_BYTES: usize = 512 << 10;
/// Slots whose rows lie together, and go together.
pub const SLOTS_IN_BUCKET: u64 = 64;

const LOST: &str = "restore the rows from a snapshot of the database, or begin a new cluster from a backup";
const CONTRADICTS: &str = "the database has lost an acknowledged write: bring back the node that has it, or begin a new cluster from a backup";

/// The row that is compared and set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The newest slot that has an entry.
    pub slot: Slot,
    /// The ownership there.
    pub epoch: Epoch,
    /// Batches up to there.
    pub place: Place,
    /// Where the owner answers; empty when nobody owns the group.
    pub address: String,
    /// Entries up to here are gone.
    pub trimmed: Slot,
    /// The newest ownership; none before the first.
    pub tenure: Option<Tenure>,
}

/// The writer from some slot on, until the next tenure. Tenures are kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// The slot of its fence.
    pub first: Slot,
    /// Its number.
    pub epoch: Epoch,
    /// The run of the node.
    pub writer: u128,
}

/// One step of the head, from the slot before to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The slot to come.
    pub slot: Slot,
    /// The head has these batches before, or nothing is done.
    pub before: Place,
    /// Batches then.
    pub place: Place,
    /// Whose entry it is.
    pub writer: u128,
    /// Any other change.
    pub change: Change,
}

/// A change made by a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The owner: if the ownership was the one before `epoch`.
    Owner {
        /// Its number.
        epoch: Epoch,
        /// Where it answers.
        address: String,
    },
    /// Nothing else, if `writer` owns the group.
    Nothing,
    /// Nobody owns the group any more, if `writer` does.
    Released,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// The head is there, by this request.
    Done,
    /// The head was not as this step wants it. An earlier request for the same step may have done it.
    Refused,
}

/// A piece of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub number: u32,
    /// How many the entry has.
    pub of: u32,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Bytes that a writer stored for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The slot.
    pub slot: Slot,
    /// Whose.
    pub writer: u128,
    /// Of one part.
    pub bytes: u64,
}

/// The database. Every call may be repeated, and answers `Unreachable` when nobody knows what came of it.
pub trait Rows: Send + Sync {
    /// The head. A change that was acknowledged is seen. `settled`: one whose outcome nobody knows is decided before.
    ///
    /// # Errors
    /// `Unreachable`; `NotFound`.
    fn head(&self, settled: bool) -> Result<Head>;

    /// The newest ownership that began at a slot or before it.
    ///
    /// # Errors
    /// `Unreachable`.
    fn tenure(&self, slot: Slot) -> Result<Option<Tenure>>;

    /// Writes the parts of an entry, which a later [`parts`](Self::parts) sees.
    ///
    /// # Errors
    /// `Unreachable`: some may be there, or come to be.
    fn put(&self, slot: Slot, writer: u128, parts: Vec<Part>) -> Result<()>;

    /// The parts of a writer's entry, in order.
    ///
    /// # Errors
    /// `Unreachable`.
    fn parts(&self, slot: Slot, writer: u128) -> Result<Vec<Part>>;

    /// Parts of the entries of some slots, of whoever wrote them, by slot: as many as are good to fetch at once, at least one if there
    /// is one. Where it stops, an entry may lack its last parts.
    ///
    /// # Errors
    /// `Unreachable`.
    fn some(&self, from: Slot, through: Slot) -> Result<Vec<(Slot, u128, Part)>>;

    /// Compares the head and sets it.
    ///
    /// # Errors
    /// `Unreachable`: it may be done, and may still come to be.
    fn advance(&self, step: &Advance) -> Result<Advanced>;

    /// Raises [`Head::trimmed`].
    ///
    /// # Errors
    /// `Unreachable`.
    fn raise_trimmed(&self, through: Slot) -> Result<()>;

    /// Removes all parts of slots up to this one, no matter which writer they are from.
    ///
    /// # Errors
    /// `Unreachable`: some may be gone.
    fn remove(&self, through: Slot) -> Result<()>;

    /// Returns the sizes of what is stored for the slots of a bucket. Slot `s` is in bucket `s / SLOTS_IN_BUCKET`.
    ///
    /// # Errors
    /// `Unreachable`.
    fn sizes(&self, bucket: u64) -> Result<Vec<Size>>;
}

/// The log of one group in rows.
pub struct RowLog {
    base: Base,
    address: String,
    rows: Arc<dyn Rows>,
    /// The newest head that was read or set. It may be behind.
    seen: Mutex<Head>,
    /// Entries behind the one that was read last, read with it.
    ahead: Mutex<VecDeque<(Slot, Entry)>>,
}

impl RowLog {
    /// `address`: how the database is named to people.
    pub fn new(base: Base, address: &str, rows: Arc<dyn Rows>) -> Self {
        Self { base, address: address.into(), rows, seen: Mutex::default(), ahead: Mutex::default() }
    }

    fn corrupt(&self, slot: Slot, what: impl Into<String>, remedy: &'static str) -> ClusterError {
        let (place, object) = (self.address.clone(), format!("groups/0/log/{slot:020}"));
        ClusterError::Corrupt { place, object, what: what.into(), remedy }
    }

    fn look(&self, settled: bool) -> Result<Head> {
        let head = self.rows.head(settled)?;
        let mut seen = self.seen.lock();
        if (head.slot, head.trimmed) > (seen.slot, seen.trimmed) {
            *seen = head.clone();
        }
        Ok(head)
    }

    /// Whose entry a slot has that the head has reached.
    fn writer(&self, head: &Head, slot: Slot) -> Result<u128> {
        let tenure = match head.tenure.filter(|tenure| tenure.first <= slot) {
            Some(tenure) => Some(tenure),
            None => self.rows.tenure(slot)?,
        };
        let tenure = tenure.ok_or_else(|| self.corrupt(slot, "nobody owned the group there", LOST))?;
        Ok(tenure.writer)
    }

    fn committed(&self, head: &Head, slot: Slot) -> Result<Entry> {
        if slot <= head.trimmed {
            return Err(ClusterError::Trimmed { slot });
        }
        let parts = self.rows.parts(slot, self.writer(head, slot)?)?;
        let Some(bytes) = join(parts) else {
            // They may have gone since the head was read.
            return match self.look(false)?.trimmed >= slot {
                true => Err(ClusterError::Trimmed { slot }),
                false => Err(self.corrupt(slot, "rows of it are missing", CONTRADICTS)),
            };
        };
        decode_entry(self.base.cluster().as_bytes(), slot, &bytes).map_err(|what| self.corrupt(slot, what, LOST))
    }

    /// Whole entries from a slot on, none of which the head has not reached; none where reading them one by one says what is wrong.
    fn read_ahead(&self, head: &Head, from: Slot) -> Result<VecDeque<(Slot, Entry)>> {
        let bucket_ends = (from / SLOTS_IN_BUCKET + 1) * SLOTS_IN_BUCKET - 1;
        let mut found = self.rows.some(from, head.slot.min(bucket_ends))?.into_iter().peekable();
        let mut entries = VecDeque::new();
        for slot in from.. {
            let mut parts = Vec::new();
            let mut writer = None;
            while let Some((_, by, part)) = found.next_if(|(at, ..)| *at == slot) {
                let writer = match writer {
                    Some(writer) => writer,
                    None => *writer.insert(self.writer(head, slot)?),
                };
                if by == writer {
                    parts.push(part);
                }
            }
            let entry = join(parts).and_then(|bytes| decode_entry(self.base.cluster().as_bytes(), slot, &bytes).ok());
            match entry {
                Some(entry) => entries.push_back((slot, entry)),
                None => break,
            }
        }
        Ok(entries)
    }

    /// Whether an entry is in the log, when the step to it was refused or not answered. `why`: what was said instead.
    fn settle(&self, slot: Slot, entry: &Entry, why: Option<ClusterError>) -> Result<Appended> {
        let head = self.look(true)?;
        if head.slot >= slot {
            return match self.writer(&head, slot)? == entry.writer {
                true => Ok(Appended::Stored),
                false => self.committed(&head, slot).map(Appended::Occupied),
            };
        }
        // Not there: the same entry is sent again, unless the head is one that this node's log contradicts.
        match why {
            Some(why) if head.slot + 1 == slot => Err(why),
            _ => {
                let Head { slot: at, epoch, place, .. } = head;
                let what = format!("its log goes on from slot {at} (epoch {epoch}, {place} batches) to it");
                Err(self.corrupt(slot, what, CONTRADICTS))
            }
        }
    }
}

impl Log for RowLog {
    fn base(&self) -> &Base {
        &self.base
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn read(&self, slot: Slot) -> Result<Option<Entry>> {
        let mut head = self.seen.lock().clone();
        if head.slot < slot {
            head = self.look(false)?;
        }
        if head.slot < slot {
            return Ok(None);
        }
        let mut ahead = self.ahead.lock();
        if ahead.front().is_some_and(|(at, _)| *at != slot) {
            ahead.clear();
        }
        if ahead.is_empty() && slot < head.slot && slot > head.trimmed {
            *ahead = self.read_ahead(&head, slot)?;
        }
        match ahead.pop_front() {
            Some((_, entry)) => Ok(Some(entry)),
            None => self.committed(&head, slot).map(Some),
        }
    }

    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended> {
        self.rows.put(slot, entry.writer, split(&encode_entry(self.base.cluster().as_bytes(), slot, entry)))?;
        let change = match &entry.kind {
            Kind::Fence { address, .. } => Change::Owner { epoch: entry.epoch, address: address.clone() },
            Kind::Batches(_) => Change::Nothing,
            Kind::Release { .. } => Change::Released,
        };
        let (before, place, writer) = (entry.before, entry.through(), entry.writer);
        match self.rows.advance(&Advance { slot, before, place, writer, change }) {
            Ok(Advanced::Done) => Ok(Appended::Stored),
            Ok(Advanced::Refused) => self.settle(slot, entry, None),
            Err(why @ ClusterError::Unreachable { .. }) => self.settle(slot, entry, Some(why)),
            Err(error) => Err(error),
        }
    }

    /// So a node takes over while the bucket does not answer.
    fn newest(&self) -> Result<Option<Mark>> {
        Ok(None)
    }

    fn head(&self) -> Result<Known> {
        let Head { slot, epoch, place, address, .. } = self.look(false)?;
        Ok(Known { slot, epoch, place, address, ..Known::default() })
    }

    fn slots(&self, after: Slot) -> Result<Vec<(Slot, u64)>> {
        let head = self.look(false)?;
        let after = after.max(head.trimmed);
        let mut slots: Vec<(Slot, u64)> = Vec::new();
        let mut tenure = head.tenure;
        // Backwards, as ownerships are found from their end.
        for bucket in (after / SLOTS_IN_BUCKET..=head.slot / SLOTS_IN_BUCKET).rev() {
            let mut sizes = self.rows.sizes(bucket)?;
            sizes.sort_by_key(|size| std::cmp::Reverse(size.slot));
            for size in sizes.into_iter().filter(|size| size.slot > after && size.slot <= head.slot) {
                while let Some(later) = tenure.filter(|tenure| tenure.first > size.slot) {
                    tenure = self.rows.tenure(later.first - 1)?;
                }
                match slots.last_mut() {
                    _ if tenure.is_none_or(|tenure| tenure.writer != size.writer) => {}
                    Some((slot, bytes)) if *slot == size.slot => *bytes += size.bytes,
                    _ => slots.push((size.slot, size.bytes)),
                }
            }
        }
        slots.reverse();
        Ok(slots)
    }

    /// All of them: who sends something for a slot that was trimmed is refused by the head.
    fn trim(&self, through: Slot) -> Result<u64> {
        let head = self.look(false)?;
        let through = through.min(head.slot);
        self.rows.raise_trimmed(through)?;
        self.rows.remove(through)?;
        Ok(through.saturating_sub(head.trimmed))
    }
}

fn split(bytes: &[u8]) -> Vec<Part> {
    let of = bytes.len().div_ceil(PART_BYTES) as u32;
    (0..of).zip(bytes.chunks(PART_BYTES)).map(|(number, body)| Part { number, of, body: body.to_vec() }).collect()
}

/// `None` when some are missing.
fn join(parts: Vec<Part>) -> Option<Vec<u8>> {
    let of = parts.first()?.of;
    let is_whole = parts.len() == of as usize && (0..of).zip(&parts).all(|(number, part)| part.number == number);
    is_whole.then(|| parts.into_iter().flat_map(|part| part.body).collect())
}
