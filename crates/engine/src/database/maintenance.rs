//! The background thread: seals, merges, rebuilds. One per database, one piece of work at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::collection::Core;
use crate::database::Shared;
use crate::{Error, Result};

/// How often it looks round without being woken.
const ROUND: Duration = Duration::from_millis(500);

pub(crate) fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("nuthatch-maintenance".into())
        .spawn(move || run(&shared))
        .map_err(|error| Error::internal(format!("starting the maintenance thread: {error}")))
}

fn run(shared: &Arc<Shared>) {
    loop {
        {
            let mut signal = shared.signal.lock();
            if !signal.due && !signal.stop {
                shared.woken.wait_for(&mut signal, ROUND);
            }
            if signal.stop {
                return;
            }
            signal.due = false;
        }
        let outcome = round(shared);
        shared.signal.lock().error = outcome.err();
        shared.relieved.notify_all();
    }
}

fn round(shared: &Shared) -> Result<()> {
    for core in shared.open_collections() {
        if stopping(shared) {
            return Ok(());
        }
        if !core.state.read().degraded().is_empty() {
            core.rebuild_broken()?;
        }
        if is_due(shared, &core) {
            core.flush()?;
            shared.truth()?.record_checksums()?;
        }
        while !stopping(shared) && core.merge()? {}
    }
    Ok(())
}

fn is_due(shared: &Shared, core: &Core) -> bool {
    let half_full = shared.fresh_bytes() * 2 > shared.budget.fresh_bytes;
    let wanted = core.flush_wanted.load(Ordering::SeqCst);
    let state = core.state.read();
    wanted || state.fresh_rows() >= shared.options.fresh_rows_max || half_full && state.fresh_bytes() > 0
}

fn stopping(shared: &Shared) -> bool {
    shared.signal.lock().stop
}
