//! TLS for a driver that has none of its own: a listener on loopback for each node, whose connections go on encrypted.
//!
//! The driver's TLS brings a second library of cryptography into every program of the workspace. So it speaks plainly to this
//! process itself, and this process speaks TLS to the node.
//!
//! **Invariant:** only sockets of this process's user are taken, as Linux says; else another user of the machine would go through
//! with this node's certificate. Where the system does not say whose a socket is, there is no TLS.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use nuthatch_cluster::{ClusterError, Result};
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use scylla::errors::TranslationError;
use scylla::policies::address_translator::{AddressTranslator, UntranslatedPeer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;

use crate::address::Settings;
use crate::connection::CONNECT_TIMEOUT;

/// The tunnels of one connection.
#[derive(Clone)]
pub struct Tunnels {
    inner: Arc<Inner>,
}

struct Inner {
    connector: TlsConnector,
    runtime: Handle,
    /// Nodes that were named: by a host, which stands in the certificate, and a port.
    named: Mutex<HashMap<IpAddr, (ServerName<'static>, u16)>>,
    /// Of those that the others name, which say no port.
    port: AtomicU16,
    open: Mutex<HashMap<SocketAddr, SocketAddr>>,
}

impl Tunnels {
    /// `None` without TLS.
    ///
    /// # Errors
    /// `Invalid` for certificates that cannot be used.
    pub fn of(settings: &Settings, runtime: Handle) -> Result<Option<Self>> {
        let Some(authorities) = &settings.authorities else { return Ok(None) };
        if !cfg!(target_os = "linux") {
            let what = "NUTHATCH_CASSANDRA_CA: TLS to Cassandra needs Linux; put a tunnel of your own beside this node";
            return Err(ClusterError::Invalid(what.into()));
        }
        let refused = |path: &std::path::Path| {
            let path = path.display().to_string();
            move |error: &dyn std::fmt::Display| ClusterError::Invalid(format!("{path} cannot be used: {error}"))
        };
        let certificates = |path: &std::path::Path| -> Result<Vec<CertificateDer<'static>>> {
            let failed = refused(path);
            let found = CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?;
            let found = found.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
            match found.is_empty() {
                true => Err(failed(&"it has no certificate")),
                false => Ok(found),
            }
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities)? {
            roots.add(certificate).map_err(|error| refused(authorities)(&error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| refused(authorities)(&error))?.with_root_certificates(roots);
        let config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| refused(key)(&error))?;
                builder.with_client_auth_cert(chain, secret).map_err(|error| refused(certificate)(&error))?
            }
        };
        let connector = TlsConnector::from(Arc::new(config));
        let (named, port, open) = (Mutex::default(), AtomicU16::new(0), Mutex::default());
        Ok(Some(Self { inner: Arc::new(Inner { connector, runtime, named, port, open }) }))
    }

    /// Where the driver reaches a node that was named by its host.
    pub async fn to_host(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let mut found = Vec::new();
        self.inner.port.store(port, Ordering::Relaxed);
        for node in tokio::net::lookup_host((host, port)).await? {
            let name = ServerName::try_from(host.to_string()).map_err(std::io::Error::other)?;
            self.inner.named.lock().insert(node.ip(), (name, port));
            found.push(self.to(node).await?);
        }
        Ok(found)
    }

    async fn to(&self, node: SocketAddr) -> std::io::Result<SocketAddr> {
        if let Some(open) = self.inner.open.lock().get(&node) {
            return Ok(*open);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let own = listener.local_addr()?;
        // Another task may have been faster; its tunnel is as good.
        let known = *self.inner.open.lock().entry(node).or_insert(own);
        if known == own {
            let inner = Arc::downgrade(&self.inner);
            self.inner.runtime.spawn(async move {
                while let Ok((stream, peer)) = listener.accept().await {
                    let Some(inner) = inner.upgrade() else { return };
                    if is_own(peer, own) {
                        tokio::spawn(async move { inner.carry(stream, node).await });
                    }
                }
            });
        }
        Ok(known)
    }
}

impl Inner {
    /// Any error ends the connection, and the driver reports that.
    async fn carry(&self, mut plain: TcpStream, node: SocketAddr) -> Option<()> {
        let named = self.named.lock().get(&node.ip()).map(|(name, _)| name.clone());
        let name = named.unwrap_or_else(|| ServerName::from(node.ip()));
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(node)).await.ok()?.ok()?;
        stream.set_nodelay(true).ok()?;
        plain.set_nodelay(true).ok()?;
        let mut sealed = match self.connector.connect(name, stream).await {
            Ok(sealed) => sealed,
            Err(error) => {
                tracing::warn!("TLS to the node {node} of Cassandra: {error}");
                return None;
            }
        };
        tokio::io::copy_bidirectional(&mut plain, &mut sealed).await.ok().map(drop)
    }
}

#[async_trait::async_trait]
impl AddressTranslator for Tunnels {
    async fn translate_address(&self, peer: &UntranslatedPeer) -> std::result::Result<SocketAddr, TranslationError> {
        // The driver takes the port of the tunnel that it went through first for the nodes'.
        let ip = peer.untranslated_address().ip();
        let named = self.inner.named.lock().get(&ip).map(|(_, port)| *port);
        let port = named.unwrap_or_else(|| self.inner.port.load(Ordering::Relaxed));
        self.to(SocketAddr::new(ip, port)).await.map_err(|error| TranslationError::IoError(Arc::new(error)))
    }
}

/// Whether a socket that has connected to `own` is one of this process's user.
fn is_own(peer: SocketAddr, own: SocketAddr) -> bool {
    let (Ok(table), SocketAddr::V4(peer), SocketAddr::V4(own)) = (std::fs::read_to_string("/proc/net/tcp"), peer, own)
    else {
        return false;
    };
    let hexed = |address: std::net::SocketAddrV4| {
        format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
    };
    let (from, to) = (hexed(peer), hexed(own));
    let user = rustix::process::geteuid().as_raw();
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.get(1..3) == Some(&[from.as_str(), to.as_str()])
            && fields.get(7).and_then(|uid| uid.parse().ok()) == Some(user)
    })
}
