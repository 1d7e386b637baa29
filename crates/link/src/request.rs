//! The messages that follow the greeting on the socket, encoded with postcard. Any change here, or of an operation,
//! raises `hello::PROTOCOL`.

use std::time::Duration;

use nuthatch_engine::call::Choice;
use nuthatch_engine::codec::{Bytes, bytes};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::Kind;
use nuthatch_engine::tenant::TenantPlace;
use nuthatch_engine::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::long::{Long, Told};

/// From the served process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToHolder {
    /// Numbers of one session ascend. The same number again is the same request again.
    Ask { number: u64, request: Request },
    /// The answer to [`FromHolder::Embed`], or the embedder's error message.
    Embedded(std::result::Result<Vec<Vec<f32>>, String>),
    /// Stop working on this request of that session. Not answered.
    Cancel { session: String, number: u64 },
    /// The session has ended. Not answered.
    Goodbye,
    /// A snapshot that this connection took is not needed any more. Not answered.
    LetGo { snapshot: u128 },
}

/// From the holder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FromHolder {
    Answer(std::result::Result<Encoded, Error>),
    /// The caller's own embedder is needed; the answer comes after it.
    Embed {
        query: bool,
        texts: Vec<String>,
    },
    /// How far a long request is; the answer comes after it.
    Told(Told),
}

/// An answer, encoded: its type is that of the operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Encoded(#[serde(with = "bytes")] pub Vec<u8>);

impl Encoded {
    pub fn of(value: &impl Serialize) -> Result<Self> {
        postcard::to_stdvec(value)
            .map(Self)
            .map_err(|error| Error::internal(format!("an answer cannot be encoded: {error}")))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// `None`: the default tenant's handle asks.
    pub tenant: Option<TenantPlace>,
    /// How much longer the caller waits; absent for a caller that waits as long as it takes, and for writes. Clocks
    /// differ, spans do not.
    pub wait: Option<Duration>,
    pub ask: Ask,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// An [`Op`](crate::ops::Op).
    Operation {
        of: Of,
        embedder: Choice,
        name: String,
        operation: Bytes,
    },
    /// Takes a snapshot of this number. Answered with true, or with false when this process now holds the folder: then
    /// it takes one of its own.
    Take(u128),
    Long(Long),
}

/// The subject of an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Of {
    Everything,
    Records {
        place: ObjectRef,
        durability: Durability,
    },
    Keys {
        place: ObjectRef,
        kind: Kind,
        durability: Durability,
    },
    /// A snapshot that this process has taken, by its number.
    Snapshot {
        id: u128,
        of: SnapshotPart,
    },
}

/// The part of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SnapshotPart {
    Everything,
    Records(String),
    Keys(String, Kind),
}

/// Which collection, keyspace or graph: the id tells it from one of the same name that was made after it was dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectRef {
    pub name: String,
    pub id: u32,
}
