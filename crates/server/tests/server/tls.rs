//! TLS, and certificates of clients.

use std::path::{Path, PathBuf};

use nuthatch_server::config::TlsFiles;
use nuthatch_server::{Config, Server};
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use crate::place::{Place, config};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

fn certificate(name: &str) -> Certificate<'static> {
    Certificate::from_pem(&std::fs::read(file(name)).unwrap()).unwrap().to_owned()
}

/// Trusts the authority of the tests, and shows a certificate if there is one.
fn agent(client: Option<ClientCert>) -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate("ca.pem")])).client_cert(client);
    Agent::config_builder().tls_config(tls.build()).build().into()
}

fn client_certificate() -> ClientCert {
    let key = PrivateKey::from_pem(&std::fs::read(file("client.key")).unwrap()).unwrap();
    ClientCert::new_with_certs(&[certificate("client.pem")], key)
}

fn files(client_ca: Option<&str>) -> TlsFiles {
    TlsFiles { certificate: file("server.pem"), key: file("server.key"), client_ca: client_ca.map(file) }
}

/// Ready when it answers a client that it trusts.
fn place(client_ca: Option<&str>) -> (Place, String) {
    let place = Place::with(|config| config.tls = Some(files(client_ca)));
    let url = format!("https://localhost:{}/readyz", place.address.port());
    while agent(Some(client_certificate())).get(&url).call().is_err() {
        std::thread::yield_now();
    }
    (place, url)
}

#[test]
fn who_trusts_the_authority_is_answered_and_nobody_without_tls() {
    let (place, url) = place(None);
    assert_eq!(agent(None).get(&url).call().unwrap().status(), 200);
    assert!(Agent::new_with_defaults().get(&url).call().is_err(), "the system's authorities did not sign it");
    assert!(ureq::get(url.replace("https", "http")).call().is_err());
    place.stop();
}

#[test]
fn where_certificates_are_asked_for_nobody_gets_in_without_one() {
    let (place, url) = place(Some("ca.pem"));
    assert_eq!(agent(Some(client_certificate())).get(&url).call().unwrap().status(), 200);
    assert!(agent(None).get(&url).call().is_err());
    place.stop();
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (wrong, named) in [
        (TlsFiles { certificate: file("README.md"), ..files(None) }, "README.md"),
        (TlsFiles { key: file("server.pem"), ..files(None) }, "server.pem"),
        (TlsFiles { key: file("client.key"), ..files(None) }, "server.pem"),
        (TlsFiles { certificate: file("nowhere.pem"), ..files(None) }, "nowhere.pem"),
    ] {
        let config = Config { tls: Some(wrong), ..config(folder.path()) };
        let error = runtime.block_on(Server::bind(config)).map(drop).unwrap_err();
        assert!(error.kind.name() == "invalid" && error.message.contains(named), "{error}");
    }
}

/// Tests with the authority that signs the clients' certificates: of the files that are read again, it has the effect
/// that is easiest to see.
#[test]
fn files_that_are_read_again_hold_for_new_connections_and_broken_ones_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    std::fs::copy(file("server.pem"), &authority).unwrap();
    let config =
        Config { tls: Some(TlsFiles { client_ca: Some(authority.clone()), ..files(None) }), ..config(folder.path()) };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Server::bind(config)).unwrap();
    let (tls, port) = (server.tls().unwrap(), server.address().unwrap().port());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async {
        stopped.await.ok();
    }));
    let is_let_in =
        || agent(Some(client_certificate())).get(format!("https://localhost:{port}/healthz")).call().is_ok();
    assert!(!is_let_in(), "another authority signed it");
    std::fs::copy(file("ca.pem"), &authority).unwrap();
    assert!(!is_let_in(), "nobody has said that the file is another");
    tls.renew().unwrap();
    assert!(is_let_in());
    std::fs::write(&authority, "no certificate").unwrap();
    assert!(tls.renew().unwrap_err().message.contains("ca.pem"));
    assert!(is_let_in(), "what was read before is still used");
    stop.send(()).unwrap();
    runtime.block_on(running).unwrap().unwrap();
}
