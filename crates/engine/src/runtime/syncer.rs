//! Making writes durable: at once, soon, or when the system likes.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nuthatch_store::{Batch, Position};
use parking_lot::{Condvar, Mutex};

use crate::durability::Durability;
use crate::runtime::Runtime;
use crate::{Error, Result};

/// The state that the thread for periodic syncs waits on.
#[derive(Default)]
pub(crate) struct Syncer {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Default)]
struct Wanted {
    /// A write waits to be synced soon.
    sync: bool,
    stop: bool,
}

impl Syncer {
    pub fn stop(&self) {
        self.wanted.lock().stop = true;
        self.changed.notify_all();
    }
}

impl Runtime {
    /// The one door to the store for everything that is written. Not durable yet: see [`make_durable`](Self::make_durable).
    pub(crate) fn write(&self, batch: Batch) -> Result<Position> {
        Ok(self.store()?.write(batch)?)
    }

    /// Returns when a write has survived what the durability promises.
    pub(crate) fn make_durable(&self, position: Position, durability: Durability) -> Result<()> {
        match durability {
            Durability::Interval if self.options.background => {
                self.background.syncer.wanted.lock().sync = true;
                self.background.syncer.changed.notify_all();
                Ok(())
            }
            Durability::Commit | Durability::Interval => Ok(self.store()?.sync(position)?),
            Durability::Os => Ok(()),
        }
    }
}

pub(crate) fn start(shared: &Arc<Runtime>) -> Result<JoinHandle<()>> {
    let shared = shared.clone();
    let thread = std::thread::Builder::new().name("nuthatch-sync".into()).spawn(move || run(&shared));
    thread.map_err(|error| Error::internal(format!("starting nuthatch-sync: {error}")))
}

fn run(shared: &Runtime) {
    let interval = Duration::from_millis(shared.options.sync_interval_ms);
    loop {
        {
            let mut wanted = shared.background.syncer.wanted.lock();
            while !wanted.sync && !wanted.stop {
                shared.background.syncer.changed.wait(&mut wanted);
            }
            let until = Instant::now() + interval;
            while !wanted.stop && !shared.background.syncer.changed.wait_until(&mut wanted, until).timed_out() {}
            wanted.sync = false;
            if wanted.stop {
                return; // closing writes everything out
            }
        }
        // When it fails, the store has stopped, and every later call says why.
        if let Ok(store) = shared.store() {
            store.sync_all().ok();
        }
    }
}
