//! The caller of a request, and what this crate needs from the server around it.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

use nuthatch_link::{
    CollectionInfo, CollectionOptions, Database, KeptSnapshots, Owner, Result as EngineResult, Search,
};
use serde_json::Value;
use tonic::{Request, Status};

/// The access that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Reads the tenant's data.
    Read,
    /// Changes the tenant's data.
    Write,
    /// The whole database, of all tenants.
    Operate,
}

/// A call of several steps that has begun; it is over when this is dropped.
pub struct Begun {
    /// The tenant's data.
    pub database: Database,
    /// Holds the resources of the call until it is over, and ends its reads when dropped.
    pub turn: Box<dyn Any + Send + Sync>,
}

/// Somebody who has been let in. The server puts one into the extensions of each request.
///
/// The JSON of searches and options is the server's, so that they read the same through every door.
pub trait Caller: Clone + Send + Sync + 'static {
    /// Whose the snapshots are that they take.
    fn owner(&self) -> Owner;

    /// The name of their key, for people.
    fn key_name(&self) -> Option<String>;

    /// The snapshots that are kept for clients.
    ///
    /// # Errors
    /// `UNAVAILABLE` while the folder is being opened.
    fn kept_snapshots(&self) -> Result<Arc<KeptSnapshots>, Status>;

    /// The same caller, about to do what takes this scope.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` when they may not.
    fn allowed(&self, scope: Scope) -> Result<Self, Status>;

    /// Runs a call of the engine on a thread that may block. It counts as one request of the caller's tenant. Its reads
    /// end when the client's time is up, and when the returned future is dropped.
    ///
    /// # Errors
    /// Its own; `RESOURCE_EXHAUSTED` when the tenant asks too often or too much at a time.
    fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Status>> + Send;

    /// Tells the audit log what is about to be done, and to what: it is noted however it ends, also when the caller may not.
    ///
    /// # Errors
    /// `UNAVAILABLE` while the log cannot be written.
    fn act(&self, action: &str, target: &str) -> impl Future<Output = Result<(), Status>> + Send;

    /// Begins a call of several steps, which counts as one request.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    fn begin(&self) -> impl Future<Output = Result<Begun, Status>> + Send;

    /// A step of a call that has begun, on a thread that may block.
    ///
    /// # Errors
    /// Its own.
    fn step<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Status>> + Send;

    /// The oldest message of the request that was read needs no memory any more.
    fn release(&self);

    /// Over when the server is about to stop: streams that wait for their client end.
    fn stopping(&self) -> impl Future<Output = ()> + Send;

    /// A search as the HTTP interface reads it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the name of the wrong part.
    fn search(&self, question: Value) -> Result<Search, Status>;

    /// The options of a new collection as the HTTP interface reads them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the name of the wrong part.
    fn options(&self, options: Value) -> Result<CollectionOptions, Status>;

    /// Describes a collection and its contents, as the HTTP interface writes it.
    fn describe(&self, info: CollectionInfo) -> Value;

    /// Statistics of everything, as the HTTP interface writes them.
    fn statistics(&self, stats: nuthatch_link::Stats) -> Value;
}

/// The caller of a request.
///
/// # Errors
/// `INTERNAL` when nobody has put one in; `PERMISSION_DENIED` when they may not.
pub fn allowed<C: Caller, T>(request: &Request<T>, scope: Scope) -> Result<C, Status> {
    identified::<C, T>(request)?.allowed(scope)
}

/// The same, whatever they may do.
///
/// # Errors
/// `INTERNAL` when nobody has put one in.
pub fn identified<C: Caller, T>(request: &Request<T>) -> Result<C, Status> {
    request.extensions().get::<C>().cloned().ok_or_else(|| Status::internal("a request without a caller"))
}
