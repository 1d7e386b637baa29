//! Reading many records at once where the system cannot be told to: a few threads that wait in its place.
//!
//! The threads belong to the process, start at the first need and wait for work until the process ends. Each job carries its own
//! buffer, so that nothing is lent across threads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::RecordFile;
use crate::pread::pread;

/// A thread's result for the job with this place in the batch.
pub(super) struct Done {
    pub place: usize,
    pub bytes: std::io::Result<Vec<u8>>,
    pub took: Duration,
}

struct Job {
    file: Arc<RecordFile>,
    offset: u64,
    place: usize,
    done: Sender<Done>,
}

/// Enough to keep a disk busy; more only wait for each other.
const THREADS: usize = 8;

/// The way to the threads, and the process that started them: a forked child has none.
static QUEUE: Mutex<Option<(u32, Sender<Job>)>> = Mutex::new(None);

/// Reads records at these (place, offset) and hands out what comes back, in any order. Jobs that no thread could take are missing.
pub(super) fn read(file: &Arc<RecordFile>, jobs: &[(usize, u64)]) -> Receiver<Done> {
    let (done, results) = channel();
    if let Some(queue) = queue() {
        for &(place, offset) in jobs {
            let job = Job { file: file.clone(), offset, place, done: done.clone() };
            if queue.send(job).is_err() {
                break;
            }
        }
    }
    results
}

fn queue() -> Option<Sender<Job>> {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if queue.as_ref().is_none_or(|(started_by, _)| *started_by != process) {
        *queue = start().map(|jobs| (process, jobs));
    }
    queue.as_ref().map(|(_, jobs)| jobs.clone())
}

fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = channel();
    let jobs = Arc::new(Mutex::new(jobs));
    let started = (0..THREADS)
        .filter(|_| {
            let jobs = jobs.clone();
            std::thread::Builder::new().name("nuthatch-read".into()).spawn(move || work(&jobs)).is_ok()
        })
        .count();
    (started > 0).then_some(sender)
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting for a job and released before reading.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { file, offset, place, done }) = job else { return };
        let mut bytes = vec![0; file.record_bytes()];
        let begun = Instant::now();
        let read = pread(file.file(), offset, &mut bytes);
        let took = begun.elapsed();
        // Before the reader goes on: who closes a file then finds it closed, and may remove it on every system.
        drop(file);
        let _ = done.send(Done { place, bytes: read.map(|()| bytes), took });
    }
}
