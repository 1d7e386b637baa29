//! A group's log in a bucket: one object a slot, each created and never replaced.

use crate::base::{ADDRESS_BYTES_MAX, Base, Identity, LOST, digits};
use crate::bucket::{Bucket, Created};
use crate::encoding::{decode_entry, encode_entry};
use crate::log::{Appended, Log};
use crate::{ClusterError, Entry, Known, Result, Slot};

const LOG: &str = "groups/0/log";
/// Of an entry without batches or address.
const SMALLEST_BYTES: u64 = 97;
const FENCE_BYTES_MAX: u64 = SMALLEST_BYTES + 8 + ADDRESS_BYTES_MAX as u64;

/// The log of the one group that a bucket has so far.
pub struct ObjectLog {
    base: Base,
}

impl ObjectLog {
    /// Makes a cluster of a bucket that has none.
    ///
    /// # Errors
    /// `Invalid` when it has one already or the rest of one, and for a lease out of bounds; `Unreachable`.
    pub fn init(bucket: &Bucket, lease_ms: u64) -> Result<Identity> {
        let identity = Identity::new(lease_ms, None)?;
        Base::init(bucket, &identity)?;
        Ok(identity)
    }

    /// The log of the cluster in this bucket.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Invalid` for one of a newer program, and one whose log is elsewhere; `Unreachable`, `Corrupt`.
    pub fn open(bucket: &Bucket) -> Result<Self> {
        let base = Base::open(bucket)?;
        if let Some(log) = &base.identity().log {
            let bucket = bucket.address();
            let what = format!("the log of the cluster in {bucket} is {log}; give that address, with bucket={bucket}");
            return Err(ClusterError::Invalid(what));
        }
        Ok(Self { base })
    }

    fn bucket(&self) -> &Bucket {
        self.base.bucket()
    }
}

impl Log for ObjectLog {
    fn base(&self) -> &Base {
        &self.base
    }

    fn address(&self) -> &str {
        self.bucket().address()
    }

    fn read(&self, slot: Slot) -> Result<Option<Entry>> {
        let key = format!("{LOG}/{}", digits(slot));
        let Some(bytes) = self.bucket().get(&key)? else { return Ok(None) };
        let entry = decode_entry(self.base.cluster().as_bytes(), slot, &bytes);
        entry.map(Some).map_err(|what| self.bucket().corrupt(&key, what, LOST))
    }

    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended> {
        let key = format!("{LOG}/{}", digits(slot));
        match self.bucket().create(&key, encode_entry(self.base.cluster().as_bytes(), slot, entry))? {
            Created::New => Ok(Appended::Stored),
            Created::Before => match self.read(slot)? {
                Some(found) => Ok(Appended::Occupied(found)),
                None => Err(ClusterError::Unreachable {
                    place: self.bucket().address().into(),
                    object: key,
                    what: "it exists for a writer and not for a reader".into(),
                }),
            },
        }
    }

    /// Reads little besides the list.
    fn head(&self) -> Result<Known> {
        let checkpoint = self.base.checkpoints()?.pop();
        let mut known =
            checkpoint.map(|mark| self.base.manifest(mark)).transpose()?.map_or_else(Known::default, |it| it.known);
        let slots = self.slots(known.slot)?;
        for (at, (slot, bytes)) in slots.iter().enumerate() {
            let is_last = at + 1 == slots.len();
            if (may_be_fence(*bytes) || is_last)
                && let Some(entry) = self.read(*slot)?
            {
                known.follow(*slot, &entry);
            }
        }
        Ok(known)
    }

    fn slots(&self, after: Slot) -> Result<Vec<(Slot, u64)>> {
        let after = if after == 0 { String::new() } else { digits(after) };
        let listed = self.bucket().list(LOG, &after)?;
        Ok(listed.into_iter().filter_map(|(key, bytes)| Some((key.parse().ok()?, bytes))).collect())
    }

    /// All but fences ([`Entry::is_kept`]).
    fn trim(&self, through: Slot) -> Result<u64> {
        let mut gone = Vec::new();
        for (slot, bytes) in self.slots(0)? {
            if slot > through {
                break;
            }
            if !may_be_fence(bytes) || !self.read(slot)?.is_none_or(|entry| entry.is_kept()) {
                gone.push(format!("{LOG}/{}", digits(slot)));
            }
        }
        self.bucket().remove_all(&gone)?;
        Ok(gone.len() as u64)
    }
}

/// Fences are longer than entries without batches, and shorter than most with some.
fn may_be_fence(bytes: u64) -> bool {
    bytes > SMALLEST_BYTES && bytes <= FENCE_BYTES_MAX
}
