//! Ties a snapshot in the holder to the connection that took it.

use std::sync::{Arc, Weak};

use crate::client::Client;
use crate::connection::Connection;

/// Keeps the connection that took a snapshot for that snapshot alone. The holder releases the snapshot when the tether
/// is dropped, or when the connection ends with the client or its process.
pub(crate) struct Tether {
    client: Weak<Client>,
    snapshot: u128,
    pid: u32,
}

impl Tether {
    /// Of the connection that took the snapshot.
    pub fn hold(client: &Arc<Client>, snapshot: u128, connection: Connection) -> Self {
        client.hold(snapshot, connection);
        Self { client: Arc::downgrade(client), snapshot, pid: std::process::id() }
    }

    /// Returns the client that asks the holder at the other end.
    pub fn client(&self) -> Weak<Client> {
        self.client.clone()
    }
}

impl Drop for Tether {
    fn drop(&mut self) {
        // A fork shares the connection with the process whose snapshot it is.
        if self.pid == std::process::id()
            && let Some(client) = self.client.upgrade()
        {
            client.let_go(self.snapshot);
        }
    }
}
