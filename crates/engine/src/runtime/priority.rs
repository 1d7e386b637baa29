//! Priority inheritance: sealing that writers wait for runs at their priority. Otherwise such a writer would wait for
//! everything else on the machine.
//!
//! The thread that seals has the niceness of background work. While a writer waits for it, it has the writer's
//! niceness, where the system lets the process raise its priority (as root, with `CAP_SYS_NICE` or `LimitNICE`);
//! elsewhere it only skips its rests.
//!
//! **Invariant:** when no writer waits, the thread has the niceness of background work.

use std::sync::OnceLock;

use parking_lot::Mutex;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, getpriority_process, setpriority_process};

/// The niceness of background work: the system runs everything else first, such as searches and a model on the same
/// machine.
const NICENESS: i32 = 10;

#[derive(Default)]
pub(crate) struct PriorityInheritance {
    waiting: Mutex<usize>,
    /// The thread that seals, as the system calls it.
    sealer: OnceLock<i32>,
}

/// A writer waits, until this is dropped.
pub(crate) struct Waiting<'h>(&'h PriorityInheritance);

impl PriorityInheritance {
    /// The calling thread seals from now on.
    pub fn seal_here(&self) {
        if let Some(thread) = own_thread() {
            self.sealer.set(thread).ok(); // there is one
        }
    }

    /// Somebody waits.
    pub fn is_wanted(&self) -> bool {
        *self.waiting.lock() > 0
    }

    /// Call it before waiting for the sealer.
    pub fn wait(&self) -> Waiting<'_> {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        let background = background_niceness();
        self.give(own_niceness().unwrap_or(background).min(background));
        Waiting(self)
    }

    fn give(&self, niceness: i32) {
        if let Some(thread) = self.sealer.get() {
            set_niceness(*thread, niceness);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock();
        *waiting -= 1;
        if *waiting == 0 {
            self.0.give(background_niceness());
        }
    }
}

/// Threads that this one starts inherit it.
pub(crate) fn yield_to_others() {
    // Where that is not allowed the work is as right, only less polite.
    #[cfg(target_os = "linux")]
    rustix::process::setpriority_process(None, background_niceness()).ok();
}

/// The niceness of background work: [`NICENESS`], or the calling thread's where that is higher.
#[cfg(target_os = "linux")]
fn background_niceness() -> i32 {
    rustix::process::getpriority_process(None).map_or(NICENESS, |own| own.max(NICENESS))
}

#[cfg(not(target_os = "linux"))]
fn background_niceness() -> i32 {
    NICENESS
}

#[cfg(target_os = "linux")]
fn own_thread() -> Option<i32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn own_niceness() -> Option<i32> {
    getpriority_process(None).ok()
}

/// Where that is not allowed, the work is as right, only later.
#[cfg(target_os = "linux")]
fn set_niceness(thread: i32, niceness: i32) {
    setpriority_process(Pid::from_raw(thread), niceness).ok();
}

#[cfg(not(target_os = "linux"))]
fn own_thread() -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn own_niceness() -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn set_niceness(_: i32, _: i32) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_sealing_thread_is_not_behind_a_writer_that_waits_and_is_again_when_nobody_does() {
        let (sealer_priority, mine) = (PriorityInheritance::default(), own_niceness().unwrap());
        let background = background_niceness();
        assert!(background >= mine);
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let sealer_priority = &sealer_priority;
            scope.spawn(move || {
                yield_to_others();
                sealer_priority.seal_here();
                tell.send(()).unwrap();
                ended.recv().ok();
            });
            told.recv().unwrap();
            let sealer = || getpriority_process(Pid::from_raw(*sealer_priority.sealer.get().unwrap())).unwrap();
            assert!(!sealer_priority.is_wanted());
            assert_eq!(sealer(), background);
            let (first, second) = (sealer_priority.wait(), sealer_priority.wait());
            // Where the process may not take it back, it stays.
            assert!(sealer_priority.is_wanted() && [mine, background].contains(&sealer()));
            drop(first);
            assert!(sealer_priority.is_wanted());
            drop(second);
            assert!(!sealer_priority.is_wanted());
            assert_eq!(sealer(), background);
            drop(end);
        });
    }
}
