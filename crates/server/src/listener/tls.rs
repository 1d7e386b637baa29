//! TLS by rustls, with clients' certificates where they are asked for, from files that can be read again.
//!
//! **Invariant:** files that cannot be used change nothing: what was read before goes on being used.

use std::path::Path;
use std::sync::Arc;

use nuthatch_link::{Error, Result};
use parking_lot::RwLock;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// The TLS setup for the connections of all faces.
pub struct Tls {
    files: TlsFiles,
    now: RwLock<Faces>,
}

/// The same for each face.
#[derive(Clone)]
struct Faces {
    http: Arc<ServerConfig>,
    /// HTTP/2 is not spoken there.
    redis: Arc<ServerConfig>,
}

impl Tls {
    /// # Errors
    /// `Invalid` for files that are no certificates or keys, or do not fit together.
    pub fn of(files: &TlsFiles) -> Result<Self> {
        Ok(Self { files: files.clone(), now: RwLock::new(Faces::of(files)?) })
    }

    /// Reads the files again, for every connection that begins afterwards.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn renew(&self) -> Result<()> {
        let new = Faces::of(&self.files)?;
        *self.now.write() = new;
        Ok(())
    }

    /// For the next connection of HTTP and gRPC.
    pub fn for_http(&self) -> TlsAcceptor {
        self.now.read().http.clone().into()
    }

    /// For the next connection of Redis' protocol.
    pub fn for_redis(&self) -> Arc<ServerConfig> {
        self.now.read().redis.clone()
    }
}

impl Faces {
    fn of(files: &TlsFiles) -> Result<Self> {
        let redis = read(files)?;
        let mut http = redis.clone();
        http.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { http: Arc::new(http), redis: Arc::new(redis) })
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let refused = |path: &Path, why: &dyn std::fmt::Display| Error::invalid(format!("{}: {why}", path.display()));
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| refused(&files.key, &error))?;
    let versions = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(error.to_string()))?;
    let clients = match &files.client_ca {
        None => versions.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| refused(path, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| refused(path, &error))?;
            versions.with_client_cert_verifier(verifier)
        }
    };
    clients.with_single_cert(chain, key).map_err(|error| refused(&files.certificate, &error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let refused = |why: &dyn std::fmt::Display| Error::invalid(format!("{}: {why}", path.display()));
    let found = CertificateDer::pem_file_iter(path).map_err(|error| refused(&error))?;
    let found: Vec<_> = found.collect::<std::result::Result<_, _>>().map_err(|error| refused(&error))?;
    match found.is_empty() {
        true => Err(refused(&"there is no certificate in it")),
        false => Ok(found),
    }
}
