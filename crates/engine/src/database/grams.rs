//! Finding the grams of contents of trees in the background.
//!
//! **Invariant:** it works while nothing else is written, or when something has waited for long; never for keyspaces that nobody
//! has opened.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::database::Registry;
use crate::database::maintenance::{AFTER_FAILURE, ROUND};
use crate::kv::{Kind, Space};
use crate::runtime::yield_to_others;
use crate::tree::{Pace, index_grams};
use crate::{Error, Result};

/// Quiet after the last write before the work begins.
const QUIET: Duration = Duration::from_secs(1);
/// Time after which it begins without any quiet.
const LATE: Duration = Duration::from_secs(30);

pub(crate) fn start(registry: &Arc<Registry>) -> Result<JoinHandle<()>> {
    let registry = registry.clone();
    let thread = std::thread::Builder::new().name("nuthatch-grams".into()).spawn(move || run(&registry));
    thread.map_err(|error| Error::internal(format!("starting nuthatch-grams: {error}")))
}

/// The state that the last look found.
struct Seen {
    latest: u64,
    spaces: usize,
    changed: Instant,
    /// When something changed first that it has not looked through.
    waits_since: Option<Instant>,
}

fn run(registry: &Registry) {
    let background = &registry.shared.background;
    yield_to_others();
    let mut seen = Seen { latest: 0, spaces: 0, changed: Instant::now(), waits_since: None };
    let mut pause = ROUND;
    loop {
        {
            let mut signal = background.signal.lock();
            let until = Instant::now() + pause;
            while !signal.stop && !background.woken.wait_until(&mut signal, until).timed_out() {}
            if signal.stop {
                return;
            }
        }
        // A caller that waits for the index does the work itself, and learns then why it fails.
        pause = match round(registry, &mut seen) {
            Ok(()) => ROUND,
            Err(_) => AFTER_FAILURE,
        };
    }
}

fn round(registry: &Registry, seen: &mut Seen) -> Result<()> {
    let spaces: Vec<Arc<Space>> =
        registry.spaces.lock().all().into_iter().filter(|space| space.kind == Kind::Trees).collect();
    let latest = registry.shared.store()?.latest();
    if (latest, spaces.len()) != (seen.latest, seen.spaces) {
        (seen.latest, seen.spaces, seen.changed) = (latest, spaces.len(), Instant::now());
        seen.waits_since.get_or_insert(seen.changed);
    }
    let Some(since) = seen.waits_since else { return Ok(()) };
    if seen.changed.elapsed() < QUIET && since.elapsed() < LATE {
        return Ok(());
    }
    let mut outcome = Ok(());
    for space in spaces {
        outcome = outcome.and(all_of(&space));
    }
    outcome?;
    seen.waits_since = None;
    // Its own writes are no reason to look again.
    seen.latest = registry.shared.store()?.latest();
    Ok(())
}

fn all_of(space: &Space) -> Result<()> {
    let stopping = &space.shared.background.stopping;
    loop {
        match index_grams(space, Pace::Full, stopping) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // It was told to stop, by a close or a drop, and goes on when it is opened again.
            Err(_) if space.shared.background.is_stopping() || space.check_open().is_err() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
