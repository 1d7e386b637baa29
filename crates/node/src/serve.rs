//! `serve`: a node's life. It follows the log until the owner is gone, answers as the owner until another node takes
//! over, and starts over.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_cluster::{
    ADDRESS_BYTES_MAX, Bell, ClusterError, Followed, Group, Kind, Known, Log, LoggedStore, Owner, Reach, apply,
    boot_clock, follow,
};
use nuthatch_link::{Error, ErrorKind, StoreLayer};
use nuthatch_resp::reachable;
use nuthatch_server::config::Layers;
use nuthatch_server::{Config, Hold, Listeners, Server, listen_to_signals, start_logging};
use nuthatch_store::{RocksStore, Store};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::{debug, error, info, warn};

use crate::copy::Copy;
use crate::failure::Failure;
use crate::forward::Forward;
use crate::hand_over::Face;
use crate::passage::Passage;
use crate::place::{FORMS, Place};
use crate::relay::Relay;
use crate::standby::Standby;
use crate::watch::{Guarded, Watcher};

/// How often the owner looks whether a checkpoint is due.
const LOOK: Duration = Duration::from_secs(1);
/// A checkpoint is due after this many slots (an idle owner's beats count too), this much log that others would replay,
/// or, if something was written, this much time.
const CHECKPOINT_SLOTS: u64 = 600;
const CHECKPOINT_AFTER: Duration = Duration::from_secs(600);
const CHECKPOINT_LOG_BYTES: u64 = 64 << 20;
const CHECKPOINTS_KEPT: usize = 2;
/// How long an answer waits for the log.
const HOLD_MAX: Duration = Duration::from_secs(30);
/// How long calls under way have to end before the data is handed over.
const DRAIN_MAX: Duration = Duration::from_secs(5);
/// How long connections stay open after the node has changed its part: a request that meets the end of its connection is lost.
pub const LEAVING: Duration = Duration::from_millis(250);
/// How long a node that has handed the data over looks for who took them.
const NEXT_MAX: Duration = Duration::from_secs(30);
/// How long a guard tells of a node's death at most; whoever looks later waits for the lease, if it is not over.
const LINGER: Duration = Duration::from_secs(60);
/// How long a closed server may keep the store open.
const CLOSING_MAX: Duration = Duration::from_secs(60);

#[derive(Args)]
pub struct Serve {
    #[arg(long, env = "NUTHATCH_STORE", value_name = "STORE", help = FORMS)]
    store: String,
    /// The node's copy of the data; a new or empty folder, or the one it had before
    #[arg(long, env = "NUTHATCH_DIR", value_name = "DIR")]
    data_dir: PathBuf,
    /// Where it answers [default: 127.0.0.1:7700, or as the file of --config says]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// How clients and other nodes reach it [default: --listen]
    #[arg(long, env = "NUTHATCH_ADVERTISE", value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Where the process listens that tells the other nodes when this one has died; 0: any port that is free
    #[arg(long, env = "NUTHATCH_GUARD_PORT", value_name = "PORT", default_value_t = 0)]
    guard_port: u16,
    /// Settings of `nuthatch serve` in TOML; those in variables of the environment hold, too
    #[arg(long, env = "NUTHATCH_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Serve {
    pub fn run(&self) -> Result<u8, Failure> {
        let config = self.settings()?;
        let advertise = self.advertise.clone().unwrap_or_else(|| config.listen.to_string());
        if advertise.is_empty() || advertise.len() > ADDRESS_BYTES_MAX {
            return Err(Error::invalid(format!("--advertise: give 1 to {ADDRESS_BYTES_MAX} bytes")).into());
        }
        nuthatch_server::check(&config)?;
        start_logging(&config);
        let log = Place::parse(&self.store)?.open()?;
        std::fs::create_dir_all(&self.data_dir).map_err(io(&self.data_dir))?;
        let _alone = lock(&self.data_dir)?;
        let runtime = nuthatch_server::runtime(&config)?;
        let stop = Stop::on_signals(&runtime)?;
        let taken = |address: SocketAddr, setting: &'static str| {
            move |error: std::io::Error| {
                let what = format!("cannot listen on {address}: {error}; choose another with {setting}");
                Error::new(ErrorKind::Unavailable, what)
            }
        };
        let http = std::net::TcpListener::bind(config.listen).map_err(taken(config.listen, "--listen"))?;
        let redis = config.redis.map(|at| std::net::TcpListener::bind(at).map_err(taken(at, "`redis`"))).transpose()?;
        let guard = match Guarded::start(config.listen.ip(), self.guard_port, &advertise, LINGER) {
            Ok(guard) => Some(Arc::new(guard)),
            Err(failed) => {
                warn!("no guard: {failed}; should this process die, others take over when its lease is over");
                None
            }
        };
        let bell: Arc<Bell> = Arc::default();
        let watcher = Watcher::start(bell.clone(), advertise.clone())
            .map_err(|error| Error::internal(format!("starting nuthatch-watch: {error}")))?;
        let owner = Arc::new(watch::Sender::new(String::new()));
        let here = reachable(config.listen).to_string();
        let forward = Forward::new(owner.subscribe(), &advertise, &here, config.tls.is_some());
        let (standby, is_drained) = (Mutex::default(), Arc::default());
        let node = Node {
            config,
            advertise,
            log,
            runtime,
            stop,
            guard,
            watcher,
            bell,
            http,
            redis,
            owner,
            owner_redis: watch::Sender::new(String::new()),
            forward,
            standby,
            is_drained,
        };
        node.live(&self.data_dir)?;
        Ok(0)
    }

    fn settings(&self) -> Result<Config, Failure> {
        let mut layers = Layers::default().environment(|name| std::env::var(name).ok());
        if let Some(file) = &self.config {
            layers = layers.file(file)?;
        }
        layers = layers.flag("data_dir", self.data_dir.to_string_lossy());
        if let Some(listen) = self.listen {
            layers = layers.flag("listen", listen.to_string());
        }
        // Another process would reach the folder around the log.
        layers = layers.flag("exclusive", "true");
        Ok(Config::resolve(&layers)?)
    }
}

/// The signal that ends the process.
#[derive(Clone)]
struct Stop {
    now: Arc<AtomicBool>,
    told: watch::Receiver<bool>,
}

impl Stop {
    fn on_signals(runtime: &Runtime) -> Result<Self, Failure> {
        let (tell, told) = watch::channel(false);
        let now = Arc::new(AtomicBool::new(false));
        let signalled = now.clone();
        runtime.block_on(async {
            let stopping = listen_to_signals()?;
            tokio::spawn(async move {
                stopping.stop.await;
                signalled.store(true, Ordering::SeqCst);
                tell.send_replace(true);
            });
            Ok(Self { now, told })
        })
    }

    fn is_now(&self) -> bool {
        self.now.load(Ordering::SeqCst)
    }

    async fn told(mut self) {
        // An error means that nobody is left to tell.
        while !*self.told.borrow_and_update() && self.told.changed().await.is_ok() {}
    }
}

struct Node {
    config: Config,
    advertise: String,
    log: Arc<dyn Log>,
    runtime: Runtime,
    stop: Stop,
    /// Says when this process has ended.
    guard: Option<Arc<Guarded>>,
    /// Listens to the owner's guard.
    watcher: Watcher,
    bell: Arc<Bell>,
    /// Open for as long as the process runs: who comes while nobody answers waits.
    http: std::net::TcpListener,
    redis: Option<std::net::TcpListener>,
    /// Where the owner answers; empty while nobody knows.
    owner: Arc<watch::Sender<String>>,
    /// The same for clients of Redis.
    owner_redis: watch::Sender<String>,
    forward: Forward,
    standby: Mutex<Option<Standby>>,
    /// It takes over no more.
    is_drained: Arc<AtomicBool>,
}

impl Node {
    fn live(&self, folder: &Path) -> Result<(), Failure> {
        self.runtime.block_on(self.stand_by())?;
        match self.log.head() {
            Ok(head) => self.owner_is(&head.address),
            Err(failed) => warn!("{failed}"), // it is learned on the way
        }
        while !self.stop.is_now() {
            let copy = Copy::prepare(folder, &*self.log)?;
            self.follow(copy)?;
        }
        // The node has released anything it owned.
        if let Some(guard) = &self.guard {
            guard.quit();
        }
        Ok(())
    }

    /// Passes requests on to the owner, unless it does already.
    async fn stand_by(&self) -> Result<(), Failure> {
        let listener = self.http.try_clone().map_err(listening(&self.config))?;
        let mut started = Standby::start(listener, self.forward.clone())?;
        if let Some(redis) = self.redis.as_ref().filter(|_| self.config.tls.is_none()) {
            let listener = redis.try_clone().map_err(listening(&self.config))?;
            let own = self.config.redis.map(reachable).map(|at| at.to_string()).unwrap_or_default();
            let owner = self.owner_redis.subscribe();
            started.relay(Relay::start(listener, owner, (self.own_redis(), own)).map_err(listening(&self.config))?);
        }
        self.standby.lock().get_or_insert(started);
        Ok(())
    }

    fn owner_is(&self, address: &str) {
        tell(&self.owner, address);
    }

    /// How other nodes reach this one for clients of Redis; empty: not at all.
    fn own_redis(&self) -> String {
        self.config.redis.map_or_else(String::new, |at| beside(&self.advertise, at.port()))
    }

    /// Follows, and owns if it comes to that. Returns when the copy is closed or has to be recreated.
    fn follow(&self, copy: Copy) -> Result<(), Failure> {
        let (writer, began) = (uuid::Uuid::new_v4().as_u128(), copy.known.place);
        let group = Group::new(writer, &self.advertise, self.log.base().timing(), copy.known.clone(), boot_clock());
        let reach = Reach { watch: self.guard.as_ref().and_then(|guard| guard.watch()), redis: self.own_redis() };
        let mut group = group.reached(reach).abstaining(self.is_drained.load(Ordering::SeqCst));
        // As the engine opens it, which takes it as it is when this node owns the group.
        let options = self.config.engine_options().store_options();
        let store = Arc::new(RocksStore::open(&copy.store(), options)?);
        info!(log = self.log.address(), slot = copy.known.slot, "following");
        self.watcher.of(copy.known.reach.watch.as_ref());
        let mut bring = |group: &Group, entry: nuthatch_cluster::Entry| {
            let known = group.known();
            self.owner_is(&known.address);
            tell(&self.owner_redis, &known.reach.redis);
            self.watcher.of(known.reach.watch.as_ref());
            apply(&*store, &*self.log, known.slot, &entry)
        };
        let mut told = |failed: &ClusterError| warn!("{failed}");
        match follow(&*self.log, &mut group, &self.stop.now, &self.bell, &mut bring, &mut told)? {
            Followed::Owns(epoch) => {
                let since = Instant::now();
                let guard = self.guard.clone();
                let grew = move || guard.iter().for_each(|guard| guard.ring());
                // At once: from here on the lease is kept.
                let told = |failed: &ClusterError| warn!("{failed}");
                let owner = Arc::new(Owner::start(self.log.clone(), group, grew, told)?);
                info!(epoch, "this node owns the data");
                self.owner_is(&self.advertise);
                tell(&self.owner_redis, &self.own_redis());
                self.watcher.of(None);
                *self.standby.lock() = None;
                if copy.is_new || owner.known().place > began {
                    copy.drop_indexes()?;
                }
                self.own(copy, store, &owner, since)
            }
            Followed::Stopped => {
                store.flush()?;
                drop(store);
                copy.closed(&*self.log, group.known().clone())
            }
            Followed::Ended(end) => {
                warn!("the copy is made anew: {end:?}");
                Ok(())
            }
        }
    }

    fn own(&self, copy: Copy, store: Arc<dyn Store>, owner: &Arc<Owner>, since: Instant) -> Result<(), Failure> {
        let given: Arc<Mutex<Given>> = Arc::default();
        let checkpoints = Checkpoints::start(given.clone(), owner.clone())?;
        let (served, released) = self.serve(&copy, store, owner, given.clone(), since);
        checkpoints.stop();
        wait_until_closed(&given)?;
        let released = match released {
            Some(known) => {
                // The engine may not write any more what it would write in the end, which it can do without.
                if let Err(failed) = served {
                    debug!("closing a copy that is no longer this node's to write: {failed}");
                }
                Some(known)
            }
            None => {
                if let Some(lost) = owner.lost_now() {
                    warn!("this node no longer owns the data: {lost}");
                    return Ok(());
                }
                let released = owner.release("");
                served?;
                released
            }
        };
        match released {
            Some(known) => copy.closed(&*self.log, known),
            None => Ok(()),
        }
    }

    /// Answers requests until the node is told to stop or to hand the data over, or no longer owns them. Also returns
    /// the state of the log afterwards, if this node has released the data.
    fn serve(
        &self,
        copy: &Copy,
        store: Arc<dyn Store>,
        owner: &Arc<Owner>,
        given: Arc<Mutex<Given>>,
        since: Instant,
    ) -> (Result<(), Failure>, Option<Known>) {
        let (log, checkpointing) = (self.log.clone(), copy.checkpointing());
        let owned = owner.clone();
        let layer = StoreLayer::new(move |inner| {
            let below = Arc::downgrade(&inner);
            let store = Arc::new(LoggedStore::new(inner, owned.clone(), log.clone(), &checkpointing));
            *given.lock() = Given { logged: Arc::downgrade(&store), below: Some(below) };
            store
        });
        let held = owner.clone();
        let hold: Hold = Arc::new(move || {
            let owner = held.clone();
            Box::pin(async move {
                let what = match tokio::time::timeout(HOLD_MAX, owner.leave()).await {
                    Ok(Ok(())) => return Ok(()),
                    Ok(Err(lost)) => format!("{lost}; ask again: the node that owns the data answers"),
                    Err(_) => "the log does not answer, so nobody knows who owns the data; try again later".into(),
                };
                Err(Error::new(ErrorKind::Unavailable, what))
            })
        });
        let passage = Passage::new(self.forward.clone());
        let entrance = passage.clone();
        let (face, mut asked) =
            Face::new(owner.clone(), self.guard.clone(), self.advertise.clone(), self.is_drained.clone());
        let node = nuthatch_server::Node {
            layer: layer.over_open(store),
            hold,
            gate: Arc::new(move |request, next| Box::pin(entrance.clone().through(request, next))),
            cluster: face.clone(),
        };
        let mut released = None;
        let served = self.runtime.block_on(async {
            let copied = |listener: &std::net::TcpListener| listener.try_clone().map_err(listening(&self.config));
            let http = Some(copied(&self.http)?);
            let redis = self.redis.as_ref().map(copied).transpose()?;
            let server = Server::bind_to(self.config.clone(), Listeners { http, redis }).await?.of_a_copy(node);
            let ready = || {
                passage.open();
                let milliseconds = face.answers_since(since);
                info!(milliseconds, "answering");
            };
            let until = async {
                let heir = tokio::select! {
                    () = self.stop.clone().told() => Some(String::new()),
                    _ = owner.lost() => None,
                    heir = asked.recv() => heir,
                };
                if let Some(heir) = heir {
                    released = self.hand_over(&passage, owner, heir).await;
                }
                passage.pass_on();
                if !self.stop.is_now()
                    && let Err(failed) = self.stand_by().await
                {
                    warn!("{failed}");
                }
                // Clients using a connection in the meantime are told to leave it; idle connections are closed
                // afterwards.
                tokio::time::sleep(LEAVING).await;
            };
            let served = server.run_then(ready, until).await;
            passage.pass_on();
            Ok(served?)
        });
        (served, released)
    }

    /// Lets calls in progress finish, commits their writes, and releases the group. Returns the state of the log
    /// afterwards.
    async fn hand_over(&self, passage: &Passage, owner: &Arc<Owner>, heir: String) -> Option<Known> {
        let since = Instant::now();
        passage.close(DRAIN_MAX).await;
        let (owner, ended) = (owner.clone(), since.elapsed());
        let released = tokio::task::spawn_blocking(move || owner.release(&heir)).await.ok().flatten();
        self.owner_is("");
        let known = released?;
        info!(
            slot = known.slot,
            calls_ended_ms = ended.as_millis() as u64,
            released_ms = since.elapsed().as_millis() as u64,
            "released; another node takes over at once"
        );
        let (log, owner, slot) = (self.log.clone(), self.owner.clone(), known.slot + 1);
        // Requests waiting here need the next owner's address, and this node follows the log only once the folder is
        // closed.
        let learning = std::thread::Builder::new().name("nuthatch-next".into());
        if let Err(failed) = learning.spawn(move || learn_next(&*log, &owner, slot)) {
            warn!("starting nuthatch-next: {failed}");
        }
        Some(known)
    }
}

/// Looks for the fence of the next owner in a slot, unless its address is learned otherwise.
fn learn_next(log: &dyn Log, owner: &watch::Sender<String>, slot: u64) {
    let since = Instant::now();
    while owner.borrow().is_empty() && since.elapsed() < NEXT_MAX {
        if let Ok(Some(entry)) = log.read(slot) {
            if let Kind::Fence { address, .. } = entry.kind {
                owner.send_if_modified(|owner| {
                    let is_open = owner.is_empty();
                    if is_open {
                        *owner = address;
                    }
                    is_open
                });
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Says an address to those who wait for another one.
fn tell(listeners: &watch::Sender<String>, address: &str) {
    listeners.send_if_modified(|known| {
        let is_new = known != address;
        if is_new {
            address.clone_into(known);
        }
        is_new
    });
}

fn listening(config: &Config) -> impl Fn(std::io::Error) -> Failure + use<> {
    let listen = config.listen;
    move |error| Error::internal(format!("the listener at {listen}: {error}")).into()
}

/// The stores of the folder while it is open.
#[derive(Default)]
struct Given {
    logged: Weak<LoggedStore>,
    /// The folder's own, which snapshots hold, too.
    below: Option<Weak<dyn Store>>,
}

/// Calls that the server left behind may still use the store, which must be closed before the folder is opened or marked.
fn wait_until_closed(given: &Mutex<Given>) -> Result<(), Failure> {
    let begun = Instant::now();
    while given.lock().below.as_ref().is_some_and(|store| store.strong_count() > 0) {
        if begun.elapsed() > CLOSING_MAX {
            return Err(Error::internal("calls that do not end keep the folder open; start the node again").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The thread that makes checkpoints.
struct Checkpoints {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: std::thread::JoinHandle<()>,
}

impl Checkpoints {
    fn start(given: Arc<Mutex<Given>>, owner: Arc<Owner>) -> Result<Self, Failure> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let told = stop.clone();
        let work = move || {
            let mut due = Due::new(owner.known());
            loop {
                {
                    let mut stopped = told.0.lock();
                    if !*stopped {
                        told.1.wait_for(&mut stopped, LOOK);
                    }
                    if *stopped {
                        return;
                    }
                }
                let Some(store) = given.lock().logged.upgrade() else { continue };
                let known = owner.known();
                if !due.is_due(&known, store.logged_bytes()) || owner.lost_now().is_some() {
                    continue;
                }
                match store.checkpoint(CHECKPOINTS_KEPT) {
                    Ok(published) => {
                        info!(
                            bytes = published.bytes,
                            new_bytes = published.new_bytes,
                            trimmed = published.trimmed,
                            "checkpoint"
                        );
                        due = Due::after(known, store.logged_bytes());
                    }
                    Err(failed) => {
                        error!("no checkpoint: {failed}");
                        due.failed();
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("nuthatch-checkpoint".into()).spawn(work);
        let thread = thread.map_err(|error| Error::internal(format!("starting nuthatch-checkpoint: {error}")))?;
        Ok(Self { stop, thread })
    }

    fn stop(self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if self.thread.join().is_err() {
            error!("the thread of checkpoints panicked");
        }
    }
}

/// When the next checkpoint is due.
struct Due {
    slot: u64,
    place: u64,
    bytes: u64,
    since: Instant,
}

impl Due {
    /// Of a node that took over: its first checkpoint comes soon if it replayed much.
    fn new(known: Known) -> Self {
        Self { slot: known.slot, place: known.place, bytes: 0, since: Instant::now() }
    }

    fn after(known: Known, bytes: u64) -> Self {
        Self { slot: known.slot, place: known.place, bytes, since: Instant::now() }
    }

    fn is_due(&self, known: &Known, bytes: u64) -> bool {
        let is_new = known.place > self.place;
        known.slot >= self.slot + CHECKPOINT_SLOTS
            || bytes >= self.bytes + CHECKPOINT_LOG_BYTES
            || (is_new && self.since.elapsed() >= CHECKPOINT_AFTER)
    }

    /// Tried again after a while.
    fn failed(&mut self) {
        (self.since, self.slot) = (Instant::now(), self.slot + 30);
    }
}

/// Keeps a second node out of the folder.
#[allow(clippy::disallowed_methods, reason = "the file is empty; its lock is all that counts")]
fn lock(folder: &Path) -> Result<std::fs::File, Failure> {
    let path = folder.join("CLUSTER.lock");
    let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            let what = format!("another node works in {}; give this one a folder of its own", folder.display());
            Err(Error::new(ErrorKind::Conflict, what).into())
        }
        Err(std::fs::TryLockError::Error(error)) => Err(io(&path)(error)),
    }
}

/// Another port of the host in an address.
pub fn beside(address: &str, port: u16) -> String {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    format!("{host}:{port}")
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Failure + use<> {
    let path = path.to_path_buf();
    move |error| ClusterError::Io { path, what: error.to_string() }.into()
}
