//! Redis clients at the same door: a password is one of the server's keys, or that of a key's user.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_link::{Database, Error, Result as EngineResult};
use nuthatch_resp::{Gate, Grant, HoldReplies, Pass, Refused, Scopes, Server, Settings, Stream, Tenant, Turn, Wrap};
use parking_lot::Mutex;
use rustls::{ServerConnection, StreamOwned};
use tracing::error;

use crate::access::{Key, Scope, Slot, TENANT_DEFAULT, Turn as Counted, Verdict, Work};
use crate::audit::{Entry, Outcome, Who};
use crate::caller::database_of;
use crate::clock;
use crate::listener::Tls;
use crate::low_priority::LowPriority;
use crate::shared::Shared;

/// The user of a client that gives a password alone.
const USER_DEFAULT: &str = "default";

/// Begins to serve. The folder is open.
///
/// # Errors
/// `Internal` when the system gives no thread.
pub fn start(listener: TcpListener, tls: Option<Arc<Tls>>, shared: &Arc<Shared>) -> EngineResult<Server> {
    let settings = Settings {
        durability: shared.config.redis_durability,
        connections_max: shared.config.connections_max,
        input_bytes_max: usize::try_from(shared.config.bodies_memory_bytes).unwrap_or(usize::MAX),
        stalled_after: shared.config.body_timeout,
        counts: shared.redis.clone(),
        hold: shared.hold().cloned().map(|hold| {
            let runtime = tokio::runtime::Handle::current();
            HoldReplies::new(move || runtime.block_on(hold()))
        }),
        ..Settings::default()
    };
    let gate = Arc::new(KeyGate { shared: shared.clone(), tenants: Mutex::default() });
    let wrap: Box<Wrap> = match tls {
        None => Box::new(|socket| Ok(Box::new(socket))),
        Some(tls) => Box::new(move |socket| {
            let connection = ServerConnection::new(tls.for_redis()).map_err(io::Error::other)?;
            Ok(Box::new(Encrypted(StreamOwned::new(connection, socket))))
        }),
    };
    Server::start_wrapped(listener, gate, settings, wrap)
        .map_err(|error| Error::internal(format!("starting the Redis listener: {error}")))
}

/// Lets in who has a key; everybody, where none is needed.
struct KeyGate {
    shared: Arc<Shared>,
    /// The state that the connections of a tenant share, by its name.
    tenants: Mutex<HashMap<String, Arc<Tenant>>>,
}

impl KeyGate {
    /// `key`: none where nobody needs one.
    fn grant(&self, from: SocketAddr, user: &str, key: Option<Arc<Key>>) -> Result<Grant, Refused> {
        let refused = |error: Error| {
            error!(kind = error.kind.name(), "cannot authenticate a Redis client: {error}");
            Refused::Wrong
        };
        let (tenant, scopes) = match &key {
            None => (TENANT_DEFAULT, Scopes::ALL),
            Some(key) => {
                let allows = |scope| key.scopes.allow(scope);
                let (read, write, admin) = (allows(Scope::Read), allows(Scope::Write), allows(Scope::Admin));
                (key.tenant.as_str(), Scopes { read, write, admin })
            }
        };
        let all = self.shared.database().map_err(|_| Refused::Wrong)?;
        let database = database_of(all, tenant, key.as_deref()).map_err(refused)?;
        let pass = KeyPass {
            shared: self.shared.clone(),
            from,
            key: key.clone(),
            database: database.clone(),
            tenant: tenant.into(),
        };
        let mut tenants = self.tenants.lock();
        let tenant = match tenants.get(tenant) {
            // A tenant that was dropped and created again keeps nothing.
            Some(known) if known.is_there() => known.clone(),
            _ => {
                let made = Tenant::new(database);
                tenants.insert(tenant.to_string(), made.clone());
                made
            }
        };
        drop(tenants);
        Ok(Grant { user: user.to_string(), tenant, scopes, pass: Some(Arc::new(pass)) })
    }

    /// The key that this is the token or the password of.
    fn find(&self, from: SocketAddr, user: &str, password: &[u8]) -> EngineResult<Result<Arc<Key>, Refused>> {
        let (ring, now) = (&self.shared.ring, clock::now());
        let by_token = std::str::from_utf8(password).ok().map(|token| ring.find(token, now)).transpose()?.flatten();
        if let Some(key) = by_token {
            let is_its_user = [USER_DEFAULT, &key.id, &key.tenant].contains(&user);
            return Ok(if is_its_user { Ok(key) } else { Err(Refused::Wrong) });
        }
        if Key::is_like_a_token(password) || !ring.has_users()? {
            return Ok(Err(Refused::Wrong));
        }
        let key = ring.find_user(user, now)?;
        let hash = key.as_ref().and_then(|key| key.argon2id.as_deref());
        Ok(match (self.shared.passwords.check(hash, password, from.ip(), Instant::now()), key) {
            (Verdict::Right, Some(key)) => Ok(key),
            (Verdict::TooMany, _) => Err(Refused::TooMany),
            _ => Err(Refused::Wrong),
        })
    }
}

impl KeyGate {
    /// In the audit log, within its budget for those who do not run the server. A user is named only if there is one of that name: what is
    /// typed there may be a password.
    fn note_refused(&self, from: SocketAddr, user: &str, why: Refused) {
        let is_one = user == USER_DEFAULT || matches!(self.shared.ring.find_user(user, clock::now()), Ok(Some(_)));
        let who = Who { address: Some(from.to_string()), ..Who::default() };
        let kind = match why {
            Refused::Wrong => "wrongpass",
            Refused::TooMany => "limit",
        };
        let entry = Entry::new("redis", who, "redis.auth", if is_one { user } else { "" });
        self.shared.audit.note(entry.ended(Outcome::Refused, kind), false);
    }
}

impl Gate for KeyGate {
    fn stranger(&self, from: SocketAddr) -> Option<Grant> {
        match self.shared.wants_keys() {
            Ok(false) => self.grant(from, USER_DEFAULT, None).ok(),
            Ok(true) | Err(_) => None,
        }
    }

    fn authenticate(&self, from: SocketAddr, user: &str, password: &[u8]) -> Result<Grant, Refused> {
        let found = self.find(from, user, password).unwrap_or_else(|error| {
            error!(kind = error.kind.name(), "the keys cannot be read: {error}");
            Err(Refused::Wrong)
        });
        let granted = found.and_then(|key| self.grant(from, user, Some(key)));
        granted.inspect_err(|why| self.note_refused(from, user, *why))
    }
}

/// Checks and accounts for a key, command by command.
struct KeyPass {
    shared: Arc<Shared>,
    from: SocketAddr,
    /// `None`: nobody needed one when the connection came.
    key: Option<Arc<Key>>,
    database: Database,
    tenant: String,
}

/// A command under way: counted, and in its tenant's share.
struct UnderWay {
    _low_priority: Option<LowPriority>,
    _counted: Option<Counted>,
    _place: Slot,
}

impl Pass for KeyPass {
    fn holds(&self) -> bool {
        let holds = match &self.key {
            Some(key) => self.shared.ring.holds(key, clock::now()),
            None => self.shared.wants_keys().map(|wants| !wants),
        };
        holds.unwrap_or_else(|error| {
            error!(kind = error.kind.name(), "the keys cannot be read: {error}");
            false
        })
    }

    fn begin(&self, writes: bool) -> Result<Turn, String> {
        let counted = match self.tenant.as_str() {
            TENANT_DEFAULT => None,
            tenant => {
                let limits = self.database.limits().map_err(|error| error.message)?;
                self.shared.turns.begin(tenant, &limits, Instant::now()).map_err(|problem| problem.detail)?
            }
        };
        let work = if writes { Work::Write } else { Work::Read };
        let entered = self.shared.shares.enter(&self.tenant, work, Instant::now()).map_err(|problem| problem.detail)?;
        let place = entered.wait_blocking();
        let low_priority = place.gives_way().then(LowPriority::begin).flatten();
        Ok(Some(Box::new(UnderWay { _low_priority: low_priority, _counted: counted, _place: place })))
    }

    fn note(&self, action: &str, target: &str, failed: Option<&str>) {
        let who = Who {
            name: self.key.as_ref().map(|key| key.name.clone()).unwrap_or_default(),
            key: self.key.as_ref().map(|key| key.id.clone()),
            tenant: Some(self.tenant.clone()),
            address: Some(self.from.to_string()),
        };
        let mut entry = Entry::new("redis", who, action, target);
        if let Some(code) = failed {
            let outcome = if code == "NOPERM" { Outcome::Refused } else { Outcome::Failed };
            entry = entry.ended(outcome, &code.to_ascii_lowercase());
        }
        let administers = self.key.as_ref().is_none_or(|key| key.scopes.allow(Scope::Admin));
        self.shared.audit.note(entry, administers && self.tenant == TENANT_DEFAULT);
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
