//! A server in this process, on a port of its own.

use std::net::SocketAddr;
use std::path::Path;

use jiff::Timestamp;
use nuthatch_link::{Database, Options, Result};
use nuthatch_server::{Config, KeyFile, NewKey, Scope, Scopes, Server, TENANT_DEFAULT};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;

pub struct Place {
    pub folder: tempfile::TempDir,
    pub address: SocketAddr,
    pub redis: Option<SocketAddr>,
    pub proxy: Option<SocketAddr>,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<()>>,
}

/// The default for tests: a free port of this machine.
pub fn config(folder: &Path) -> Config {
    Config {
        data_dir: Some(folder.join("memory")),
        listen: "127.0.0.1:0".parse().unwrap(),
        log_level: tracing::level_filters::LevelFilter::OFF,
        ..Config::default()
    }
}

impl Place {
    /// The token of a new key.
    pub fn key(&self, tenant: &str, scopes: &[Scope]) -> String {
        let new = NewKey::new("test", Scopes::new(scopes.iter().copied()));
        self.keys().create(self.of_tenant(new, tenant), Timestamp::now()).unwrap().1.0
    }

    /// The key, for that tenant; of one that is not there, a key that opens nothing.
    pub fn of_tenant(&self, new: NewKey, tenant: &str) -> NewKey {
        if tenant == TENANT_DEFAULT {
            return new;
        }
        let database = Database::open(self.folder.path().join("memory"), Options::default()).unwrap();
        match database.tenant(tenant) {
            Ok(theirs) => new.of(&theirs),
            Err(_) => NewKey { tenant: tenant.into(), ..new },
        }
    }

    /// The file of keys.
    pub fn keys(&self) -> KeyFile {
        KeyFile::of(&self.folder.path().join("memory"))
    }

    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), change)
    }

    /// A server over what is there.
    pub fn in_folder(folder: tempfile::TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config(folder.path());
        change(&mut config);
        let has_tls = config.tls.is_some();
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(Server::bind(config)).unwrap();
        let address = server.address().unwrap();
        let redis = server.redis_address().unwrap();
        let proxy = server.proxy_address().unwrap();
        let (stop, stopped) = oneshot::channel();
        let running = runtime.spawn(server.run(async {
            stopped.await.ok();
        }));
        let place = Self { folder, address, redis, proxy, runtime, stop: Some(stop), running };
        if !has_tls {
            place.client().wait_until_ready();
        }
        place
    }

    pub fn client(&self) -> Client {
        Client::new(format!("http://{}", self.address))
    }

    /// Tells the server to stop without waiting for it.
    pub fn tell_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Stops the server, and leaves the folder.
    pub fn stop(mut self) -> tempfile::TempDir {
        if self.stop.is_some() {
            self.tell_to_stop();
        }
        self.runtime.block_on(self.running).unwrap().unwrap();
        self.folder
    }
}
