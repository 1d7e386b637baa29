//! How much the server takes on at once: requests, bytes of bodies, calls of the engine.
//!
//! **Invariant:** whatever clients send, memory for bodies stays under its bound, and no more threads work than were allowed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use nuthatch_link::{Error, Result as EngineResult};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::low_priority::LowPriorityPool;
use crate::problem::Problem;

/// Calls that may take minutes (checks, backups, reclaiming) and run in slots of their own, so that other calls never
/// wait for them.
pub const LONG_CALLS: usize = 2;

/// Bytes of a body that must arrive within its timeout, unless it ends.
const PROGRESS_BYTES: usize = 16 << 10;

pub struct Admission {
    requests: AtomicUsize,
    requests_max: usize,
    bodies_bytes: AtomicU64,
    bodies_bytes_max: u64,
    body_bytes_max: u64,
    body_timeout: Duration,
    workers: Arc<Semaphore>,
    low_priority: LowPriorityPool,
    long_workers: Arc<Semaphore>,
}

/// How fast a body comes.
struct Pace {
    since: Instant,
    bytes: usize,
    timeout: Duration,
}

impl Pace {
    /// # Errors
    /// 408 for a body that comes too slowly.
    fn came(&mut self, bytes: usize) -> Result<(), Problem> {
        self.bytes += bytes;
        if self.bytes >= PROGRESS_BYTES {
            (self.since, self.bytes) = (Instant::now(), 0);
        } else if self.since.elapsed() > self.timeout {
            // A byte now and then is no progress: the request would keep its place for days.
            return Err(Problem::timed_out("the client sends the body too slowly"));
        }
        Ok(())
    }
}

/// A request that was let in; it is over when this is dropped.
pub struct Admitted(Arc<Admission>);

/// Memory that a body takes, given back when this is dropped.
pub struct BodyReservation {
    admission: Arc<Admission>,
    bytes: u64,
}

impl Admission {
    pub fn new(config: &Config) -> Self {
        Self {
            requests: AtomicUsize::new(0),
            requests_max: config.requests_max,
            bodies_bytes: AtomicU64::new(0),
            bodies_bytes_max: config.bodies_memory_bytes,
            body_bytes_max: config.body_max_bytes,
            body_timeout: config.body_timeout,
            workers: Arc::new(Semaphore::new(config.workers)),
            low_priority: LowPriorityPool::new(config.workers),
            long_workers: Arc::new(Semaphore::new(LONG_CALLS)),
        }
    }

    /// Threads that all calls of the engine together can take.
    pub fn threads(config: &Config) -> usize {
        config.workers + LONG_CALLS
    }

    /// Lets a request in, unless too many are under way.
    pub fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let admitted = Admitted(self.clone());
        match self.requests.fetch_add(1, Ordering::Relaxed) < self.requests_max {
            true => Some(admitted),
            false => None,
        }
    }

    pub fn requests_under_way(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Memory for a body, none of it used yet.
    pub fn hold(self: &Arc<Self>) -> BodyReservation {
        BodyReservation { admission: self.clone(), bytes: 0 }
    }

    /// The whole body.
    ///
    /// # Errors
    /// 413 for one that is too large, 503 when all bodies together are, 408 for one that stops coming.
    pub async fn read(self: &Arc<Self>, mut body: Body) -> Result<(Bytes, BodyReservation), Problem> {
        let mut held = self.hold();
        let expected = http_body::Body::size_hint(&body).exact().unwrap_or(0);
        self.check_length(expected)?;
        let mut whole = Vec::new();
        let mut pace = self.pace();
        while let Some(data) = self.next(&mut body).await? {
            pace.came(data.len())?;
            self.check_length(held.bytes + data.len() as u64)?;
            held.grow(data.len() as u64)?;
            if whole.is_empty() && data.len() as u64 == expected {
                return Ok((data, held)); // it came in one piece
            }
            whole.extend_from_slice(&data);
        }
        Ok((whole.into(), held))
    }

    /// Adds what comes to `part` until that has `limit` bytes or a little more; false at the body's end. For bodies that are too large
    /// to be held, and have no bound of their own.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), but for 413.
    pub async fn read_part(
        &self,
        body: &mut Body,
        part: &mut Vec<u8>,
        limit: usize,
        held: &mut BodyReservation,
    ) -> Result<bool, Problem> {
        let mut pace = self.pace();
        while part.len() < limit {
            let Some(data) = self.next(body).await? else { return Ok(false) };
            pace.came(data.len())?;
            held.grow(data.len() as u64)?;
            part.extend_from_slice(&data);
        }
        Ok(true)
    }

    fn pace(&self) -> Pace {
        Pace { since: Instant::now(), bytes: 0, timeout: self.body_timeout }
    }

    /// The next bytes of a body; `None` at its end.
    ///
    /// # Errors
    /// 408 when none come in time, 400 when the client went away in the middle.
    pub async fn next(&self, body: &mut Body) -> Result<Option<Bytes>, Problem> {
        loop {
            let Ok(frame) = timeout(self.body_timeout, body.frame()).await else {
                return Err(Problem::timed_out("the client stopped sending the body"));
            };
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {} // trailers
                },
                Some(Err(error)) => return Err(Problem::invalid(format!("the body ended early: {error}"))),
            }
        }
    }

    fn check_length(&self, bytes: u64) -> Result<(), Problem> {
        match bytes > self.body_bytes_max {
            true => Err(Problem::too_large(format!("the body has more than {} bytes", self.body_bytes_max))),
            false => Ok(()),
        }
    }

    /// Runs a call of the engine on a thread that may block.
    ///
    /// # Errors
    /// Its own; `Internal` when it panics.
    pub async fn work<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> EngineResult<T> {
        run(&self.workers, call, spawn_blocking).await
    }

    /// The same on a thread that gives way to all others.
    ///
    /// # Errors
    /// Its own; `Internal` when it panics.
    pub async fn work_behind<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> EngineResult<T> {
        run(&self.workers, call, |call| self.low_priority.run(call)).await
    }

    /// The same for a call that may take minutes.
    pub async fn work_long<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> EngineResult<T> {
        run(&self.long_workers, call, spawn_blocking).await
    }
}

/// Runs a call that waits for nothing on the thread that asks for it.
///
/// # Errors
/// Its own; `Internal` when it panics.
pub fn at_once<T>(call: impl FnOnce() -> EngineResult<T>) -> EngineResult<T> {
    // The next call checks again whatever it was checking.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(panicked(&"on a thread of the connections")))
}

/// A call, as it is handed to a thread.
type Call<T> = Box<dyn FnOnce() -> EngineResult<T> + Send>;

async fn run<T: Send + 'static>(
    workers: &Arc<Semaphore>,
    call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    spawn: impl FnOnce(Call<T>) -> JoinHandle<EngineResult<T>>,
) -> EngineResult<T> {
    let permit = workers.clone().acquire_owned().await.expect("nobody closes the semaphore");
    let done = spawn(Box::new(move || {
        let done = call();
        drop(permit); // only now: the client may be gone, but the thread was taken until here
        done
    }));
    done.await.unwrap_or_else(|error| Err(panicked(&error)))
}

fn panicked(why: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("a call panicked, which is a defect: {why}"))
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BodyReservation {
    /// Takes memory for that many bytes more.
    ///
    /// # Errors
    /// 503 when the bodies of all requests together would take too much.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Problem> {
        self.bytes += bytes;
        let before = self.admission.bodies_bytes.fetch_add(bytes, Ordering::Relaxed);
        match before + bytes > self.admission.bodies_bytes_max {
            true => Err(Problem::unavailable("the bodies of the requests under way fill `bodies_memory`")),
            false => Ok(()),
        }
    }

    /// Gives back that many bytes, as far as they were taken.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.admission.bodies_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that it takes.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.admission.bodies_bytes.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(config: Config) -> Arc<Admission> {
        Arc::new(Admission::new(&config))
    }

    #[test]
    fn what_was_taken_is_given_back() {
        let admission = admission(Config { requests_max: 1, bodies_memory_bytes: 10, ..Config::default() });
        let first = admission.admit();
        assert!(first.is_some() && admission.admit().is_none());
        assert_eq!(admission.requests_under_way(), 1);
        drop(first);
        assert!(admission.admit().is_some());
        let mut held = admission.hold();
        held.grow(10).unwrap();
        assert_eq!(admission.hold().grow(1).unwrap_err().status, 503);
        drop(held);
        admission.hold().grow(10).unwrap();
    }

    #[tokio::test]
    async fn a_body_over_the_bound_is_refused_and_a_panic_is_an_answer() {
        let admission = admission(Config { body_max_bytes: 4, ..Config::default() });
        assert_eq!(admission.read(Body::from("abcd")).await.ok().unwrap().0, "abcd");
        assert_eq!(admission.read(Body::from("abcde")).await.err().unwrap().status, 413);
        let failed = admission.work(|| -> EngineResult<()> { panic!("boom") }).await;
        assert_eq!(failed.unwrap_err().kind.name(), "internal");
        admission.work(|| Ok(())).await.unwrap();
        let failed = at_once(|| -> EngineResult<()> { panic!("boom") });
        assert_eq!(failed.unwrap_err().kind.name(), "internal");
        at_once(|| Ok(())).unwrap();
    }
}
