//! The served side: connections to one holder, kept for the next call.

use std::collections::HashMap;
use std::path::PathBuf;

use nuthatch_engine::lock::Holder;
use parking_lot::Mutex;

use crate::connection::Connection;
use crate::limits::NoAnswer;
use crate::request::ToHolder;

/// Idle connections that are kept.
const IDLE_MAX: usize = 64;

/// The connections to one holder.
pub(crate) struct Client {
    pub holder: Holder,
    folder: PathBuf,
    program: String,
    idle: Mutex<Vec<Connection>>,
    /// Each keeps a snapshot there in the holder.
    tethers: Mutex<HashMap<u128, Connection>>,
    pid: u32,
}

impl Client {
    pub fn connect(folder: PathBuf, holder: Holder, program: String) -> std::result::Result<Self, NoAnswer> {
        let client = Self {
            holder,
            folder,
            program,
            idle: Mutex::default(),
            tethers: Mutex::default(),
            pid: std::process::id(),
        };
        let first = client.new_session()?;
        client.keep(first);
        Ok(client)
    }

    /// A connection with a session that nobody else uses.
    pub fn take(&self) -> std::result::Result<Connection, NoAnswer> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.new_session(), Ok)
    }

    /// A connection that continues this session, whose next request has this number.
    pub fn resume(&self, session: &str, next: u64) -> std::result::Result<Connection, NoAnswer> {
        Connection::open(&self.folder, &self.holder, &self.program, session.to_string(), next)
    }

    /// Keeps a connection for the next call.
    pub fn keep(&self, mut connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        } else {
            // When it cannot be told it is gone, and so is the connection.
            connection.tell(&ToHolder::Goodbye).ok();
        }
    }

    /// Keeps a connection for the snapshot that it took, until that is let go.
    pub fn hold(&self, snapshot: u128, connection: Connection) {
        self.tethers.lock().insert(snapshot, connection);
    }

    /// Tells the holder that a snapshot is not needed any more.
    pub fn let_go(&self, snapshot: u128) {
        let tether = self.tethers.lock().remove(&snapshot);
        // When the holder cannot be told it is gone, and the snapshot with it.
        if let Some(mut connection) = tether
            && connection.tell(&ToHolder::LetGo { snapshot }).is_ok()
        {
            self.keep(connection);
        }
    }

    /// Tells the holder to stop working on a request.
    pub fn cancel(&self, session: &str, number: u64) {
        // When the holder cannot be told, the wait for the answer ends by itself.
        if let Ok(mut connection) = self.take()
            && connection.tell(&ToHolder::Cancel { session: session.to_string(), number }).is_ok()
        {
            self.keep(connection);
        }
    }

    fn new_session(&self) -> std::result::Result<Connection, NoAnswer> {
        self.resume(&uuid::Uuid::new_v4().simple().to_string(), 1)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A fork shares the connections with the process that uses them.
        if self.pid == std::process::id() {
            let tethers = self.tethers.get_mut().drain().map(|(_, connection)| connection);
            for mut connection in self.idle.get_mut().drain(..).chain(tethers) {
                connection.tell(&ToHolder::Goodbye).ok(); // what is not told is forgotten by age
            }
        }
    }
}
