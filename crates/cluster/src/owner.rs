//! Owning a group: a thread that brings what was written into the log and keeps the lease.
//!
//! **Invariant:** [`Owner::committed`] returns `Ok` for what is in the log and for nothing else; [`Owner::leave`] lets an answer go
//! only while no other node can own the group.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::ask::ask;
use crate::clock::boot_clock;
use crate::{ClusterError, End, Epoch, Event, Group, Known, Leave, Log, Place, Result};

/// Between two requests while the log does not answer.
const PATIENCE: Duration = Duration::from_millis(200);
/// Bytes that may wait for the log; writers wait beyond.
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// Why a node no longer owns its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The protocol has ended.
    Ended(End),
    /// The log is damaged; the message names the object.
    Damaged(String),
    /// A write to this node's copy failed, and whether it was done is unknown.
    CopyFailed(String),
}

impl std::fmt::Display for Lost {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ended(End::Fenced(epoch)) => write!(out, "another node took over with epoch {epoch}"),
            Self::Ended(End::Released) => out.write_str("this node has released the group"),
            Self::Ended(End::Behind) => out.write_str("this node's copy is older than the newest checkpoint"),
            Self::Ended(End::Disordered(slot)) => write!(out, "slot {slot} of the log contradicts those before it"),
            Self::Damaged(what) => out.write_str(what),
            Self::CopyFailed(what) => write!(out, "a write to this node's copy failed: {what}"),
        }
    }
}

/// The owner's side of a group.
pub struct Owner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    log: Arc<dyn Log>,
    grew: Box<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
    /// Something was written, committed, or is over.
    changed: Condvar,
    /// The same, for those who wait without a thread.
    moved: watch::Sender<u64>,
}

struct State {
    group: Group,
    lost: Option<Lost>,
    /// Writes that wait for the log: where each ends, and its bytes.
    backlog: VecDeque<(Place, usize)>,
    backlog_bytes: usize,
    /// Writes to the copy that have begun, and those of them that are queued or failed: what lies between may be seen already.
    begun: u64,
    ended: u64,
}

impl Owner {
    /// Begins to keep the lease of a group that [`follow`](crate::follow) has brought to this node. `grew` hears when the log has
    /// batches that it had not, or this node has released the group; `told` hears of requests that failed.
    ///
    /// # Errors
    /// `Invalid` when the system gives no thread.
    pub fn start(
        log: Arc<dyn Log>,
        group: Group,
        grew: impl Fn() + Send + Sync + 'static,
        told: impl Fn(&ClusterError) + Send + 'static,
    ) -> Result<Self> {
        let state = State { group, lost: None, backlog: VecDeque::new(), backlog_bytes: 0, begun: 0, ended: 0 };
        let shared = Arc::new(Shared {
            log,
            grew: Box::new(grew),
            state: Mutex::new(state),
            changed: Condvar::new(),
            moved: watch::Sender::new(0),
        });
        let worker = shared.clone();
        let thread = std::thread::Builder::new().name("nuthatch-log".into()).spawn(move || worker.run(&told));
        let thread = thread.map_err(|error| ClusterError::Invalid(format!("starting nuthatch-log: {error}")))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Before a batch is written to the copy, where it may be seen at once. Waits while too much waits for the log.
    /// [`write`](Self::write) or [`abandon`](Self::abandon) follows.
    ///
    /// # Errors
    /// Why this node no longer owns the group.
    pub fn begin(&self) -> std::result::Result<(), Lost> {
        let mut state = self.shared.state.lock();
        while state.lost.is_none() && state.backlog_bytes > BACKLOG_BYTES_MAX {
            self.shared.changed.wait(&mut state);
        }
        match &state.lost {
            Some(lost) => Err(lost.clone()),
            None => {
                state.begun += 1;
                Ok(())
            }
        }
    }

    /// The batch may be in the copy and will not be in the log: nobody may see the copy any more.
    pub fn give_up(&self, what: String) {
        let mut state = self.shared.state.lock();
        state.ended += 1;
        state.lost.get_or_insert(Lost::CopyFailed(what));
        drop(state);
        self.shared.tell();
    }

    /// The batch is not in the copy.
    pub fn abandon(&self) {
        self.shared.state.lock().ended += 1;
        self.shared.tell();
    }

    /// Queues a batch that the copy has, for the log.
    ///
    /// # Errors
    /// Why this node no longer owns the group.
    pub fn write(&self, batch: Arc<[u8]>) -> std::result::Result<Place, Lost> {
        let mut state = self.shared.state.lock();
        let bytes = batch.len();
        let queued = state.group.write(batch);
        state.ended += 1;
        if let Some(place) = queued {
            state.backlog.push_back((place, bytes));
            state.backlog_bytes += bytes;
        }
        let lost = state.lost.clone();
        drop(state);
        self.shared.tell();
        queued.ok_or_else(|| lost.unwrap_or(Lost::Ended(End::Released)))
    }

    /// Waits until everything up to a place is committed.
    ///
    /// # Errors
    /// Why it never will be by this node. Whether it is, the next owner tells.
    pub fn committed(&self, place: Place) -> std::result::Result<(), Lost> {
        let mut state = self.shared.state.lock();
        loop {
            if state.group.known().place >= place {
                return Ok(());
            }
            if let Some(lost) = &state.lost {
                return Err(lost.clone());
            }
            self.shared.changed.wait(&mut state);
        }
    }

    /// Waits until an answer may leave that saw everything written so far.
    ///
    /// # Errors
    /// Why it never may.
    pub async fn leave(&self) -> std::result::Result<(), Lost> {
        let mut moved = self.shared.moved.subscribe();
        let begun = self.shared.state.lock().begun;
        let mut seen = None;
        loop {
            moved.borrow_and_update();
            {
                let state = self.shared.state.lock();
                if let Some(lost) = &state.lost {
                    return Err(lost.clone());
                }
                if seen.is_none() && state.ended >= begun {
                    seen = Some(written(&state.group));
                }
                let seen = seen.unwrap_or(Place::MAX);
                match state.group.answer(seen, boot_clock()) {
                    Leave::Yes => return Ok(()),
                    Leave::Never => return Err(Lost::Ended(End::Released)),
                    Leave::NotYet => {}
                }
            }
            if moved.changed().await.is_err() {
                return Err(Lost::Ended(End::Released)); // the owner is gone
            }
        }
    }

    /// Waits until this node no longer owns the group.
    pub async fn lost(&self) -> Lost {
        let mut moved = self.shared.moved.subscribe();
        loop {
            moved.borrow_and_update();
            if let Some(lost) = self.lost_now() {
                return lost;
            }
            if moved.changed().await.is_err() {
                return Lost::Ended(End::Released);
            }
        }
    }

    /// Why this node no longer owns the group, unless it does.
    pub fn lost_now(&self) -> Option<Lost> {
        self.shared.state.lock().lost.clone()
    }

    /// Batches written so far.
    pub fn written(&self) -> Place {
        written(&self.shared.state.lock().group)
    }

    /// Returns the committed state.
    pub fn known(&self) -> Known {
        self.shared.state.lock().group.known().clone()
    }

    /// The ownership.
    pub fn epoch(&self) -> Epoch {
        self.shared.state.lock().group.known().epoch
    }

    /// Commits pending writes, releases the group to the node at `heir` (to any node if that is empty), and waits for
    /// both. Returns the state of the log afterwards, once this node's copy matches it.
    pub fn release(&self, heir: &str) -> Option<Known> {
        let events = self.shared.state.lock().group.release(heir);
        self.shared.after(events);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            thread.join().ok(); // a panic of it is in the log of the process
        }
        let state = self.shared.state.lock();
        match state.lost {
            Some(Lost::Ended(End::Released)) => Some(state.group.known().clone()),
            _ => None,
        }
    }
}

fn written(group: &Group) -> Place {
    group.written().unwrap_or(group.known().place)
}

impl Shared {
    fn run(&self, told: &dyn Fn(&ClusterError)) {
        loop {
            let call = {
                let mut state = self.state.lock();
                loop {
                    if state.lost.is_some() {
                        return;
                    }
                    let now = boot_clock();
                    if let Some(call) = state.group.next(now) {
                        break call;
                    }
                    let left = state.group.wakes().map_or(1000, |wakes| wakes.0.saturating_sub(now.0)).max(1);
                    self.changed.wait_for(&mut state, Duration::from_millis(left));
                }
            };
            match ask(&*self.log, call) {
                Ok((answered, failed)) => {
                    let events = self.state.lock().group.heard(answered, boot_clock());
                    self.after(events);
                    if let Some(failed) = failed {
                        told(&failed);
                        std::thread::sleep(PATIENCE);
                    }
                }
                Err(error) => {
                    told(&error);
                    self.state.lock().lost = Some(Lost::Damaged(error.to_string()));
                    self.tell();
                    return;
                }
            }
        }
    }

    fn after(&self, events: Vec<Event>) {
        if events.iter().any(|event| matches!(event, Event::Committed(_) | Event::Ended(End::Released))) {
            (self.grew)();
        }
        {
            let mut state = self.state.lock();
            for event in events {
                match event {
                    Event::Committed(place) => {
                        while let Some((end, bytes)) = state.backlog.front().copied()
                            && end <= place
                        {
                            state.backlog.pop_front();
                            state.backlog_bytes -= bytes;
                        }
                    }
                    Event::Ended(end) => state.lost = Some(Lost::Ended(end)),
                    Event::Apply(_) | Event::Owned(_) | Event::Disowned(_) => {}
                }
            }
        }
        self.tell();
    }

    fn tell(&self) {
        self.changed.notify_all();
        self.moved.send_modify(|count| *count += 1);
    }
}

impl Drop for Owner {
    /// Without releasing the group: another node waits for the lease.
    fn drop(&mut self) {
        self.shared.state.lock().lost.get_or_insert(Lost::Ended(End::Released));
        self.shared.tell();
    }
}
