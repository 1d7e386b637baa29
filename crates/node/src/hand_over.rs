//! Handing the data over on request: the owner's side, and the commands that ask for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_cluster::{ClusterError, Known, Log, Owner};
use nuthatch_link::{Error, ErrorKind};
use nuthatch_server::{Cluster, ClusterState};
use serde_json::json;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::place::{FORMS, Place};
use crate::watch::Guarded;

/// The owner's part, for the server.
pub struct Face {
    owner: Arc<Owner>,
    guard: Option<Arc<Guarded>>,
    advertise: String,
    is_drained: Arc<AtomicBool>,
    took_over_ms: AtomicU64,
    ask: mpsc::UnboundedSender<String>,
}

impl Face {
    /// With what hears of a node that is to own the data next.
    pub fn new(
        owner: Arc<Owner>,
        guard: Option<Arc<Guarded>>,
        advertise: String,
        is_drained: Arc<AtomicBool>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (ask, asked) = mpsc::unbounded_channel();
        let face = Self { owner, guard, advertise, is_drained, took_over_ms: AtomicU64::new(0), ask };
        (Arc::new(face), asked)
    }

    /// It answers now. Milliseconds since it owned the data.
    pub fn answers_since(&self, since: Instant) -> u64 {
        let took = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.took_over_ms.store(took, Ordering::Relaxed);
        took
    }

    fn standbys(&self) -> Option<Vec<String>> {
        self.guard.as_ref().map(|guard| guard.standbys())
    }
}

impl Cluster for Face {
    fn state(&self) -> ClusterState {
        let Known { slot, epoch, place, .. } = self.owner.known();
        ClusterState {
            owner: self.advertise.clone(),
            epoch,
            slot,
            batches: place,
            standbys: self.standbys().unwrap_or_default(),
            took_over_ms: self.took_over_ms.load(Ordering::Relaxed),
        }
    }

    fn hand_over(&self, to: String, drain: bool) -> Result<(), Error> {
        let conflict = |what: String| Err(Error::new(ErrorKind::Conflict, what));
        if to == self.advertise {
            return conflict(format!("{to} owns the data already"));
        }
        if let Some(standbys) = self.standbys() {
            if standbys.is_empty() {
                return conflict(
                    "no node follows this one; start another one, or check that it reaches the guard".into(),
                );
            }
            if !to.is_empty() && !standbys.contains(&to) {
                return conflict(format!("{to} does not follow; these nodes do: {}", standbys.join(", ")));
            }
        }
        if drain {
            self.is_drained.store(true, Ordering::SeqCst);
        }
        // One that was asked before goes on.
        self.ask.send(to).ok();
        Ok(())
    }
}

/// How long a command waits for the next owner.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Args)]
struct Asking {
    #[arg(value_name = "STORE", help = FORMS)]
    store: String,
    /// A key of the server with the scope `admin`, where it wants one
    #[arg(long, env = "NUTHATCH_KEY", hide_env_values = true, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Args)]
pub struct Move {
    #[command(flatten)]
    asking: Asking,
    /// The node that is to own the data, as it advertises itself [default: any that follows]
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
}

#[derive(Args)]
pub struct Drain {
    #[command(flatten)]
    asking: Asking,
    /// The node, as it advertises itself
    #[arg(value_name = "HOST:PORT")]
    node: String,
}

impl Move {
    pub fn run(&self) -> Result<u8, Failure> {
        let log = Place::parse(&self.asking.store)?.open()?;
        let owner = owner(&*log)?;
        if self.to.as_ref() == Some(&owner.address) {
            println!("{} owns the data already", owner.address);
            return Ok(0);
        }
        self.asking.hand_over(&*log, &owner, self.to.as_deref(), false)
    }
}

impl Drain {
    pub fn run(&self) -> Result<u8, Failure> {
        let log = Place::parse(&self.asking.store)?.open()?;
        let owner = owner(&*log)?;
        if owner.address != self.node {
            let what = format!(
                "{} owns the data, and not {}; a node that follows can be stopped at any time",
                owner.address, self.node
            );
            return Err(Error::new(ErrorKind::Conflict, what).into());
        }
        self.asking.hand_over(&*log, &owner, None, true)
    }
}

fn owner(log: &dyn Log) -> Result<Known, Failure> {
    let head = log.head()?;
    match head.address.is_empty() {
        true => {
            Err(ClusterError::NotFound("no node owns the data; start one with `nuthatch-cluster serve`".into()).into())
        }
        false => Ok(head),
    }
}

impl Asking {
    /// Asks the owner, and waits until another node is.
    fn hand_over(&self, log: &dyn Log, before: &Known, to: Option<&str>, drain: bool) -> Result<u8, Failure> {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false).build().into();
        let url = format!("http://{}/v1/cluster/hand-over", before.address);
        let mut request = agent.post(&url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let since = Instant::now();
        let unreachable = |what: String| Error::new(ErrorKind::Unavailable, format!("{url}: {what}"));
        let body = json!({"to": to, "drain": drain}).to_string();
        let mut answer = request.send(body).map_err(|error| unreachable(error.to_string()))?;
        if answer.status() != 202 {
            let said = answer.body_mut().read_to_string().map_err(|error| unreachable(error.to_string()))?;
            let problem: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or(&said);
            let kind = match answer.status().as_u16() {
                409 => ErrorKind::Conflict,
                401 | 403 | 400 => ErrorKind::Invalid,
                404 => ErrorKind::NotFound,
                _ => ErrorKind::Unavailable,
            };
            return Err(Error::new(kind, format!("{} refuses: {detail}", before.address)).into());
        }
        loop {
            let head = log.head()?;
            if head.epoch > before.epoch && !head.address.is_empty() {
                println!(
                    "{} owns the data (epoch {}), after {} ms",
                    head.address,
                    head.epoch,
                    since.elapsed().as_millis()
                );
                return Ok(0);
            }
            if since.elapsed() > PATIENCE {
                let what = "no node has taken the data over; `nuthatch-cluster status` says who owns them";
                return Err(Error::new(ErrorKind::Unavailable, what).into());
            }
            std::thread::sleep(LOOK);
        }
    }
}
