//! What goes over the socket after the greeting, encoded with postcard. Any change here raises `hello::PROTOCOL`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::codec::{Bytes, bytes};
use crate::collection::meta::EmbedderMeta;
use crate::collection::{EmbedderChoice, WriteSet};
use crate::database::Erase;
use crate::durability::Durability;
use crate::graph::{Edge, EdgeId, ListNodes, Neighbors, Node, Traverse};
use crate::kv::{Entry, KeyScan, Kind, KvOp};
use crate::process::long::{Long, Told};
use crate::process::snapshot::SnapshotCall;
use crate::process::wire::{OptionsAsk, ScanAsk, SearchAsk};
use crate::record::Record;
use crate::tenant::{TenantLimits, TenantPlace};
use crate::transaction::WriteBatch;
use crate::{Error, Result};

/// From the process that is served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToHolder {
    /// Numbers of one lane ascend. The same number again is the same request again.
    Ask { number: u64, request: Request },
    /// What [`FromHolder::Embed`] asked for, or the embedder's words.
    Embedded(std::result::Result<Vec<Vec<f32>>, String>),
    /// Stop working on this request of that lane. Not answered.
    Cancel { lane: String, number: u64 },
    /// This lane is not gone on with. Not answered.
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

/// An answer, encoded: its type follows from the request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Encoded(#[serde(with = "bytes")] pub Vec<u8>);

impl Encoded {
    pub fn of(value: &impl Serialize) -> Result<Self> {
        postcard::to_stdvec(value)
            .map(Self)
            .map_err(|error| Error::internal(format!("an answer does not encode: {error}")))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// `collection` and `existing_collection`. Answered with [`Opened`].
    Open {
        name: String,
        options: OptionsAsk,
        must_exist: bool,
    },
    Names,
    Infos,
    Drop {
        name: String,
    },
    Stats,
    Doctor,
    OptimizeAll,
    Reclaim(Option<String>),
    Erase {
        collection: String,
        what: Erase,
    },
    Receipts,
    Limits,
    Usage,
    /// `kv`, `graph`, and those of what exists. Answered with its id.
    OpenKeyspace {
        name: String,
        kind: Kind,
        must_exist: bool,
    },
    KeyspaceNames(Kind),
    Write(Box<WriteBatch>),
    DropKeyspace {
        name: String,
        kind: Kind,
    },
    InKeyspace {
        keyspace: Place,
        durability: Durability,
        call: KvCall,
    },
    /// A request of a tenant's handle.
    Of {
        tenant: TenantPlace,
        request: Box<Request>,
    },
    // What follows is for the default tenant's handle.
    /// Answered with its [`TenantPlace`].
    CreateTenant(String),
    /// Answered with its [`TenantPlace`].
    Tenant(String),
    TenantNames,
    Tenants,
    TenantInfo(String),
    SetTenantLimits(String, TenantLimits),
    DropTenant(String),
    In {
        collection: Place,
        embedder: Choice,
        durability: Durability,
        call: Call,
    },
    /// About a snapshot that this process takes or has taken, by its number.
    Snapshot {
        id: u128,
        call: SnapshotCall,
    },
    Long(Long),
    InGraph {
        graph: Place,
        durability: Durability,
        call: GraphCall,
    },
}

/// Which collection, keyspace or graph: the id tells it from one of the same name that was made after it was dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub name: String,
    pub id: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub id: u32,
    pub metric: String,
    pub element: String,
}

/// A call on a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Call {
    Upsert(Vec<Record>),
    Delete(Vec<String>),
    DeleteWhere(String),
    DeletePrefix(String),
    Get { ids: Vec<String>, vectors: bool },
    Count(Option<String>),
    Scan(ScanAsk),
    Search(Box<SearchAsk>),
    SearchMany(Vec<SearchAsk>),
    Info,
    Len,
    Optimize(Duration),
    WaitUntilIndexed(Duration),
    Files(String),
    RemoveFiles(String),
    // What adding files is made of: see `adding.rs`.
    Apply(Box<WriteSet>),
    PassageEmbedder,
    Embed(Vec<String>),
    VectorsOf(Vec<String>),
    FileEntry(String),
    FileEntries(String),
}

/// A call on a keyspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum KvCall {
    Get(Bytes),
    MultiGet(Vec<Bytes>),
    Contains(Bytes),
    ExpiresIn(Bytes),
    Scan(KeyScan),
    CountEstimate(Bytes),
    MultiPut(Vec<KvOp>),
    Delete(Vec<Bytes>),
    DeletePrefix(Bytes),
    CompareAndSet { key: Bytes, expected: Option<Bytes>, new: Option<Bytes>, expires_in: Option<Duration> },
    Increment { key: Bytes, by: i64 },
    Append { key: Bytes, more: Bytes },
    Expire { key: Bytes, expires_in: Option<Duration> },
    Entries(Vec<Bytes>),
    WriteIf { expected: Option<Entry>, op: KvOp },
}

/// A call on a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum GraphCall {
    PutNodes(Vec<Node>),
    PutEdges(Vec<Edge>),
    DeleteNodes(Vec<String>),
    DeleteEdges(Vec<EdgeId>),
    Nodes(Vec<String>),
    Edge(EdgeId),
    Neighbors(String, Neighbors),
    ListNodes(ListNodes),
    Counts,
    Traverse(Traverse),
}

/// [`EmbedderChoice`] without the embedder itself, which stays with the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Choice {
    Auto,
    None,
    BuiltIn,
    Given(EmbedderMeta),
}

impl From<&EmbedderChoice> for Choice {
    fn from(choice: &EmbedderChoice) -> Self {
        match choice {
            EmbedderChoice::Auto => Self::Auto,
            EmbedderChoice::None => Self::None,
            EmbedderChoice::BuiltIn => Self::BuiltIn,
            EmbedderChoice::Given(embedder) => Self::Given(EmbedderMeta {
                name: embedder.name().to_string(),
                dim: embedder.dim(),
                fingerprint: embedder.fingerprint().to_string(),
            }),
        }
    }
}
