//! The state that all connections share, and the streams that they read from.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::clients::Clients;
use crate::gate::Gate;
use crate::settings::Settings;

/// The stream that a connection reads from and writes to: a socket, or TLS over one.
pub trait Stream: Read + Write + Send {
    /// Reads end with an error after this time without a byte; `None`: never.
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        TcpStream::set_read_timeout(self, timeout)
    }
}

/// The state that all connections share.
pub(crate) struct Shared {
    pub gate: Arc<dyn Gate>,
    pub settings: Settings,
    pub clients: Clients,
    pub address: SocketAddr,
    pub started: Instant,
    pub stopping: AtomicBool,
}

impl Shared {
    pub fn new(gate: Arc<dyn Gate>, settings: Settings, address: SocketAddr) -> Arc<Self> {
        let (clients, stopping) = (Clients::default(), AtomicBool::new(false));
        Arc::new(Self { gate, settings, clients, address, started: Instant::now(), stopping })
    }
}
