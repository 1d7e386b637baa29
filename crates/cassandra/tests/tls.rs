//! TLS to the nodes of a database: whom it speaks to, and for whom. Certificates come from the command `openssl`; without it this is
//! skipped.
#![cfg(target_os = "linux")]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use nuthatch_cassandra::{Settings, Tunnels};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

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
            "x509 -req -in {name}.csr -CA {name}-ca.pem -CAkey {name}-ca.key -CAcreateserial -days 2 -extfile names -out {name}.pem"
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

fn settings(authority: &Path, [_, certificate, key]: &[PathBuf; 3]) -> Settings {
    Settings {
        authorities: Some(authority.to_path_buf()),
        identity: Some((certificate.clone(), key.clone())),
        ..Settings::default()
    }
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
fn another_user_of_the_machine_does_not_get_through() {
    let folder = tempfile::tempdir().unwrap();
    let Some(right) = certificates(folder.path(), "right") else { return };
    let as_nobody = |port: u16| {
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf hello >&3; cat <&3");
        let run = Command::new("setpriv").args(["--reuid=65534", "--clear-groups", "bash", "-c", &script]).output();
        run.ok().filter(|run| !String::from_utf8_lossy(&run.stderr).contains("setpriv:"))
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let node = node(&right).await;
        let settings = settings(&right[0], &right);
        let tunnels = Tunnels::of(&settings, Handle::current()).unwrap().unwrap();
        let ways = tunnels.to_host("127.0.0.1", node.port()).await.unwrap();
        match as_nobody(ways[0].port()) {
            Some(run) => assert!(run.stdout.is_empty(), "{}", String::from_utf8_lossy(&run.stdout)),
            None => eprintln!("skipped: no setpriv, or not root"),
        }
        assert_eq!(echoed(&settings, node).await, b"hello", "this user does");
    });
}
