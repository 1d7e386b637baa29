//! The choice of the request that asks the provider, where several ask the same at the same time, in any process of the
//! folder: the one that has the cache's lease.
//!
//! **What it is.** A lease of the engine, which is renewed for as long as the provider answers. In this process, the [flight](super::flight)
//! of the request holds it: one request takes it for all that ask the same here, so that waiting costs neither threads nor calls.
//! **Invariant:** a lease that was taken is renewed until it ends, and ends: by an answer that is stored, by a word of its owner, or, when
//! its owner is killed, by its time.

use std::time::Duration;

use nuthatch_link::{AskCache, Cache, CacheHit, CacheLease, EndLease, LeaseAnswer, Result as EngineResult};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::control;
use super::exchange::{Found, Given, Keeper, Sought};
use super::flight::{Decision, Landed, Lead};
use crate::problem::Problem;

/// How long others wait for an owner that was killed.
const LEASE: Duration = Duration::from_secs(6);
/// A renewal that comes late, or fails, leaves time for another one.
const RENEWED_EVERY: Duration = Duration::from_secs(2);
/// The pauses of a request that waits for another process: it looks again after the shortest, then less and less often.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Whose turn it is to ask the provider.
pub enum Turn {
    /// Nobody's: another request has brought the answer.
    Given(Box<Given>),
    /// Somebody may have brought the answer: look again, and ask without a lease if there is none.
    Again,
    /// This request's, and the others wait until the lease ends.
    Mine(Box<Lease>),
    /// Everybody's for themselves.
    Alone,
}

/// The right to ask the provider while others wait. Dropped without a word, it passes to the next who waits.
pub struct Lease {
    keeper: Keeper,
    wanted: Wanted,
    /// Both are there until it ends.
    lead: Option<Lead>,
    renewal: Option<Renewal>,
}

/// A request for a lease.
#[derive(Clone)]
struct Wanted {
    sought: Sought,
    owner: String,
}

/// Extends a lease in the background.
struct Renewal {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

/// Finds out whose turn it is after a lookup that found nothing, and waits for it for as long as the provider may take.
///
/// # Errors
/// Those that [`Keeper::cache`] gives to callers who may not ask.
pub async fn turn(keeper: &Keeper, mut missed: &'static str) -> Result<Turn, Problem> {
    let until = Instant::now() + keeper.proxy.config.timeout;
    loop {
        let sought = keeper.exchange.sought(missed);
        let wanted = Wanted { sought, owner: format!("{:016x}{:016x}", control::random()?, control::random()?) };
        let asked = match keeper.proxy.flights.decide(keeper.flight(&wanted.sought)) {
            Decision::Lead(lead) => {
                let lease = Lease { keeper: keeper.clone(), wanted, lead: Some(lead), renewal: None };
                match lease.taken(until).await? {
                    Taken::Turn(turn) => return Ok(turn),
                    Taken::Hit(hit) => hit,
                }
            }
            Decision::Wait(flight) => match flight.landed(until).await {
                Landed::Left => continue,
                Landed::Unkept => return Ok(Turn::Alone),
                Landed::Stored if !wanted.sought.is_prompt => return Ok(Turn::Again),
                // The lease gives the answer, and counts it as one that was waited for.
                Landed::Stored => match wanted.ask_again(keeper).await? {
                    Some(CacheLease::Answered(hit)) => hit,
                    Some(CacheLease::Granted { .. }) => {
                        wanted.end(keeper, false).await;
                        continue;
                    }
                    Some(CacheLease::Held { .. }) => continue,
                    Some(CacheLease::Free) | None => return Ok(Turn::Alone),
                },
            },
        };
        match keeper.exchange.usable(*asked) {
            Ok(Found::Hit(given)) => return Ok(Turn::Given(given)),
            // There is an answer, and this request cannot have it: those that want another one wait for one another.
            Ok(Found::Miss(why)) if why != missed => missed = why,
            Ok(_) => return Ok(Turn::Alone),
            Err(error) => {
                tracing::warn!(kind = error.kind.name(), detail = error.message, "an answer of the cache is none");
                return Ok(Turn::Alone);
            }
        }
    }
}

/// The answer is about to be stored, which ends the lease: a renewal would come after its end.
pub async fn settled(lease: &mut Option<Lease>) {
    if let Some(lease) = lease {
        lease.settle().await;
    }
}

/// Ends a lease, if there is one: the answer is stored, or is not to be kept, and nobody waits for it any more.
pub async fn ended(lease: Option<Lease>, is_stored: bool) {
    if let Some(lease) = lease {
        lease.end(is_stored).await;
    }
}

/// The outcome of asking for a lease.
enum Taken {
    Turn(Turn),
    Hit(Box<CacheHit>),
}

impl Lease {
    /// Asks for the lease until it is had, or needed no more.
    async fn taken(mut self, until: Instant) -> Result<Taken, Problem> {
        let mut pause = PAUSE_MIN;
        loop {
            match self.wanted.ask_again(&self.keeper).await? {
                Some(CacheLease::Answered(hit)) => {
                    self.land(Landed::Stored);
                    return Ok(Taken::Hit(hit));
                }
                Some(CacheLease::Granted { .. }) => {
                    self.renewal = Some(Renewal::begin(self.keeper.clone(), self.wanted.clone()));
                    return Ok(Taken::Turn(Turn::Mine(Box::new(self))));
                }
                Some(CacheLease::Free) if !self.wanted.sought.is_prompt => {
                    self.land(Landed::Stored);
                    return Ok(Taken::Turn(Turn::Again));
                }
                Some(CacheLease::Held { .. }) if Instant::now() < until => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Some(CacheLease::Held { .. } | CacheLease::Free) | None => {
                    self.land(Landed::Unkept);
                    return Ok(Taken::Turn(Turn::Alone));
                }
            }
        }
    }

    fn land(&mut self, landed: Landed) {
        if let Some(lead) = self.lead.take() {
            lead.land(landed);
        }
    }

    async fn settle(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.end().await;
        }
    }

    async fn end(mut self, is_stored: bool) {
        self.settle().await;
        if !(is_stored && self.wanted.sought.is_prompt) {
            self.wanted.end(&self.keeper, true).await;
        }
        self.land(if is_stored { Landed::Stored } else { Landed::Unkept });
    }
}

impl Drop for Lease {
    /// Its request has gone. The next one gets the lease once it is given back.
    fn drop(&mut self) {
        let Some(lead) = self.lead.take() else { return };
        let (keeper, wanted, renewal) = (self.keeper.clone(), self.wanted.clone(), self.renewal.take());
        // Without a runtime this process is ending, and so does the lease, by its time.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Some(renewal) = renewal {
                    renewal.end().await;
                }
                wanted.end(&keeper, false).await;
                lead.land(Landed::Left);
            });
        }
    }
}

impl Renewal {
    fn begin(keeper: Keeper, wanted: Wanted) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut stopped => return,
                    () = sleep(RENEWED_EVERY) => {}
                }
                // A request that has lost it to another goes on without it: the answer is then paid for twice, and
                // correct.
                if let Ok(Some(CacheLease::Held { .. } | CacheLease::Answered(_))) = wanted.ask(&keeper).await {
                    return;
                }
            }
        });
        Self { stop, running }
    }

    /// Waits for a renewal that is under way.
    async fn end(self) {
        drop(self.stop);
        self.running.await.ok();
    }
}

impl Wanted {
    /// Asks for the lease, or for more time. `None` for a cache that fails, which is no reason to have no answer.
    async fn ask(&self, keeper: &Keeper) -> Result<Option<CacheLease>, Problem> {
        let lease_ms = LEASE.as_millis() as u64;
        let wanted = LeaseAnswer { ask: self.ask_cache(), owner: self.owner.clone(), lease_ms, wait_ms: 0 };
        keeper.cache(move |cache| cache.lease(&wanted), "a lease was not given; the provider is asked without").await
    }

    /// The same of one who waits, and goes on waiting when too much is asked at a time.
    async fn ask_again(&self, keeper: &Keeper) -> Result<Option<CacheLease>, Problem> {
        match self.ask(keeper).await {
            Err(problem) if problem.status == 429 => Ok(Some(CacheLease::Held { left_ms: 0 })),
            asked => asked,
        }
    }

    /// Gives the lease back.
    async fn end(&self, keeper: &Keeper, unkept: bool) {
        let end = EndLease { ask: self.ask_cache(), owner: self.owner.clone(), unkept };
        let ended = keeper.cache(move |cache| cache.end_lease(&end), "a lease was not given back; it ends by its time");
        // It ends by its time where the caller may not ask any more.
        ended.await.ok();
    }

    fn ask_cache(&self) -> AskCache {
        self.sought.ask.clone()
    }
}

impl Keeper {
    /// Returns the key that all requests that ask the same share.
    fn flight(&self, sought: &Sought) -> String {
        format!("{}\0{}\0{}", self.caller.tenant(), self.proxy.config.cache, sought.digest())
    }

    /// Asks the cache on behalf of a request that was counted when it began. `None` when that fails, and a warning.
    ///
    /// # Errors
    /// 401, 403, 404 and 429, of callers who may not ask.
    async fn cache<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Cache) -> EngineResult<T> + Send + 'static,
        failed: &'static str,
    ) -> Result<Option<T>, Problem> {
        let (proxy, tenant) = (self.proxy.clone(), self.caller.tenant().to_string());
        match self.caller.go_on(move |database| call(&proxy.prepared.cache(database, &tenant)?)).await {
            Ok(done) => Ok(Some(done)),
            Err(problem) if matches!(problem.status, 401 | 403 | 404 | 429) => Err(problem),
            Err(problem) => {
                tracing::warn!(kind = problem.kind, detail = problem.detail, "{failed}");
                Ok(None)
            }
        }
    }
}
