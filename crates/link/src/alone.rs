//! Where the standard library has no Unix sockets: no process is served, and the second one is refused by name.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::database::Database;
use nuthatch_engine::lock::Holder;

use crate::limits::NoAnswer;
use crate::meanwhile::Meanwhile;
use crate::request::Encoded;
use crate::tethered::Keeper;

pub(crate) const SOCKET: &str = "SOCKET";

pub(crate) struct Server;

impl Server {
    pub fn start(_db: &Database, _folder: &Path, _keeper: Arc<dyn Keeper>) -> std::io::Result<Self> {
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "this system has no Unix sockets"))
    }
}

pub(crate) struct Client {
    pub holder: Holder,
    never: Infallible,
}

pub(crate) struct Connection {
    pub session: String,
    pub next: u64,
    never: Infallible,
}

impl Client {
    pub fn connect(_: PathBuf, _: Holder, _: String) -> std::result::Result<Self, NoAnswer> {
        Err(NoAnswer::Broken)
    }

    pub fn take(&self) -> std::result::Result<Connection, NoAnswer> {
        match self.never {}
    }

    pub fn resume(&self, _: &str, _: u64) -> std::result::Result<Connection, NoAnswer> {
        match self.never {}
    }

    pub fn keep(&self, _: Connection) {
        match self.never {}
    }

    pub fn cancel(&self, _: &str, _: u64) {
        match self.never {}
    }

    pub fn hold(&self, _: u128, _: Connection) {
        match self.never {}
    }

    pub fn let_go(&self, _: u128) {
        match self.never {}
    }
}

impl Connection {
    pub fn exchange(
        &mut self,
        _: &[u8],
        _: &mut Meanwhile<'_>,
        _: impl Fn(),
    ) -> std::result::Result<Result<Encoded>, NoAnswer> {
        match self.never {}
    }
}
