//! RocksDB's background threads: there while this process has a store open, gone once it has closed the last.
//!
//! **Useful for** processes that open, close and then fork, as application servers and task queues do: RocksDB keeps its threads
//! for the next store, and does not notice that a fork is without them. So they are ended at the last close, and the fork's first store
//! starts its own. **Not for** a program that has other RocksDB databases open in the same library: they would be without threads.
//!
//! **Invariant:** [`opened_by`] is `None` only while no thread of RocksDB runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rocksdb::Env;

/// Stores that are open. Held while one is opened first, and while the threads end after the last.
static OPEN: Mutex<usize> = Mutex::new(0);
/// The process that has stores open, or whose threads still run; forks inherit the number, and the threads not. 0: nobody.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// How long idle threads may take to end, on a machine that is very busy.
const END_WAIT_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Held by every use of RocksDB until it is closed, and released after that.
pub(crate) struct Threads(());

impl Threads {
    pub fn wanted() -> Self {
        let mut open = OPEN.lock();
        *open += 1;
        OPENED_BY.store(std::process::id(), Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut open = OPEN.lock();
        debug_assert!(*open > 0, "RocksDB is closed as often as it is opened");
        *open -= 1;
        if *open == 0 && end_threads() {
            OPENED_BY.store(0, Ordering::SeqCst);
        }
    }
}

/// The process that has a store open; in a fork of it, too, which cannot open one: the threads that would flush and compact are
/// not there. `None` where every store was closed before the fork.
pub fn opened_by() -> Option<u32> {
    match OPENED_BY.load(Ordering::SeqCst) {
        0 => None,
        process => Some(process),
    }
}

/// Ends the threads, which have nothing to do, and says whether they have gone. The next store that is opened starts others.
fn end_threads() -> bool {
    let Ok(mut environment) = Env::new() else { return false };
    environment.set_low_priority_background_threads(0);
    environment.set_high_priority_background_threads(0);
    environment.set_bottom_priority_background_threads(0);
    let until = Instant::now() + END_WAIT_MAX;
    loop {
        match running() {
            Some(0) => return true,
            Some(_) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            _ => return false,
        }
    }
}

/// How many threads of RocksDB there are: it names them. `None` where the system does not tell.
fn running() -> Option<usize> {
    let mut running = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        // One without a name has ended since.
        #[allow(clippy::disallowed_methods, reason = "the system makes it")]
        let name = std::fs::read(task.ok()?.path().join("comm")).unwrap_or_default();
        running += usize::from(name.starts_with(b"rocksdb:"));
    }
    Some(running)
}
