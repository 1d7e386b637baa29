//! The life of a server: listen, open, answer, stop.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use nuthatch_link::{Database, Error, ErrorKind, Options, Result, StoreLayer};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use crate::access::{Invitation, Ring, Scopes};
use crate::admission::Admission;
use crate::audit::{Entry, Who};
use crate::checks;
use crate::clock;
use crate::config::Config;
use crate::faces::Faces;
use crate::listener::Tls;
use crate::proxy::Proxy;
use crate::shared::{Node, Shared};
use crate::signals::{self, Stopping};
use crate::telemetry::start_logging;

/// A server that listens, and does not answer yet.
pub struct Server {
    /// Of the API, where it is served.
    listener: Option<TcpListener>,
    redis: Option<std::net::TcpListener>,
    proxy: Option<(TcpListener, Proxy)>,
    tls: Option<Arc<Tls>>,
    shared: Arc<Shared>,
    store_layer: Option<StoreLayer>,
}

/// Listeners of the caller's.
#[derive(Default)]
pub struct Listeners {
    /// Of HTTP; `None`: one is made where the configuration says.
    pub http: Option<std::net::TcpListener>,
    /// The same of Redis' protocol.
    pub redis: Option<std::net::TcpListener>,
}

/// Runs a server in this process until SIGTERM or SIGINT. A second signal ends the process at once, which loses nothing that was
/// acknowledged. SIGHUP has the files of TLS read again; from a terminal that is closed it is as SIGTERM.
///
/// # Errors
/// `Invalid` for a configuration that would be unsafe or cannot work; those of opening the folder and of listening.
pub fn run(config: Config) -> Result<()> {
    start_logging(&config);
    let runtime = runtime(&config)?;
    let shutdown_timeout = config.shutdown_timeout;
    let ended = runtime.block_on(async {
        let server = Server::bind(config).await?;
        let Stopping { stop, renew } = signals::listen()?;
        if let Some(renew) = renew {
            tokio::spawn(renew_with(renew, server.tls()));
        }
        server.run(stop).await
    });
    // Calls that did not end in time are left behind; what they wrote is there whole or not at all.
    runtime.shutdown_timeout(shutdown_timeout);
    ended
}

/// Runs a server for one browser of this machine, as [`run`] does. Once it answers, `opened` is given the address of the console,
/// whose fragment has a code. The first page to bring the code signs in with these scopes, and no other gets in without a key.
///
/// # Errors
/// As [`run`].
pub fn run_for_browser(
    config: Config,
    tenant: Option<String>,
    scopes: Scopes,
    opened: impl FnOnce(&str),
) -> Result<()> {
    start_logging(&config);
    let runtime = runtime(&config)?;
    let shutdown_timeout = config.shutdown_timeout;
    let ended = runtime.block_on(async {
        let (invitation, code) = Invitation::new(tenant, scopes, clock::now())?;
        let server = Server::bind_for(config, Some(invitation), Listeners::default()).await?;
        let url = format!("http://{}/ui/#code={code}", server.address()?);
        let Stopping { stop, .. } = signals::listen()?;
        server.run_then(|| opened(&url), stop).await
    });
    runtime.shutdown_timeout(shutdown_timeout);
    ended
}

/// Whether [`run`] would begin with this configuration, without opening the folder or listening.
///
/// # Errors
/// `Invalid` for a configuration that would be unsafe or cannot work.
pub fn check(config: &Config) -> Result<()> {
    checks::check(config).map(drop)
}

/// The threads of a server with this configuration.
///
/// # Errors
/// `Internal` when the system gives none.
pub fn runtime(config: &Config) -> Result<Runtime> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        // They only move bytes; the engine works on the others.
        .worker_threads(cpus.min(8))
        // One more to open and close the folder, and one to write the audit log.
        .max_blocking_threads(Admission::threads(config) + 2)
        .thread_name("nuthatch-serve")
        .enable_all()
        .build()
        .map_err(|error| Error::internal(format!("starting threads: {error}")))
}

impl Server {
    /// Checks the configuration and listens. Connections are accepted from here on by the system, and answered by
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// `Invalid` for a configuration that would be unsafe or cannot work; `Unavailable` when the address is taken.
    pub async fn bind(config: Config) -> Result<Self> {
        Self::bind_for(config, None, Listeners::default()).await
    }

    /// The same, with listeners that are there already: connections that came before wait in them.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub async fn bind_to(config: Config, listeners: Listeners) -> Result<Self> {
        Self::bind_for(config, None, listeners).await
    }

    async fn bind_for(config: Config, invitation: Option<Invitation>, given: Listeners) -> Result<Self> {
        let tls = checks::check(&config)?.map(Arc::new);
        let folder = checks::data_dir(&config)?.to_path_buf();
        let ring = Ring::open(&folder)?;
        let taken = |address: SocketAddr, flag: &'static str| {
            move |error: std::io::Error| {
                let message = format!("cannot listen on {address}: {error}; choose another with {flag}");
                Error::new(ErrorKind::Unavailable, message)
            }
        };
        let adopted = |listener: std::net::TcpListener| {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        let listener = match (config.api, given.http) {
            (true, Some(listener)) => Some(adopted(listener).map_err(taken(config.listen, "--listen"))?),
            (true, None) => Some(TcpListener::bind(config.listen).await.map_err(taken(config.listen, "--listen"))?),
            (false, _) => None,
        };
        let redis = match (config.redis, given.redis) {
            (Some(_), Some(listener)) => Some(listener),
            (Some(address), None) => Some(std::net::TcpListener::bind(address).map_err(taken(address, "--redis"))?),
            (None, _) => None,
        };
        let shared = Shared::new(config, &folder, ring, invitation);
        let proxy = match shared.config.proxy.clone() {
            Some(proxy) => {
                let flag = if shared.config.api { "--cache-listen" } else { "--listen" };
                let listener = TcpListener::bind(proxy.listen).await.map_err(taken(proxy.listen, flag))?;
                Some((listener, Proxy::new(proxy, shared.clone())?))
            }
            None => None,
        };
        Ok(Self { listener, redis, proxy, tls, shared, store_layer: None })
    }

    /// Answers for a folder that is one node's copy of data that others may take over.
    #[must_use]
    pub fn of_a_copy(self, node: Node) -> Self {
        self.shared.join(node.hold, node.gate, node.cluster);
        Self { store_layer: Some(node.layer), ..self }
    }

    /// Where it listens for HTTP, or for the proxy where that is all: tells the port where the configuration left it to the system.
    ///
    /// # Errors
    /// `Internal` when the system does not tell.
    pub fn address(&self) -> Result<SocketAddr> {
        let proxy = self.proxy.as_ref().map(|(listener, _)| listener);
        let listener = self.listener.as_ref().or(proxy).ok_or_else(|| Error::internal("nothing is listened to"))?;
        listener.local_addr().map_err(no_address)
    }

    /// The same of the proxy, where there is one.
    ///
    /// # Errors
    /// `Internal` when the system does not tell.
    pub fn proxy_address(&self) -> Result<Option<SocketAddr>> {
        self.proxy.as_ref().map(|(listener, _)| listener.local_addr().map_err(no_address)).transpose()
    }

    /// Its certificate and key, where it speaks TLS; the code that runs the server has them renewed.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// The same of Redis' listener, where there is one.
    ///
    /// # Errors
    /// `Internal` when the system does not tell.
    pub fn redis_address(&self) -> Result<Option<SocketAddr>> {
        self.redis.as_ref().map(|listener| listener.local_addr().map_err(no_address)).transpose()
    }

    /// Opens the folder and answers until `stop` is over; then lets requests under way end, for as long as the configuration says,
    /// writes what is buffered and closes.
    ///
    /// # Errors
    /// Those of opening and closing the folder.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<()> {
        self.run_then(|| (), stop).await
    }

    /// The same, and calls `ready` once it answers.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_then(self, ready: impl FnOnce(), stop: impl Future<Output = ()>) -> Result<()> {
        let (address, proxy_address, shared) = (self.address()?, self.proxy_address()?, self.shared);
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut faces = Faces::new(shared.config.shutdown_timeout).await;
        if let Some(listener) = self.listener {
            info!(%address, "listening at {scheme}://{address}");
            faces.start_http(listener, self.tls.clone(), shared.clone());
        }
        if let (Some((listener, proxy)), Some(address)) = (self.proxy, proxy_address) {
            info!(proxy = %address, "caching proxy at {scheme}://{address}");
            faces.start_proxy(listener, self.tls.clone(), proxy);
        }
        let opened = open(&shared, self.store_layer).await;
        let database = match opened {
            Ok(database) => database,
            Err(error) => {
                error!(kind = error.kind.name(), "the data folder cannot be opened: {error}");
                faces.stop().await;
                return Err(error);
            }
        };
        // Before anybody is answered.
        noted(&shared, "server.start").await?;
        shared.ready(database.clone());
        faces.ready().await;
        if let Some(listener) = self.redis {
            let redis = listener.local_addr().map_err(no_address)?;
            faces.start_redis(listener, self.tls.clone(), &shared)?;
            info!(%redis, "listening for Redis clients at {redis}");
        }
        info!(folder = %database.folder().display(), "ready");
        ready();
        stop.await;
        shared.stop();
        let all_ended = faces.stop().await;
        noted(&shared, "server.stop").await?;
        let closed = blocking(move || database.close()).await;
        match &closed {
            Ok(()) => info!(all_ended, "stopped; everything is written"),
            Err(error) => error!(kind = error.kind.name(), "the data folder was not closed cleanly: {error}"),
        }
        closed
    }
}

/// Begins and ends the audit log of a run, with the settings that say who may ask.
async fn noted(shared: &Arc<Shared>, action: &'static str) -> Result<()> {
    let Config { listen, api, redis, proxy, auth, tls, allow_plaintext, exclusive, backup_dir, .. } = &shared.config;
    let mut entry = Entry::new("server", Who::default(), action, "");
    if action == "server.start" {
        entry = entry
            .detail("version", env!("CARGO_PKG_VERSION"))
            .detail("pid", std::process::id())
            .detail("listen", api.then(|| listen.to_string()))
            .detail("redis", redis.map(|address| address.to_string()))
            .detail("cache_listen", proxy.as_ref().map(|proxy| proxy.listen.to_string()))
            .detail("cache_upstream", proxy.as_ref().map(|proxy| proxy.upstream.to_string()))
            .detail("cache_identity", proxy.as_ref().map(|proxy| proxy.identity.to_string()))
            .detail("auth", format!("{auth:?}").to_lowercase())
            .detail("tls", tls.is_some())
            .detail("client_certificates", tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()))
            .detail("allow_plaintext", *allow_plaintext)
            .detail("exclusive", *exclusive)
            .detail("backup_dir", backup_dir.as_ref().map(|path| path.display().to_string()));
    }
    let book = shared.audit.clone();
    let note = move || {
        book.note(entry, true);
        Ok(())
    };
    blocking(note).await
}

fn no_address(error: std::io::Error) -> Error {
    Error::internal(format!("a listener's address: {error}"))
}

async fn open(shared: &Shared, store_layer: Option<StoreLayer>) -> Result<Database> {
    let folder = checks::data_dir(&shared.config)?.to_path_buf();
    let options = Options { store_layer, ..shared.config.engine_options() };
    let tenant = shared.invitation.as_ref().and_then(|invitation| invitation.tenant.clone());
    let open = move || {
        let database = open_folder(&folder, options)?;
        // Better said here than in the browser of who was invited.
        tenant.map(|name| database.tenant(&name)).transpose()?;
        Ok(database)
    };
    blocking(open).await
}

fn open_folder(folder: &Path, options: Options) -> Result<Database> {
    let database = Database::open(folder, options)?;
    let holder = database.holder()?;
    if !holder.is_this {
        warn!(
            pid = holder.pid,
            program = holder.program,
            since = holder.since,
            "another process holds the folder; this server works through it, and takes over when it goes"
        );
    }
    Ok(database)
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(call).await;
    done.unwrap_or_else(|error| Err(Error::internal(format!("a call panicked, which is a defect: {error}"))))
}

/// Reads the files of TLS again whenever it is said.
async fn renew_with(mut renew: mpsc::Receiver<()>, tls: Option<Arc<Tls>>) {
    while renew.recv().await.is_some() {
        let Some(tls) = tls.clone() else {
            info!("SIGHUP asks to read the TLS files again, but this server has none");
            continue;
        };
        match blocking(move || tls.renew()).await {
            Ok(()) => info!("read the TLS files again; new connections use them"),
            Err(error) => {
                error!(kind = error.kind.name(), "cannot use the TLS files, so the previous ones stay in use: {error}");
            }
        }
    }
}
