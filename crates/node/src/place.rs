//! Where a cluster lies: a bucket that has everything, or a log somewhere else and a bucket for its checkpoints.

use std::sync::Arc;

use nuthatch_cassandra::{Address, Copies, Keyspace, Settings};
use nuthatch_cluster::{Bucket, Identity, Log, ObjectLog};

use crate::failure::Failure;

/// How `--store` and the commands name it.
pub const FORMS: &str = "s3://BUCKET/PREFIX, or cassandra://HOST,HOST/KEYSPACE?bucket=s3://BUCKET/PREFIX";

/// A cluster's place.
pub struct Place {
    pub bucket: Bucket,
    cassandra: Option<(Address, Settings)>,
}

impl Place {
    /// Connects to nothing yet.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        match Address::parse(text)? {
            Some(address) => {
                let settings = Settings::of(|name| std::env::var(name).ok())?;
                Ok(Self { bucket: Bucket::open(&address.bucket)?, cassandra: Some((address, settings)) })
            }
            None => Ok(Self { bucket: Bucket::open(text)?, cassandra: None }),
        }
    }

    /// How it is named to people: what [`parse`](Self::parse) takes, without credentials.
    pub fn address(&self) -> String {
        match &self.cassandra {
            Some((address, _)) => format!("{address}?bucket={}", self.bucket.address()),
            None => self.bucket.address().into(),
        }
    }

    /// Makes a cluster there.
    pub fn init(&self, lease_ms: u64, copies: Copies) -> Result<Identity, Failure> {
        Ok(match &self.cassandra {
            Some((address, settings)) => nuthatch_cassandra::init(address, settings, &self.bucket, lease_ms, copies)?,
            None => ObjectLog::init(&self.bucket, lease_ms)?,
        })
    }

    /// The log of the cluster there.
    pub fn open(&self) -> Result<Arc<dyn Log>, Failure> {
        Ok(match &self.cassandra {
            Some((address, settings)) => Arc::new(nuthatch_cassandra::open(address, settings, &self.bucket)?),
            None => Arc::new(ObjectLog::open(&self.bucket)?),
        })
    }

    /// The keyspace, if the log is in one.
    pub fn keyspace(&self) -> Result<Option<Keyspace>, Failure> {
        Ok(self.cassandra.as_ref().map(|(address, settings)| Keyspace::connect(address, settings)).transpose()?)
    }
}
