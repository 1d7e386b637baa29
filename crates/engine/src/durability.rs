//! When a write counts as done.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The durability of a write when its call returns. With every choice, writes keep their order, and the writes of one
/// call are kept together or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// On the disk: it survives kill -9, a crash of the system and power loss. Callers that wait at the same time share one fsync.
    #[default]
    Commit,
    /// With the operating system, and on the disk at most [`crate::Options::sync_interval_ms`] later: kill -9 loses nothing, power
    /// loss what came after the last sync.
    Interval,
    /// With the operating system, which writes when it likes: kill -9 loses nothing, power loss may lose everything since the
    /// last sync, of whatever write.
    Os,
}

impl Durability {
    /// `commit`, `interval` or `os`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Interval => "interval",
            Self::Os => "os",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Durability {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Commit, Self::Interval, Self::Os].into_iter().find(|durability| durability.name() == name).ok_or_else(
            || Error::invalid(format!("unknown durability {name:?}; choose \"commit\", \"interval\" or \"os\"")),
        )
    }
}
