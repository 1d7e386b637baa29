//! Background work: one thread seals and rebuilds, another merges, because a large graph takes minutes and fresh rows do not
//! wait so long. One piece of work at a time each.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nuthatch_store::{Extent, Upkeep};

use crate::collection::{Core, Eagerness};
use crate::database::idle::Idle;
use crate::database::{Registry, embedding, grams};
use crate::index::{Indexed, SEGMENTS, close_retired};
use crate::runtime::{Runtime, Signal, start_syncer, yield_to_others};
use crate::{Error, Result};

/// How often they look round without being woken.
pub(crate) const ROUND: Duration = Duration::from_millis(500);
/// How long they leave a disk or an index alone after a failure, however often they are woken.
pub(crate) const AFTER_FAILURE: Duration = Duration::from_secs(2);

pub(crate) fn start(registry: &Arc<Registry>, threads: &mut Vec<JoinHandle<()>>) -> Result<()> {
    for job in [SEAL, MERGE] {
        let registry = registry.clone();
        let thread = std::thread::Builder::new().name(job.name.into()).spawn(move || run(&registry, &job));
        threads.push(thread.map_err(|error| Error::internal(format!("starting {}: {error}", job.name)))?);
    }
    threads.push(embedding::start(registry)?);
    threads.push(grams::start(registry)?);
    threads.push(start_syncer(&registry.shared)?);
    Ok(())
}

/// The work of a maintenance thread.
#[derive(Clone, Copy)]
struct Job {
    name: &'static str,
    work: fn(&Runtime, &Core) -> Result<()>,
    /// It seals, and also removes expired keys; the other one tidies up when the database is idle.
    sweeps: bool,
    /// Where its last error is kept.
    error: fn(&mut Signal) -> &mut Option<Error>,
}

const SEAL: Job = Job { name: "nuthatch-seal", work: seal, sweeps: true, error: |signal| &mut signal.seal_error };
const MERGE: Job = Job { name: "nuthatch-merge", work: merge, sweeps: false, error: |signal| &mut signal.merge_error };

fn run(registry: &Registry, job: &Job) {
    let shared = &registry.shared;
    yield_to_others();
    if job.sweeps {
        shared.background.sealer_priority.seal_here();
    }
    let (mut failed, mut seen) = (false, 0);
    // Keys that expired while the folder was closed.
    let mut sweep_all = job.sweeps;
    let mut idle = Idle::default();
    loop {
        {
            let mut signal = shared.background.signal.lock();
            let until = Instant::now() + if failed { AFTER_FAILURE } else { ROUND };
            while !signal.stop
                && (failed || signal.wakes == seen)
                && !shared.background.woken.wait_until(&mut signal, until).timed_out()
            {}
            if signal.stop {
                return;
            }
            seen = signal.wakes;
        }
        let mut outcome = round(registry, job.work);
        if job.sweeps {
            registry.snapshots.end_due();
            shared.return_what_was_lent();
            let swept = match sweep_all {
                true => registry.sweep_all_expired(Extent::Everything),
                false => registry.sweep_expired(),
            };
            sweep_all &= swept.is_err();
            outcome = outcome.and(swept);
        } else {
            outcome = outcome.and_then(|()| idle.look(registry));
        }
        failed = outcome.is_err();
        *(job.error)(&mut shared.background.signal.lock()) = outcome.err();
        shared.background.relieved.notify_all();
    }
}

/// Every collection gets its turn, even after errors in others; returns the first error, with the collection's name.
fn round(registry: &Registry, work: fn(&Runtime, &Core) -> Result<()>) -> Result<()> {
    let mut outcome = Ok(());
    for core in registry.open_collections() {
        if registry.shared.background.is_stopping() {
            break;
        }
        if let Err(error) = work(&registry.shared, &core) {
            // Writers of every tenant may be told, so none of another tenant's names may be in it.
            let message = match core.tenant.is_default() {
                true => format!("background work on collection {:?}: {error}", core.name),
                false => format!("background work: {error}"),
            };
            outcome = outcome.and(Err(Error::new(error.kind, message)));
        }
    }
    outcome
}

fn seal(shared: &Runtime, core: &Core) -> Result<()> {
    if !core.state.read().degraded().is_empty() {
        core.rebuild_broken()?;
    }
    if is_due(shared, core) {
        core.flush()?;
        shared.store()?.upkeep().map_or(Ok(()), Upkeep::record_checksums)?;
        shared.background.wake(); // there may be something to merge
    }
    Ok(())
}

fn merge(shared: &Runtime, core: &Core) -> Result<()> {
    close_retired(core);
    core.read_graphs_ahead()?;
    loop {
        let wanted = core.upkeep.optimize_wanted.load(Ordering::SeqCst);
        let eagerness = match wanted {
            true => Eagerness::All,
            false if core.is_idle() => Eagerness::Idle,
            false => Eagerness::Busy,
        };
        match core.merge(eagerness) {
            Ok(true) => {
                shared.background.relieved.notify_all();
            }
            Ok(false) => {
                if wanted {
                    core.upkeep.optimize_wanted.store(false, Ordering::SeqCst);
                }
                return Ok(());
            }
            // It was told to stop, by a close, a drop or damage, and goes on where it was when it is opened again.
            Err(_) if shared.background.is_stopping() || core.is_dropped() || !core.is_sound(SEGMENTS) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn is_due(shared: &Runtime, core: &Core) -> bool {
    let half_full = shared.fresh_bytes() * 2 > shared.memory.budget.fresh_bytes;
    let wanted = core.upkeep.flush_wanted.load(Ordering::SeqCst);
    let state = core.state.read();
    wanted || state.fresh_rows() >= shared.options.fresh_rows_max || half_full && state.fresh_bytes() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::{CollectionOptions, EmbedderChoice, Options, Record};

    /// It woke the thread that merges, which found nothing to do and said so, which woke the writer: the two took both processors
    /// of a small machine from the thread that seals.
    #[test]
    fn a_writer_that_waits_for_room_wakes_nobody_for_each_piece_of_news() {
        let db = Database::in_memory(Options { fresh_rows_max: 4, ..Options::default() }).unwrap();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        let notes = db.collection("notes", options).unwrap();
        let shared = &db.inner.shared;
        let write = |id: usize| notes.upsert(vec![Record::new(id.to_string()).vector(vec![1.0, 2.0])]).unwrap();
        let wakes = || shared.background.signal.lock().wakes;
        let sealing = notes.core.index_work.work.lock();
        for id in 0..9 {
            write(id);
        }
        let (before, began) = (wakes(), Instant::now());
        let (woken, most) = std::thread::scope(|scope| {
            scope.spawn(|| write(9));
            while wakes() == before {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(300));
            let woken = wakes() - before;
            // Once, and whenever there was no news for 200 ms.
            let most = 1 + began.elapsed().as_millis() as u64 / 200;
            drop(sealing);
            (woken, most)
        });
        assert!(woken <= most, "{woken} times, {most} at most");
        assert_eq!(notes.row_count().unwrap(), 10);
    }
}
