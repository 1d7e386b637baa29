//! Redis clients at the same door: their users and passwords are the server's keys.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use nuthatch_engine::{Error, Result as EngineResult};
use nuthatch_resp::{Gate, Grant, Refused, Scopes, Server, Settings, Stream, Tenant, Wrap};
use parking_lot::Mutex;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tracing::error;

use crate::access::{Scope, TENANT_DEFAULT};
use crate::caller::database_of;
use crate::shared::Shared;

/// The user of a client that gives a password alone.
const USER_DEFAULT: &str = "default";

/// Begins to serve. The folder is open.
///
/// # Errors
/// `Internal` when the system gives no thread.
pub fn start(listener: TcpListener, tls: Option<Arc<ServerConfig>>, shared: &Arc<Shared>) -> EngineResult<Server> {
    let settings = Settings {
        connections_max: shared.config.connections_max,
        input_bytes_max: usize::try_from(shared.config.bodies_memory_bytes).unwrap_or(usize::MAX),
        stalled_after: shared.config.body_timeout,
        ..Settings::default()
    };
    let gate = Arc::new(KeyGate { shared: shared.clone(), tenants: Mutex::default() });
    let wrap: Box<Wrap> = match tls {
        None => Box::new(|socket| Ok(Box::new(socket))),
        Some(config) => Box::new(move |socket| {
            let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
            Ok(Box::new(Encrypted(StreamOwned::new(connection, socket))))
        }),
    };
    Server::start_wrapped(listener, gate, settings, wrap)
        .map_err(|error| Error::internal(format!("starting the Redis listener: {error}")))
}

/// Lets in who has a key; everybody, where none is needed.
struct KeyGate {
    shared: Arc<Shared>,
    /// What the connections of a tenant share, by its name and when it was made: of a tenant that was dropped and made anew, nothing
    /// is left over.
    tenants: Mutex<HashMap<(String, String), Arc<Tenant>>>,
}

impl KeyGate {
    fn grant(&self, user: &str, tenant: &str, scopes: Scopes) -> Result<Grant, Refused> {
        let refused = |error: Error| {
            error!(kind = error.kind.name(), "a Redis client cannot be let in: {error}");
            Refused
        };
        let all = self.shared.database().map_err(|_| Refused)?;
        let created = match tenant {
            TENANT_DEFAULT => String::new(),
            tenant => all.tenant_info(tenant).map_err(refused)?.created,
        };
        let database = database_of(all, tenant).map_err(refused)?;
        let place = (tenant.to_string(), created);
        let tenant = self.tenants.lock().entry(place).or_insert_with(|| Tenant::new(database)).clone();
        Ok(Grant { user: user.to_string(), tenant, scopes })
    }
}

impl Gate for KeyGate {
    fn stranger(&self) -> Option<Grant> {
        match self.shared.wants_keys() {
            Ok(false) => self.grant(USER_DEFAULT, TENANT_DEFAULT, Scopes::ALL).ok(),
            Ok(true) | Err(_) => None,
        }
    }

    fn authenticate(&self, user: &str, password: &[u8]) -> Result<Grant, Refused> {
        let token = std::str::from_utf8(password).map_err(|_| Refused)?;
        let found = self.shared.ring.find(token, Timestamp::now()).map_err(|error| {
            error!(kind = error.kind.name(), "the keys cannot be read: {error}");
            Refused
        })?;
        let key = found.filter(|key| [USER_DEFAULT, &key.id, &key.tenant].contains(&user)).ok_or(Refused)?;
        let allows = |scope| key.scopes.allow(scope);
        let scopes = Scopes { read: allows(Scope::Read), write: allows(Scope::Write), admin: allows(Scope::Admin) };
        self.grant(user, &key.tenant, scopes)
    }
}

/// TLS over a socket.
struct Encrypted(StreamOwned<ServerConnection, TcpStream>);

impl Read for Encrypted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Encrypted {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.sock.set_read_timeout(timeout)
    }
}
