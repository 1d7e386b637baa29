//! TLS by rustls, with clients' certificates where they are asked for.

use std::path::Path;
use std::sync::Arc;

use nuthatch_engine::{Error, Result};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// What makes TLS of a connection.
///
/// # Errors
/// `Invalid` for files that are no certificates or keys, or do not fit together.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
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
    let mut config = clients.with_single_cert(chain, key).map_err(|error| refused(&files.certificate, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
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
