//! The contents of a slot of the log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A place in the log. The first entry has 1; 0 is before all of them.
pub type Slot = u64;
/// The number of an ownership. It rises by one with every fence; 0 is before the first.
pub type Epoch = u64;
/// How many batches the log has up to some place.
pub type Place = u64;

/// How much of the log there is up to a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The slot.
    pub slot: Slot,
    /// The ownership there.
    pub epoch: Epoch,
    /// Batches up to there.
    pub place: Place,
}

/// One entry. Once it was sent for a slot, its writer never sends another one for that slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The ownership under which it was written.
    pub epoch: Epoch,
    /// The run of the node that wrote it: random, new with every start.
    pub writer: u128,
    /// Batches in the log before it.
    pub before: Place,
    /// Its content.
    pub kind: Kind,
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its writer owns the group from here on.
    Fence {
        /// Where the owner answers callers.
        address: String,
        /// Further details about the owner.
        reach: Reach,
    },
    /// Batches in their order. None: the owner is alive.
    Batches(Vec<Arc<[u8]>>),
    /// Its writer has stopped answering and will write no more: nobody needs to wait for its lease.
    Release {
        /// The address of the node that is to own the group next; the others wait for a lease. Empty: any of them.
        heir: String,
    },
}

/// How else an owner is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reach {
    /// The process that reports the owner's death, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// Where it answers clients of Redis; empty: nowhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub redis: String,
}

impl Reach {
    /// Bytes that the addresses of an owner may have together: programs that know one of them alone take a longer entry for one that
    /// may go.
    const FITS_BYTES: usize = crate::ADDRESS_BYTES_MAX - 8 - 32 - 8;

    /// Nothing, where the addresses are too long beside this one.
    pub(crate) fn beside(self, address: &str) -> Self {
        let watched = self.watch.as_ref().map_or(0, |watch| watch.address.len());
        match address.len() + watched + self.redis.len() <= Self::FITS_BYTES {
            true => self,
            false => Self::default(),
        }
    }
}

/// A process beside an owner that outlives it, and says then that it is dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Watch {
    /// Where it is asked.
    pub address: String,
    /// The BLAKE3 hash of a key that the process reveals only after the owner's process has ended. Knowing the key
    /// proves that it has.
    pub seal: [u8; 32],
}

impl Watch {
    /// Whether this key is the one that was sealed.
    pub fn opens(&self, key: &[u8; 32]) -> bool {
        blake3::hash(key).as_bytes() == &self.seal
    }

    /// The seal of a key.
    pub fn seal(key: &[u8; 32]) -> [u8; 32] {
        *blake3::hash(key).as_bytes()
    }
}

impl Entry {
    /// Batches in the log up to and with it.
    pub fn through(&self) -> Place {
        self.before + self.batches().len() as Place
    }

    /// Its batches.
    pub fn batches(&self) -> &[Arc<[u8]>] {
        match &self.kind {
            Kind::Batches(batches) => batches,
            Kind::Fence { .. } | Kind::Release { .. } => &[],
        }
    }

    /// Whether it stays for ever in a log whose slots are filled each by itself. A fence does: the slot that it occupies is the one for which the owner before it may
    /// still have a request under way, and that request must never find the slot empty.
    pub fn is_kept(&self) -> bool {
        matches!(self.kind, Kind::Fence { .. })
    }
}
