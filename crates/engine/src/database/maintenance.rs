//! The background thread: seals, merges, rebuilds. One per database, one piece of work at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::collection::Core;
use crate::database::Shared;
use crate::{Error, Result};

/// How often it looks round without being woken.
const ROUND: Duration = Duration::from_millis(500);
/// How long it leaves a disk or an index alone that has just failed it, however often it is woken.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

pub(crate) fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("nuthatch-maintenance".into())
        .spawn(move || run(&shared))
        .map_err(|error| Error::internal(format!("starting the maintenance thread: {error}")))
}

fn run(shared: &Arc<Shared>) {
    let mut failed = false;
    loop {
        {
            let mut signal = shared.signal.lock();
            let until = Instant::now() + if failed { AFTER_FAILURE } else { ROUND };
            while !signal.stop && (failed || !signal.due) && !shared.woken.wait_until(&mut signal, until).timed_out() {}
            if signal.stop {
                return;
            }
            signal.due = false;
        }
        let outcome = round(shared);
        failed = outcome.is_err();
        shared.signal.lock().error = outcome.err();
        shared.relieved.notify_all();
    }
}

/// Every collection gets its turn, whatever became of the others; the first error is told, with the collection's name.
fn round(shared: &Shared) -> Result<()> {
    let mut outcome = Ok(());
    for core in shared.open_collections() {
        if stopping(shared) {
            break;
        }
        if let Err(error) = work_on(shared, &core) {
            let message = format!("background work on collection {:?}: {error}", core.name);
            outcome = outcome.and(Err(Error::new(error.kind, message)));
        }
    }
    outcome
}

fn work_on(shared: &Shared, core: &Core) -> Result<()> {
    if !core.state.read().degraded().is_empty() {
        core.rebuild_broken()?;
    }
    if is_due(shared, core) {
        core.flush()?;
        shared.truth()?.record_checksums()?;
    }
    while !stopping(shared) && core.merge()? {}
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
