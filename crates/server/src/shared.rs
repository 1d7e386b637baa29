//! The state that all requests of one server share.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use nuthatch_link::{Database, Result as EngineResult, StoreLayer};
use nuthatch_mcp::Streams;
use nuthatch_resp::Counts;
use tokio::sync::watch;

use crate::access::{Invitation, Passwords, Ring, Shares, Turns};
use crate::admission::{Admission, LONG_CALLS};
use crate::audit::Book;
use crate::cluster_state::ClusterState;
use crate::config::{Auth, Config};
use crate::problem::Problem;
use crate::telemetry::Metrics;

/// A condition that an answer waits for before it leaves; if it fails, its error is answered instead.
pub type Hold = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = EngineResult<()>> + Send>> + Send + Sync>;

/// The first layer that a request passes through: it may wait there, or be answered by another node.
pub type Gate = Arc<dyn Fn(Request, Next) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

/// The cluster that this server is a node of.
pub trait Cluster: Send + Sync {
    /// Returns the owner's report on the cluster.
    fn state(&self) -> ClusterState;

    /// Begins to hand the data over to the node at this address, or to any if that is empty. `drain`: for good.
    ///
    /// # Errors
    /// `Conflict` when nobody is there to take it.
    fn hand_over(&self, to: String, drain: bool) -> EngineResult<()>;
}

/// The parts that make a server one node of several.
pub struct Node {
    /// Every batch of the folder goes through this.
    pub layer: StoreLayer,
    /// Every answer waits for this.
    pub hold: Hold,
    /// Every request of HTTP goes through this.
    pub gate: Gate,
    /// The cluster that this node belongs to.
    pub cluster: Arc<dyn Cluster>,
}

pub struct Shared {
    pub config: Config,
    pub admission: Arc<Admission>,
    pub metrics: Metrics,
    /// The counters of the Redis listener, where there is one.
    pub redis: Arc<Counts>,
    pub ring: Ring,
    /// With one, the server answers a browser that brings its code, and nobody without a key.
    pub invitation: Option<Invitation>,
    pub turns: Turns,
    pub shares: Arc<Shares>,
    pub passwords: Passwords,
    pub audit: Arc<Book>,
    /// Streams of notifications of the Model Context Protocol.
    pub notified: Arc<Streams>,
    /// Set once the folder is open.
    database: OnceLock<Database>,
    /// Set before anybody is answered, where answers are held.
    hold: OnceLock<Hold>,
    gate: OnceLock<Gate>,
    cluster: OnceLock<Arc<dyn Cluster>>,
    stopping: watch::Sender<bool>,
}

impl Shared {
    pub fn new(config: Config, folder: &Path, ring: Ring, invitation: Option<Invitation>) -> Arc<Self> {
        let admission = Arc::new(Admission::new(&config));
        // One tenant's requests leave a quarter of the places to others.
        let waiting_max = (config.requests_max - config.requests_max / 4).max(1);
        let shares = Shares::new(config.workers, LONG_CALLS, waiting_max);
        let (database, hold, stopping) = (OnceLock::new(), OnceLock::new(), watch::Sender::new(false));
        Arc::new(Self {
            config,
            admission,
            metrics: Metrics::default(),
            redis: Arc::default(),
            ring,
            invitation,
            turns: Turns::default(),
            shares,
            passwords: Passwords::default(),
            audit: Book::of(folder),
            notified: Arc::default(),
            database,
            hold,
            gate: OnceLock::new(),
            cluster: OnceLock::new(),
            stopping,
        })
    }

    /// From here on requests are answered.
    pub fn ready(&self, database: Database) {
        self.database.set(database).ok().expect("the folder is opened once");
    }

    /// From here on it is a node of a cluster.
    pub fn join(&self, hold: Hold, gate: Gate, cluster: Arc<dyn Cluster>) {
        self.hold.set(hold).ok().expect("a server joins once");
        self.gate.set(gate).ok().expect("a server joins once");
        self.cluster.set(cluster).ok().expect("a server joins once");
    }

    /// Returns the gate that requests pass through first.
    pub fn gate(&self) -> Option<&Gate> {
        self.gate.get()
    }

    /// The cluster that it is a node of.
    pub fn cluster(&self) -> Option<&Arc<dyn Cluster>> {
        self.cluster.get()
    }

    /// Returns the condition that answers wait for.
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.get()
    }

    /// From here on the server says that it is not ready, so that nobody sends more.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Over when the server has been told to stop.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut word = self.stopping.subscribe();
        async move {
            // An error means that nobody is left to say it.
            while !*word.borrow_and_update() && word.changed().await.is_ok() {}
        }
    }

    /// # Errors
    /// 503 while the folder is being opened.
    pub fn database(&self) -> Result<&Database, Problem> {
        self.database.get().ok_or_else(|| Problem::unavailable("the data folder is being opened"))
    }

    /// # Errors
    /// 503 while the folder is being opened, and once the server has been told to stop.
    pub fn readiness(&self) -> Result<(), Problem> {
        match *self.stopping.borrow() {
            true => Err(Problem::unavailable("the server is stopping")),
            false => self.database().map(drop),
        }
    }

    /// Whether a request needs a key.
    ///
    /// # Errors
    /// Those of reading the file of keys.
    pub fn wants_keys(&self) -> EngineResult<bool> {
        match self.config.auth {
            _ if self.invitation.is_some() => Ok(true),
            Auth::Keys => Ok(true),
            Auth::None => Ok(false),
            Auth::Auto => self.ring.has_keys(),
        }
    }
}
