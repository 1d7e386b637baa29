//! The part of a cluster that lies in its bucket, wherever its log is: its identity and its checkpoints.

use std::path::Path;

use nuthatch_segment::{seal, unseal};
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Created};
use crate::{ClusterError, Manifest, Mark, Result, Slot, Timing};

/// Version of the layout in a bucket that has the log, too.
const FORMAT: u32 = 1;
/// The newest version that this program reads: of a bucket whose cluster has its log somewhere else.
pub const BUCKET_FORMAT: u32 = 2;
/// The longest address that a fence may have.
pub const ADDRESS_BYTES_MAX: usize = 255;

const LEASE_MS_MIN: u64 = 250;
const LEASE_MS_MAX: u64 = 10 * 60_000;

const IDENTITY: &str = "CLUSTER";
const CHECKPOINTS: &str = "groups/0/checkpoints";
pub(crate) const LOST: &str = "restore the bucket's object from a copy, or begin a new cluster from a backup";

/// The identity of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version of the layout.
    pub format: u32,
    /// Random; every entry and every checkpoint names it.
    pub uuid: uuid::Uuid,
    /// How long a follower waits for an owner of which it hears nothing: the same on every node, so it stands here.
    pub lease_ms: u64,
    /// Where the log lies, for people; none: in the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The program that made it.
    pub written_by: String,
}

impl Identity {
    /// Of a new cluster.
    ///
    /// # Errors
    /// `Invalid` for a lease out of bounds.
    pub fn new(lease_ms: u64, log: Option<String>) -> Result<Self> {
        if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&lease_ms) {
            return Err(ClusterError::Invalid(format!(
                "a lease of {lease_ms} ms; give {LEASE_MS_MIN} ms to {} minutes",
                LEASE_MS_MAX / 60_000
            )));
        }
        Ok(Self {
            format: if log.is_some() { BUCKET_FORMAT } else { FORMAT },
            uuid: uuid::Uuid::new_v4(),
            lease_ms,
            log,
            written_by: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
        })
    }
}

/// The bucket of one cluster.
#[derive(Clone)]
pub struct Base {
    bucket: Bucket,
    identity: Identity,
}

impl Base {
    /// Makes a cluster of a bucket that has none.
    ///
    /// # Errors
    /// `Invalid` when it has one already or the rest of one; `Unreachable`.
    pub fn init(bucket: &Bucket, identity: &Identity) -> Result<Self> {
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
        let body = serde_json::to_vec_pretty(identity).expect("plain fields are JSON");
        match bucket.create(IDENTITY, seal(&body))? {
            Created::New => Ok(Self { bucket: bucket.clone(), identity: identity.clone() }),
            Created::Before => Err(already()),
        }
    }

    /// The cluster in this bucket.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Invalid` for one of a newer program; `Unreachable`, `Corrupt`.
    pub fn open(bucket: &Bucket) -> Result<Self> {
        Self::find(bucket)?.ok_or_else(|| {
            let remedy = "make one with `nuthatch-cluster init`";
            ClusterError::NotFound(format!("{} has no cluster; {remedy}", bucket.address()))
        })
    }

    /// The same; `None` when there is none.
    ///
    /// # Errors
    /// `Invalid` for one of a newer program; `Unreachable`, `Corrupt`.
    pub fn find(bucket: &Bucket) -> Result<Option<Self>> {
        let Some(bytes) = bucket.get(IDENTITY)? else { return Ok(None) };
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
        Ok(Some(Self { bucket: bucket.clone(), identity }))
    }

    /// The bucket.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Returns the identity of the cluster.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The cluster's number.
    pub fn cluster(&self) -> uuid::Uuid {
        self.identity.uuid
    }

    /// How long things may take in this cluster.
    pub fn timing(&self) -> Timing {
        Timing::of_lease(self.identity.lease_ms)
    }

    /// Returns the marks of the checkpoints, the newest last.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn checkpoints(&self) -> Result<Vec<Mark>> {
        let listed = self.bucket.list(CHECKPOINTS, "")?;
        Ok(listed.iter().filter_map(|(name, _)| mark(name)).collect())
    }

    /// The manifest of a checkpoint.
    ///
    /// # Errors
    /// `NotFound`, `Unreachable`; `Corrupt`, naming the object.
    pub fn manifest(&self, checkpoint: Mark) -> Result<Manifest> {
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

    /// Lists a checkpoint whose every object is there.
    ///
    /// # Errors
    /// `Unreachable`: it may be listed.
    pub fn publish(&self, manifest: &Manifest) -> Result<()> {
        let body = serde_json::to_vec(manifest).expect("plain fields are JSON");
        // One that is there already has the same rows: it is of the same slot.
        self.bucket.create(&manifest_key(manifest.known.mark()), seal(&body)).map(drop)
    }

    /// Forgets a checkpoint, of which a newer one is listed. Its objects are the matter of [`crate::checkpoint`].
    pub(crate) fn forget(&self, checkpoint: Mark) -> Result<()> {
        self.bucket.remove(&manifest_key(checkpoint))
    }
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
pub(crate) fn digits(slot: Slot) -> String {
    format!("{slot:020}")
}

fn unsealed(bucket: &Bucket, key: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    unseal(Path::new(key), bytes).map_err(|_| bucket.corrupt(key, "its checksum is wrong", LOST))
}
