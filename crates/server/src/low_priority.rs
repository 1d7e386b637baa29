//! Giving way: the system runs whatever else there is to run first.
//!
//! There are threads for it ([`LowPriorityPool`]), and where the process has the right to take it back, a thread can do so for a while
//! ([`LowPriority`]): one that serves a connection has to.
//!
//! **Useful for** calls that had to wait for their tenant's turn while other tenants ask: what they compute is in nobody's way then,
//! and takes what is left of the processors. **Not for** writes: others would wait for the fsync that such a thread is late to begin.
//!
//! **Invariant:** a thread that gives way for a while is as quick as before when that is over; one that could not be
//! does not give way.

use std::marker::PhantomData;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// As background work has it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Threads of their own: without privileges, a thread that gives way can never be made to hurry again.
pub struct LowPriorityPool {
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl LowPriorityPool {
    /// `threads` at most; each is started when it is needed first, and ends when it is not needed any more.
    pub fn new(threads: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_name("nuthatch-behind")
            .on_thread_start(give_way)
            .build()
            .expect("without drivers it asks nothing of the system");
        Self { runtime: Some(runtime) }
    }

    /// Runs a call on one of the threads.
    pub fn run<T: Send + 'static>(&self, call: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.runtime.as_ref().expect("only dropping takes it").spawn_blocking(call)
    }
}

impl Drop for LowPriorityPool {
    fn drop(&mut self) {
        // Waiting for its threads is not allowed on a thread that serves connections.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn give_way() {
    // Never forward: the process may yield to others even more.
    #[cfg(target_os = "linux")]
    if rustix::process::getpriority_process(None).is_ok_and(|own| own < NICENESS) {
        rustix::process::setpriority_process(None, NICENESS).ok();
    }
}

/// The thread that began this gives way until it is dropped.
pub struct LowPriority {
    /// The thread's niceness before.
    #[cfg(target_os = "linux")]
    niceness: i32,
    /// It is that thread's own.
    _not_send: PhantomData<*const ()>,
}

impl LowPriority {
    /// `None` where the process may not take it back (`LimitNICE` of its service, `CAP_SYS_NICE`): the thread would be late for ever.
    #[cfg(target_os = "linux")]
    pub fn begin() -> Option<Self> {
        static MAY: OnceLock<bool> = OnceLock::new();
        let niceness = rustix::process::getpriority_process(None).ok()?;
        let try_it = move || {
            let one_nicer = rustix::process::setpriority_process(None, niceness + 1);
            one_nicer.and_then(|()| rustix::process::setpriority_process(None, niceness)).is_ok()
        };
        // On a thread of its own, which may stay as it is.
        let try_it = || std::thread::Builder::new().spawn(try_it).ok()?.join().ok();
        let may = *MAY.get_or_init(|| try_it().unwrap_or(false));
        (may && niceness < NICENESS && rustix::process::setpriority_process(None, NICENESS).is_ok())
            .then_some(Self { niceness, _not_send: PhantomData })
    }

    /// There is no niceness of threads.
    #[cfg(not(target_os = "linux"))]
    pub fn begin() -> Option<Self> {
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for LowPriority {
    fn drop(&mut self) {
        rustix::process::setpriority_process(None, self.niceness).ok();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[tokio::test]
    async fn what_runs_behind_is_nicer_than_who_asked_for_it() {
        let mine = niceness();
        let low_priority = LowPriorityPool::new(1);
        assert_eq!(low_priority.run(niceness).await.unwrap(), NICENESS.max(mine));
        assert_eq!(niceness(), mine);
    }

    #[test]
    fn a_thread_gives_way_for_a_while_or_not_at_all() {
        let mine = niceness();
        if let Some(low_priority) = LowPriority::begin() {
            assert_eq!(niceness(), NICENESS);
            drop(low_priority);
        }
        assert_eq!(niceness(), mine);
    }
}
