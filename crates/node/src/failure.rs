//! How a command fails, with the exit codes of `nuthatch`.

use std::fmt;

use nuthatch_cluster::ClusterError;
use nuthatch_link::{Error, ErrorKind};
use nuthatch_store::StoreError;

/// Why.
#[derive(Debug)]
pub enum Failure {
    Cluster(ClusterError),
    Engine(Error),
}

impl Failure {
    /// As `nuthatch --help` lists them.
    pub fn code(&self) -> u8 {
        match self {
            Self::Cluster(error) => match error {
                ClusterError::Invalid(_) => 2,
                ClusterError::NotFound(_) => 3,
                ClusterError::Trimmed { .. } => 4,
                ClusterError::Unreachable { .. } => 5,
                ClusterError::Corrupt { .. } => 6,
                ClusterError::Store(StoreError::Full { .. }) => 7,
                ClusterError::Store(StoreError::Corrupt { .. }) => 6,
                ClusterError::Store(_) | ClusterError::Io { .. } => 9,
            },
            Self::Engine(error) => match error.kind {
                ErrorKind::Invalid => 2,
                ErrorKind::NotFound => 3,
                ErrorKind::Conflict => 4,
                ErrorKind::Unavailable => 5,
                ErrorKind::Corrupt { .. } => 6,
                ErrorKind::Exhausted => 7,
                ErrorKind::Closed => 8,
                _ => 9,
            },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(error) => error.fmt(out),
            Self::Engine(error) => error.fmt(out),
        }
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Cluster(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}
