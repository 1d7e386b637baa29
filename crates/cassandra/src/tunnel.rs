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
pub(crate) struct Tunnels {
    inner: Arc<Inner>,
}

struct Inner {
    connector: TlsConnector,
    runtime: Handle,
    /// Names that were given for nodes, which stand in their certificates.
    names: Mutex<HashMap<IpAddr, String>>,
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
        let (names, open) = (Mutex::default(), Mutex::default());
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Some(Self { inner: Arc::new(Inner { connector, runtime, names, open }) }))
    }

    /// Where the driver reaches a node that was named by its host.
    pub async fn to_host(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let mut found = Vec::new();
        for node in tokio::net::lookup_host((host, port)).await? {
            if host.parse::<IpAddr>().is_err() {
                self.inner.names.lock().insert(node.ip(), host.to_string());
            }
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
    /// What goes wrong ends the connection, and the driver says that.
    async fn carry(&self, mut plain: TcpStream, node: SocketAddr) -> Option<()> {
        let name = match self.names.lock().get(&node.ip()) {
            Some(name) => ServerName::try_from(name.clone()).ok()?,
            None => ServerName::from(node.ip()),
        };
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
        self.to(peer.untranslated_address()).await.map_err(|error| TranslationError::IoError(Arc::new(error)))
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use rustls::ServerConfig;
    use rustls::server::WebPkiClientVerifier;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn openssl(folder: &Path, arguments: &str) -> bool {
        let run = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
        run.is_ok_and(|done| done.status.success())
    }

    /// An authority, and a certificate of it for 127.0.0.1; or nothing where there is no openssl.
    fn certificates(folder: &Path, name: &str) -> Option<[PathBuf; 3]> {
        std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
        let made = openssl(
            folder,
            &format!("req -x509 -newkey rsa:2048 -nodes -keyout {name}-ca.key -out {name}-ca.pem -days 2 -subj /CN=ca"),
        ) && openssl(
            folder,
            &format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"),
        ) && openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA {name}-ca.pem -CAkey {name}-ca.key -days 2 -extfile names -out {name}.pem"
            ),
        );
        if !made {
            eprintln!("skipped: no openssl to make certificates with");
            return None;
        }
        Some([format!("{name}-ca.pem"), format!("{name}.pem"), format!("{name}.key")].map(|file| folder.join(file)))
    }

    /// A node that says back what it hears, to those with a certificate of the same authority.
    async fn node([authority, certificate, key]: &[PathBuf; 3]) -> SocketAddr {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(
                vec![CertificateDer::from_pem_file(certificate).unwrap()],
                PrivateKeyDer::from_pem_file(key).unwrap(),
            )
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut heard = [0; 5];
                if stream.read_exact(&mut heard).await.is_ok() {
                    stream.write_all(&heard).await.unwrap();
                    stream.shutdown().await.ok();
                }
            }
        });
        address
    }

    async fn echoed(settings: &Settings, node: SocketAddr) -> Vec<u8> {
        let tunnels = Tunnels::of(settings, Handle::current()).unwrap().unwrap();
        let ways = tunnels.to_host("127.0.0.1", node.port()).await.unwrap();
        assert_eq!(ways, tunnels.to_host("127.0.0.1", node.port()).await.unwrap(), "one listener a node");
        let mut stream = TcpStream::connect(ways[0]).await.unwrap();
        stream.write_all(b"hello").await.ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok();
        answer
    }

    #[test]
    fn a_node_of_the_right_authority_is_spoken_to_and_another_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (Some(right), Some(wrong)) = (certificates(folder.path(), "right"), certificates(folder.path(), "wrong"))
        else {
            return;
        };
        let settings = |authority: &PathBuf, [_, certificate, key]: &[PathBuf; 3]| Settings {
            authorities: Some(authority.clone()),
            identity: Some((certificate.clone(), key.clone())),
            ..Settings::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let node = node(&right).await;
            assert_eq!(echoed(&settings(&right[0], &right), node).await, b"hello");
            assert_eq!(echoed(&settings(&wrong[0], &right), node).await, b"", "the node's authority is not known");
            assert_eq!(echoed(&settings(&right[0], &wrong), node).await, b"", "the node does not know this one's");
        });
    }

    #[test]
    fn certificates_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("empty.pem");
        std::fs::write(&file, "").unwrap();
        let settings = Settings { authorities: Some(file), ..Settings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = Tunnels::of(&settings, runtime.handle().clone()).err().unwrap().to_string();
        assert!(error.contains("empty.pem") && error.contains("no certificate"), "{error}");
    }

    #[test]
    fn a_socket_of_this_user_is_known_by_its_two_ends() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(own).unwrap();
        let (_accepted, peer) = listener.accept().unwrap();
        assert_eq!(stream.local_addr().unwrap(), peer);
        assert!(is_own(peer, own));
        assert!(!is_own(SocketAddr::from(([127, 0, 0, 1], 1)), own), "nobody's socket");
    }
}
