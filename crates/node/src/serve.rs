//! `serve`: a node's life. It follows the log until the owner is gone, answers as the owner until another node takes over, and begins
//! anew.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_cluster::{
    ADDRESS_BYTES_MAX, ClusterError, Followed, Group, Known, Log, LoggedStore, Owner, apply, boot_clock, follow,
};
use nuthatch_link::{Error, ErrorKind, StoreLayer};
use nuthatch_server::config::Layers;
use nuthatch_server::{Config, Hold, Server, listen_to_signals, start_logging};
use nuthatch_store::{RocksStore, Store, StoreOptions};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::copy::Copy;
use crate::failure::Failure;
use crate::place::{FORMS, Place};
use crate::standby::Standby;

/// Memory of a copy that is only followed.
const FOLLOWING: StoreOptions = StoreOptions { cache_bytes: 8 << 20, write_buffer_bytes: 8 << 20 };
/// How often the owner looks whether a checkpoint is due.
const LOOK: Duration = Duration::from_secs(1);
/// What makes one due: batches that others would replay, slots (an idle owner's beats, too), or time since something was written.
const CHECKPOINT_SLOTS: u64 = 600;
const CHECKPOINT_AFTER: Duration = Duration::from_secs(600);
const CHECKPOINT_LOG_BYTES: u64 = 64 << 20;
const CHECKPOINTS_KEPT: usize = 2;
/// How long an answer waits for the log.
const HOLD_MAX: Duration = Duration::from_secs(30);
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
        let node = Node { config, advertise, log, runtime, stop };
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
        let config = Config::resolve(&layers)?;
        if config.redis.is_some() {
            let what = "a node answers over HTTP alone so far, because Redis' answers are not held until they are committed; \
                        leave out `redis`";
            return Err(Error::invalid(what).into());
        }
        Ok(config)
    }
}

/// What ends the process.
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
}

impl Node {
    fn live(&self, folder: &Path) -> Result<(), Failure> {
        while !self.stop.is_now() {
            let copy = Copy::prepare(folder, &*self.log)?;
            self.follow(copy)?;
        }
        Ok(())
    }

    /// Follows, and owns if it comes to that. Returns when the copy is closed, or has to be made anew.
    fn follow(&self, copy: Copy) -> Result<(), Failure> {
        let (writer, began) = (uuid::Uuid::new_v4().as_u128(), copy.known.place);
        let mut group = Group::new(writer, &self.advertise, self.log.base().timing(), copy.known.clone(), boot_clock());
        let store = RocksStore::open(&copy.store(), FOLLOWING)?;
        let standby = self.runtime.block_on(Standby::start(self.config.listen))?;
        info!(log = self.log.address(), slot = copy.known.slot, "following");
        let mut bring = |group: &Group, entry: nuthatch_cluster::Entry| {
            standby.owner_is(&group.known().address);
            apply(&store, &*self.log, group.known().slot, &entry)
        };
        let mut told = |failed: &ClusterError| warn!("{failed}");
        let followed = follow(&*self.log, &mut group, &self.stop.now, &mut bring, &mut told);
        self.runtime.block_on(standby.stop());
        match followed? {
            Followed::Owns(epoch) => {
                // At once: from here on the lease is kept.
                let told = |failed: &ClusterError| warn!("{failed}");
                let owner = Arc::new(Owner::start(self.log.clone(), group, told)?);
                info!(epoch, "this node owns the data");
                store.flush()?;
                drop(store);
                if copy.is_new || owner.known().place > began {
                    copy.drop_indexes()?;
                }
                self.own(copy, &owner)
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

    fn own(&self, copy: Copy, owner: &Arc<Owner>) -> Result<(), Failure> {
        let given: Arc<Mutex<Given>> = Arc::default();
        let checkpoints = Checkpoints::start(given.clone(), owner.clone())?;
        let served = self.serve(&copy, owner, given.clone());
        checkpoints.stop();
        wait_until_closed(&given)?;
        if let Some(lost) = owner.lost_now() {
            warn!("this node no longer owns the data: {lost}");
            return Ok(());
        }
        let released = owner.release();
        served?;
        match released {
            Some(known) => {
                info!(slot = known.slot, "released; another node takes over at once");
                copy.closed(&*self.log, known)
            }
            None => Ok(()),
        }
    }

    /// Answers until the node is told to stop, or no longer owns the data.
    fn serve(&self, copy: &Copy, owner: &Arc<Owner>, given: Arc<Mutex<Given>>) -> Result<(), Failure> {
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
        self.runtime.block_on(async {
            let server = Server::bind(self.config.clone()).await?.of_a_copy(layer, hold);
            let stop = self.stop.clone();
            let until = owner.clone();
            server
                .run(async move {
                    tokio::select! {
                        () = stop.told() => {}
                        _ = until.lost() => {}
                    }
                })
                .await?;
            Ok(())
        })
    }
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

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Failure + use<> {
    let path = path.to_path_buf();
    move |error| ClusterError::Io { path, what: error.to_string() }.into()
}
