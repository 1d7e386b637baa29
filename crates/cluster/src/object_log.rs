//! A group's log in a bucket: one object a slot, each created and never replaced.

use std::path::Path;

use nuthatch_segment::{seal, unseal};
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Created};
use crate::encoding::{decode_entry, encode_entry};
use crate::log::{Appended, Log};
use crate::{ClusterError, Entry, Known, Manifest, Mark, Result, Slot, Timing};

/// Version of the layout in the bucket.
pub const BUCKET_FORMAT: u32 = 1;
/// The longest address that a fence may have.
pub const ADDRESS_BYTES_MAX: usize = 255;

const LEASE_MS_MIN: u64 = 250;
const LEASE_MS_MAX: u64 = 10 * 60_000;

const IDENTITY: &str = "CLUSTER";
const LOG: &str = "groups/0/log";
const CHECKPOINTS: &str = "groups/0/checkpoints";
const LOST: &str = "restore the bucket's object from a copy, or begin a new cluster from a backup";
/// Of an entry without batches or address.
const SMALLEST_BYTES: u64 = 97;
const FENCE_BYTES_MAX: u64 = SMALLEST_BYTES + 8 + ADDRESS_BYTES_MAX as u64;

/// What a bucket says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The version of the layout.
    pub format: u32,
    /// Random; every entry and every checkpoint names it.
    pub uuid: uuid::Uuid,
    /// How long a follower waits for an owner of which it hears nothing: the same on every node, so it stands here.
    pub lease_ms: u64,
    /// The program that made it.
    pub written_by: String,
}

/// The log of the one group that a bucket has so far.
pub struct ObjectLog {
    bucket: Bucket,
    identity: Identity,
}

impl ObjectLog {
    /// Makes a cluster of a bucket that has none.
    ///
    /// # Errors
    /// `Invalid` when it has one already or the rest of one, and for a lease out of bounds; `Unreachable`.
    pub fn init(bucket: &Bucket, lease_ms: u64) -> Result<Identity> {
        if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&lease_ms) {
            return Err(ClusterError::Invalid(format!(
                "a lease of {lease_ms} ms; give {LEASE_MS_MIN} ms to {} minutes",
                LEASE_MS_MAX / 60_000
            )));
        }
        let identity = Identity {
            format: BUCKET_FORMAT,
            uuid: uuid::Uuid::new_v4(),
            lease_ms,
            written_by: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
        };
        let already = || ClusterError::Invalid(format!("{} has a cluster already", bucket.address()));
        match bucket.get(IDENTITY)? {
            Some(_) => return Err(already()),
            None if !bucket.list("groups", "")?.is_empty() => {
                let what =
                    "has objects of a cluster and no identity; restore its object CLUSTER, or give another prefix";
                return Err(ClusterError::Invalid(format!("{} {what}", bucket.address())));
            }
            None => {}
        }
        let body = serde_json::to_vec_pretty(&identity).expect("plain fields are JSON");
        match bucket.create(IDENTITY, seal(&body))? {
            Created::New => Ok(identity),
            Created::Before => Err(already()),
        }
    }

    /// The log of the cluster in this bucket.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Invalid` for one of a newer program; `Unreachable`, `Corrupt`.
    pub fn open(bucket: &Bucket) -> Result<Self> {
        let Some(bytes) = bucket.get(IDENTITY)? else {
            let remedy = "make one with `nuthatch-cluster init`";
            return Err(ClusterError::NotFound(format!("{} has no cluster; {remedy}", bucket.address())));
        };
        let body = unsealed(bucket, IDENTITY, &bytes)?;
        let identity: Identity =
            serde_json::from_slice(&body).map_err(|error| bucket.corrupt(IDENTITY, error.to_string(), LOST))?;
        if identity.format > BUCKET_FORMAT {
            return Err(ClusterError::Invalid(format!(
                "{} has format {} (written by {}), this program reads up to {BUCKET_FORMAT}; use a newer Nuthatch",
                bucket.address(),
                identity.format,
                identity.written_by
            )));
        }
        Ok(Self { bucket: bucket.clone(), identity })
    }

    /// The bucket.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The cluster's number.
    pub fn cluster(&self) -> uuid::Uuid {
        self.identity.uuid
    }

    /// How long things may take in this cluster.
    pub fn timing(&self) -> Timing {
        Timing::of_lease(self.identity.lease_ms)
    }

    /// What the log says up to its end. Reads little besides the list.
    ///
    /// # Errors
    /// `Unreachable`, `Corrupt`.
    pub fn head(&self) -> Result<Known> {
        let checkpoint = self.checkpoints()?.pop();
        let mut known =
            checkpoint.map(|mark| self.manifest(mark)).transpose()?.map_or_else(Known::default, |it| it.known);
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

    /// The slots after one that have an entry, with their bytes. Of the slots that were trimmed, those with fences.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn slots(&self, after: Slot) -> Result<Vec<(Slot, u64)>> {
        let after = if after == 0 { String::new() } else { digits(after) };
        let listed = self.bucket.list(LOG, &after)?;
        Ok(listed.into_iter().filter_map(|(key, bytes)| Some((key.parse().ok()?, bytes))).collect())
    }
}

impl Log for ObjectLog {
    fn read(&self, slot: Slot) -> Result<Option<Entry>> {
        let key = format!("{LOG}/{}", digits(slot));
        let Some(bytes) = self.bucket.get(&key)? else { return Ok(None) };
        let entry = decode_entry(self.identity.uuid.as_bytes(), slot, &bytes);
        entry.map(Some).map_err(|what| self.bucket.corrupt(&key, what, LOST))
    }

    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended> {
        let key = format!("{LOG}/{}", digits(slot));
        match self.bucket.create(&key, encode_entry(self.identity.uuid.as_bytes(), slot, entry))? {
            Created::New => Ok(Appended::Stored),
            Created::Before => match self.read(slot)? {
                Some(found) => Ok(Appended::Occupied(found)),
                None => Err(ClusterError::Unreachable {
                    bucket: self.bucket.address().into(),
                    object: key,
                    what: "it exists for a writer and not for a reader".into(),
                }),
            },
        }
    }

    fn checkpoints(&self) -> Result<Vec<Mark>> {
        let listed = self.bucket.list(CHECKPOINTS, "")?;
        Ok(listed.iter().filter_map(|(name, _)| mark(name)).collect())
    }

    fn manifest(&self, checkpoint: Mark) -> Result<Manifest> {
        let key = manifest_key(checkpoint);
        let Some(bytes) = self.bucket.get(&key)? else {
            return Err(ClusterError::NotFound(format!("{}/{key} does not exist", self.bucket.address())));
        };
        let damaged = |what: String| self.bucket.corrupt(&key, what, "the checkpoint before it is used instead");
        let body = unsealed(&self.bucket, &key, &bytes)?;
        let manifest: Manifest = serde_json::from_slice(&body).map_err(|error| damaged(error.to_string()))?;
        if (manifest.cluster, manifest.known.mark()) != (self.identity.uuid, checkpoint) {
            return Err(damaged("it belongs to another cluster or another slot".into()));
        }
        Ok(manifest)
    }

    fn publish(&self, manifest: &Manifest) -> Result<()> {
        let body = serde_json::to_vec(manifest).expect("plain fields are JSON");
        // One that is there already has the same rows: it is of the same slot.
        self.bucket.create(&manifest_key(manifest.known.mark()), seal(&body)).map(drop)
    }

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
        self.bucket.remove_all(&gone)?;
        Ok(gone.len() as u64)
    }
}

impl ObjectLog {
    /// Forgets a checkpoint, of which a newer one is listed. Its objects are the matter of [`crate::checkpoint`].
    pub(crate) fn forget(&self, checkpoint: Mark) -> Result<()> {
        self.bucket.remove(&manifest_key(checkpoint))
    }
}

/// Fences are longer than entries without batches, and shorter than most with some.
fn may_be_fence(bytes: u64) -> bool {
    bytes > SMALLEST_BYTES && bytes <= FENCE_BYTES_MAX
}

/// A checkpoint says in its name what it has, so that a list is enough to know.
fn manifest_key(Mark { slot, epoch, place }: Mark) -> String {
    format!("{CHECKPOINTS}/{}-{epoch:010}-{place:020}", digits(slot))
}

fn mark(name: &str) -> Option<Mark> {
    let mut numbers = name.split('-').map(|part| part.parse().ok());
    let mut next = || numbers.next()?;
    Some(Mark { slot: next()?, epoch: next()?, place: next()? })
}

/// As many digits as the largest slot has, so that keys sort as slots do.
fn digits(slot: Slot) -> String {
    format!("{slot:020}")
}

fn unsealed(bucket: &Bucket, key: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    unseal(Path::new(key), bytes).map_err(|_| bucket.corrupt(key, "its checksum is wrong", LOST))
}
