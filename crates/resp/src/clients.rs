//! The connections there are: for CLIENT, for the cap, and for ending them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::gate::Grant;
use crate::protocol::Protocol;

/// All connections of a server.
#[derive(Default)]
pub(crate) struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    gone: Condvar,
    next: AtomicU64,
    /// Bytes that half commands take, over all connections.
    pub input_bytes: AtomicUsize,
}

/// One connection as others see it.
pub(crate) struct Client {
    /// Among all connections of the server; others know it by the number that its tenant has given it.
    pub place: u64,
    pub address: SocketAddr,
    pub local: SocketAddr,
    since: Instant,
    socket: TcpStream,
    killed: AtomicBool,
    pub about: Mutex<About>,
}

/// A client's description of itself, and its current state.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub name: String,
    pub library: String,
    pub library_version: String,
    pub user: String,
    /// Its number among the tenant's connections; 0 before it is a tenant's.
    pub id: u64,
    /// Which tenant, by the address of what its connections share.
    tenant: Option<usize>,
    pub database: usize,
    pub protocol: Protocol,
    pub command: &'static str,
    /// Commands queued by MULTI; -1 outside of one.
    pub queued: i64,
    pub watched: usize,
    pub last: Instant,
}

impl Clients {
    /// Adds a connection, unless there are already `most`.
    pub fn add(&self, socket: TcpStream, most: usize) -> std::io::Result<Option<Arc<Client>>> {
        let (address, local) = (socket.peer_addr()?, socket.local_addr()?);
        let now = Instant::now();
        let mut all = self.all.lock();
        if all.len() >= most {
            return Ok(None);
        }
        let about = About {
            name: String::new(),
            library: String::new(),
            library_version: String::new(),
            user: "default".into(),
            id: 0,
            tenant: None,
            database: 0,
            protocol: Protocol::Two,
            command: "NULL",
            queued: -1,
            watched: 0,
            last: now,
        };
        let place = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Arc::new(Client {
            place,
            address,
            local,
            since: now,
            socket,
            killed: AtomicBool::new(false),
            about: Mutex::new(about),
        });
        all.insert(place, client.clone());
        Ok(Some(client))
    }

    pub fn remove(&self, place: u64) {
        self.all.lock().remove(&place);
        self.gone.notify_all();
    }

    pub fn all(&self) -> Vec<Arc<Client>> {
        self.all.lock().values().cloned().collect()
    }

    /// The connections of one tenant, as far as another of it may know, in the order of their numbers.
    pub fn of_tenant(&self, of: &Client) -> Vec<Arc<Client>> {
        let tenant = of.about.lock().tenant;
        let mut all = self.all();
        // One that was killed is gone for others, though its thread may not have noticed yet.
        all.retain(|client| !client.killed.load(Ordering::Relaxed) && client.about.lock().tenant == tenant);
        all.sort_by_key(|client| client.id());
        all
    }

    pub fn count(&self) -> usize {
        self.all.lock().len()
    }

    /// Waits until none is left; false when the time ran out first.
    pub fn wait_for_none(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        let mut all = self.all.lock();
        while !all.is_empty() {
            if self.gone.wait_until(&mut all, until).timed_out() {
                return all.is_empty();
            }
        }
        true
    }
}

impl Client {
    /// Notes who it is. Where that is another tenant than before, it gets a number of that one.
    pub fn belongs_to(&self, grant: Option<&Grant>) {
        let mut about = self.about.lock();
        about.user = grant.map_or_else(|| "default".into(), |grant| grant.user.clone());
        let tenant = grant.map(|grant| Arc::as_ptr(&grant.tenant) as usize);
        if about.tenant != tenant {
            about.id = grant.map_or(0, |grant| grant.tenant.number_connection());
            about.tenant = tenant;
        }
    }

    /// Its number among its tenant's connections.
    pub fn id(&self) -> u64 {
        self.about.lock().id
    }

    /// How long ago it came.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Ends it at once.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        // It may have ended by itself.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Whether the client has hung up, or was made to. Only its own thread may ask.
    pub fn is_gone(&self) -> bool {
        let looked = self.socket.set_nonblocking(true).and_then(|()| self.socket.peek(&mut [0]));
        let still = self.socket.set_nonblocking(false);
        self.killed.load(Ordering::Relaxed)
            || still.is_err()
            || !matches!(looked, Ok(1..)) && !looked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Lets it end with what it has sent so far.
    pub fn drain(&self) {
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// The line of CLIENT LIST.
    pub fn line(&self) -> String {
        let about = self.about.lock().clone();
        let flags = match (about.queued >= 0, about.watched) {
            (true, _) => "x",
            (false, 0) => "N",
            (false, _) => "d",
        };
        format!(
            "id={} addr={} laddr={} name={} age={} idle={} flags={flags} db={} sub=0 psub=0 ssub=0 multi={} watch={} cmd={} user={} \
             redir=-1 resp={} lib-name={} lib-ver={}",
            about.id,
            self.address,
            self.local,
            about.name,
            self.since.elapsed().as_secs(),
            about.last.elapsed().as_secs(),
            about.database,
            about.queued,
            about.watched,
            about.command.to_lowercase(),
            about.user,
            if about.protocol == Protocol::Three { 3 } else { 2 },
            about.library,
            about.library_version,
        )
    }
}
