//! The listener: takes connections in, and ends them all when it stops.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use crate::commands::TABLE;
use crate::connection;
use crate::gate::Gate;
use crate::protocol::{Protocol, Reply};
use crate::settings::Settings;
use crate::shared::{Shared, Stream};

/// How long a listener that cannot take a connection in waits before it tries again.
const BREATH: Duration = Duration::from_millis(50);

/// Makes of an accepted socket what is spoken over.
pub type Wrap = dyn Fn(TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync;

/// Serves the protocol on a listener, in threads of its own, until it is stopped or dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Begins to serve.
    pub fn start(listener: TcpListener, gate: Arc<dyn Gate>, settings: Settings) -> io::Result<Self> {
        Self::start_wrapped(listener, gate, settings, Box::new(|socket| Ok(Box::new(socket))))
    }

    /// The same over TLS, or over whatever `wrap` makes of a socket. It is called on the connection's own thread.
    pub fn start_wrapped(
        listener: TcpListener,
        gate: Arc<dyn Gate>,
        settings: Settings,
        wrap: Box<Wrap>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        settings.counts.know(TABLE.iter().map(|spec| spec.name));
        let shared = Shared::new(gate, settings, address);
        let listening = {
            let (shared, wrap) = (shared.clone(), Arc::from(wrap));
            std::thread::Builder::new()
                .name("nuthatch-redis".into())
                .spawn(move || listen(&listener, &shared, &wrap))?
        };
        Ok(Self { shared, address, listening: Mutex::new(Some(listening)) })
    }

    /// Where it listens, with the port that the system chose if port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections there are.
    pub fn connections(&self) -> usize {
        self.shared.clients.count()
    }

    /// Takes no connection in any more, lets each finish what it has sent, and ends those that take longer than `grace`. When it
    /// returns, no command is running. Calling it again does nothing.
    pub fn stop(&self, grace: Duration) {
        let Some(listening) = self.listening.lock().take() else { return };
        self.shared.stopping.store(true, Ordering::SeqCst);
        // It waits for a connection: here is one. Where that fails, the listener is gone already.
        let _ = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
        let _ = listening.join();
        let clients = &self.shared.clients;
        clients.all().iter().for_each(|client| client.drain());
        if !clients.wait_for_none(grace) {
            clients.all().iter().for_each(|client| client.kill());
            // A command under way ends by itself.
            while !clients.wait_for_none(Duration::from_secs(1)) {}
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>, wrap: &Arc<Wrap>) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((socket, _)) => {
                if take_in(socket, shared, wrap).is_err() {
                    std::thread::sleep(BREATH);
                }
            }
            // Out of file handles, mostly: some will be free again.
            Err(_) => std::thread::sleep(BREATH),
        }
    }
}

fn take_in(mut socket: TcpStream, shared: &Arc<Shared>, wrap: &Arc<Wrap>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(shared.settings.stalled_after))?;
    let Some(client) = shared.clients.add(socket.try_clone()?, shared.settings.connections_max)? else {
        shared.settings.counts.refuse();
        let mut refusal = Vec::new();
        Reply::Error("ERR max number of clients reached".into()).write(Protocol::Two, &mut refusal);
        return socket.write_all(&refusal);
    };
    shared.settings.counts.came();
    let place = client.place;
    let thread = {
        let (shared, wrap) = (shared.clone(), wrap.clone());
        let leave = Leave { shared: shared.clone(), place };
        std::thread::Builder::new().name(format!("nuthatch-redis-{place}")).spawn(move || {
            let _leave = leave;
            if let Ok(stream) = wrap(socket) {
                connection::serve(&shared, client, stream);
            }
        })
    };
    thread.map(drop)
}

/// A connection is gone when its thread is, however that ends.
struct Leave {
    shared: Arc<Shared>,
    place: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.shared.settings.counts.left();
        self.shared.clients.remove(self.place);
    }
}

/// Where a listener on all addresses can be reached from this machine.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
