//! Fair shares: how many calls of one tenant run at a time while others want to run theirs.
//!
//! Alone, a tenant may have nearly everything that the server works with; an eighth stays free for the next tenant. As
//! soon as another one has sent a call within the last second, each may compute on its share of the processors and
//! write on its share of the workers; calls beyond that wait, in the tenant's own queue, in order. Writers have the
//! larger share because they mostly wait for the disk, together. A call that had to wait while others are active
//! [gives way](Slot::gives_way) when it runs: to the calls of tenants that ask for less than their share.
//!
//! **Invariant:** no tenant has more than its share running while others are active, and none with something to run waits for
//! another's queue.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::problem::Problem;

/// A tenant counts as active for so long after its last call.
const ACTIVE: Duration = Duration::from_secs(1);
/// Writes of one tenant for each processor, while others are active.
const WRITES_PER_CPU: usize = 4;
const KINDS: usize = 3;

/// The kind of work that a call mostly does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It computes.
    Read,
    /// It waits for the disk.
    Write,
    /// It takes seconds to minutes.
    Long,
}

/// The shares of all tenants.
pub struct Shares {
    lanes: Mutex<Lanes>,
    cpus: usize,
    workers: usize,
    long_workers: usize,
    waiting_max: usize,
}

#[derive(Default)]
struct Lanes {
    by_tenant: HashMap<String, Lane>,
    looked: Option<Instant>,
}

#[derive(Default)]
struct Lane {
    running: [usize; KINDS],
    waiting: [VecDeque<oneshot::Sender<Slot>>; KINDS],
    /// When its last call came or ended.
    last: Option<Instant>,
}

/// A call that may run; it is over when this is dropped.
pub struct Slot {
    shares: Arc<Shares>,
    tenant: String,
    work: Work,
    gives_way: bool,
}

/// Whether a call may run.
pub enum Entered {
    Now(Slot),
    Later(oneshot::Receiver<Slot>),
}

impl Shares {
    /// `waiting_max`: calls of one tenant that wait; more are refused.
    pub fn new(workers: usize, long_workers: usize, waiting_max: usize) -> Arc<Self> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with_cpus(cpus, workers, long_workers, waiting_max)
    }

    fn with_cpus(cpus: usize, workers: usize, long_workers: usize, waiting_max: usize) -> Arc<Self> {
        Arc::new(Self { lanes: Mutex::default(), cpus, workers, long_workers, waiting_max })
    }

    /// A call of the tenant wants to run.
    ///
    /// # Errors
    /// 503 when too many of its calls wait already.
    pub fn enter(self: &Arc<Self>, tenant: &str, work: Work, now: Instant) -> Result<Entered, Problem> {
        let mut lanes = self.lanes.lock();
        lanes.forget_idle(now);
        if !lanes.by_tenant.contains_key(tenant) {
            lanes.by_tenant.insert(tenant.into(), Lane::default());
        }
        let active = lanes.by_tenant.len();
        let lane = lanes.by_tenant.get_mut(tenant).expect("it was put there");
        lane.last = Some(now);
        if lane.waiting[work as usize].is_empty() && self.has_room(lane, work, active) {
            lane.running[work as usize] += 1;
            return Ok(Entered::Now(self.place(tenant, work, false)));
        }
        let waiting: usize = lane.waiting.iter().map(VecDeque::len).sum();
        if waiting >= self.waiting_max {
            return Err(Problem::unavailable(format!("{waiting} requests of this tenant are waiting already")));
        }
        let (send, receive) = oneshot::channel();
        lane.waiting[work as usize].push_back(send);
        Ok(Entered::Later(receive))
    }

    fn has_room(&self, lane: &Lane, work: Work, active: usize) -> bool {
        let [reads, writes, long] = lane.running;
        let alone = (self.workers - self.workers / 8).max(1);
        match (work, active) {
            (Work::Long, _) => long < (self.long_workers / 2).max(1),
            (_, 0 | 1) => reads + writes < alone,
            (Work::Read, active) => reads < (self.cpus / active).max(1),
            (Work::Write, active) => writes < (self.workers / active).clamp(1, WRITES_PER_CPU * self.cpus),
        }
    }

    fn place(self: &Arc<Self>, tenant: &str, work: Work, gives_way: bool) -> Slot {
        Slot { shares: self.clone(), tenant: tenant.into(), work, gives_way }
    }

    /// A call has ended: those of its tenant that now have room may run.
    fn leave(self: &Arc<Self>, tenant: &str, work: Work, now: Instant) {
        let mut next = Vec::new();
        {
            let mut lanes = self.lanes.lock();
            lanes.forget_idle(now);
            let active = lanes.by_tenant.len();
            let Some(lane) = lanes.by_tenant.get_mut(tenant) else {
                debug_assert!(false, "a tenant with something running is active");
                return;
            };
            debug_assert!(lane.running[work as usize] > 0, "a call leaves once");
            lane.running[work as usize] -= 1;
            lane.last = Some(now);
            for work in [Work::Read, Work::Write, Work::Long] {
                while self.has_room(lane, work, active)
                    && let Some(send) = lane.waiting[work as usize].pop_front()
                {
                    if !send.is_closed() {
                        lane.running[work as usize] += 1;
                        // Others would wait for a write that gives way: they share its fsync.
                        let gives_way = work == Work::Read && active > 1;
                        next.push((send, self.place(tenant, work, gives_way)));
                    }
                }
            }
        }
        // Without the lock: who has just gone gives the place back by dropping it.
        next.into_iter().for_each(|(send, place)| drop(send.send(place)));
    }
}

impl Lanes {
    /// Keeps the tenants that are active.
    fn forget_idle(&mut self, now: Instant) {
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < ACTIVE / 10) {
            return;
        }
        self.looked = Some(now);
        self.by_tenant.retain(|_, lane| {
            lane.running != [0; KINDS]
                || lane.waiting.iter().any(|waiting| !waiting.is_empty())
                || lane.last.is_some_and(|last| now.saturating_duration_since(last) < ACTIVE)
        });
    }
}

impl Slot {
    /// Its tenant asks for more than its share while others ask too: it computes on a [thread of low priority](crate::low_priority).
    pub fn gives_way(&self) -> bool {
        self.gives_way
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shares.leave(&self.tenant, self.work, Instant::now());
    }
}

impl Entered {
    /// The place, as soon as there is one.
    pub async fn wait(self) -> Slot {
        match self {
            Self::Now(place) => place,
            Self::Later(receive) => receive.await.expect("a waiting call is not forgotten"),
        }
    }

    /// The same on a thread that may block.
    pub fn wait_blocking(self) -> Slot {
        match self {
            Self::Now(place) => place,
            Self::Later(receive) => receive.blocking_recv().expect("a waiting call is not forgotten"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters as often as there is room; then one waits.
    fn fill(shares: &Arc<Shares>, tenant: &str, work: Work, now: Instant) -> (Vec<Slot>, oneshot::Receiver<Slot>) {
        let mut places = Vec::new();
        loop {
            match shares.enter(tenant, work, now).ok().unwrap() {
                Entered::Now(place) => places.push(place),
                Entered::Later(receive) => return (places, receive),
            }
        }
    }

    #[test]
    fn a_tenant_alone_has_nearly_everything_and_leaves_room_for_the_next() {
        let (shares, now) = (Shares::with_cpus(4, 64, 2, 100), Instant::now());
        let (mine, _waiting) = fill(&shares, "a", Work::Read, now);
        assert_eq!(mine.len(), 56);
        assert!(matches!(shares.enter("b", Work::Read, now), Ok(Entered::Now(_))), "the next tenant does not wait");
    }

    #[test]
    fn two_tenants_share_the_processors_and_one_has_its_own_again_when_the_other_has_gone() {
        let (shares, now) = (Shares::with_cpus(4, 64, 2, 100), Instant::now());
        let other = shares.enter("b", Work::Write, now).ok().unwrap();
        let (reads, waiting) = fill(&shares, "a", Work::Read, now);
        let (writes, waiting_too) = fill(&shares, "a", Work::Write, now);
        assert_eq!((reads.len(), writes.len()), (2, 16));
        drop((waiting, waiting_too));
        drop((reads, writes, other));
        let later = now + Duration::from_secs(30);
        assert_eq!(fill(&shares, "a", Work::Read, later).0.len(), 56);
    }

    #[test]
    fn who_waits_runs_in_order_as_soon_as_there_is_room() {
        let (shares, now) = (Shares::with_cpus(1, 64, 2, 100), Instant::now());
        let _other = shares.enter("b", Work::Read, now).ok().unwrap();
        let (mut running, mut first) = fill(&shares, "a", Work::Read, now);
        let Ok(Entered::Later(gone)) = shares.enter("a", Work::Read, now) else { panic!("it waits") };
        let Ok(Entered::Later(mut third)) = shares.enter("a", Work::Read, now) else { panic!("it waits") };
        assert!(running.len() == 1 && first.try_recv().is_err());
        drop(running.pop());
        drop(gone);
        let place = first.try_recv().expect("it was first");
        assert!(third.try_recv().is_err());
        drop(place);
        drop(third.try_recv().expect("the one before it has gone"));
        assert!(matches!(shares.enter("a", Work::Read, now), Ok(Entered::Now(_))), "all were given back");
    }

    #[test]
    fn a_read_that_had_to_wait_gives_way_as_long_as_others_are_active() {
        let (shares, now) = (Shares::with_cpus(1, 8, 2, 100), Instant::now());
        let other = shares.enter("b", Work::Read, now).ok().unwrap();
        let Entered::Now(other) = other else { panic!("nobody was before it") };
        assert!(!other.gives_way());
        let (mut reads, mut next) = fill(&shares, "a", Work::Read, now);
        assert!(reads.iter().all(|place| !place.gives_way()), "it was within its share");
        drop(reads.pop());
        assert!(next.try_recv().expect("it is its turn").gives_way());
        let (mut writes, mut next) = fill(&shares, "a", Work::Write, now);
        drop(writes.pop());
        assert!(!next.try_recv().expect("it is its turn").gives_way(), "others wait for the same fsync");
        drop((other, writes));
        // Alone, what waits for its turn is in nobody's way.
        let later = now + Duration::from_secs(30);
        let (mut reads, mut next) = fill(&shares, "a", Work::Read, later);
        drop(reads.pop());
        assert!(!next.try_recv().expect("it is its turn").gives_way());
    }

    #[test]
    fn a_queue_has_a_bound_and_is_its_tenant_s_own() {
        let (shares, now) = (Shares::with_cpus(1, 8, 2, 3), Instant::now());
        let (_places, _first) = fill(&shares, "a", Work::Read, now);
        let _waiting: Vec<_> = (0..2).map(|_| shares.enter("a", Work::Read, now).ok().unwrap()).collect();
        assert_eq!(shares.enter("a", Work::Read, now).err().unwrap().status, 503);
        assert!(shares.enter("b", Work::Read, now).is_ok());
    }

    #[test]
    fn long_calls_of_one_tenant_leave_a_thread_for_others() {
        let (shares, now) = (Shares::with_cpus(4, 64, 2, 100), Instant::now());
        let (one, _waiting) = fill(&shares, "a", Work::Long, now);
        assert_eq!(one.len(), 1);
        assert!(matches!(shares.enter("b", Work::Long, now), Ok(Entered::Now(_))));
    }

    #[test]
    fn any_number_of_threads_never_run_more_than_may() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let shares = Shares::with_cpus(4, 64, 2, 1000);
        let _other = shares.enter("b", Work::Read, Instant::now()).ok().unwrap();
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _place = shares.enter("a", Work::Read, Instant::now()).ok().unwrap().wait_blocking();
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2, "{most:?}");
    }
}
