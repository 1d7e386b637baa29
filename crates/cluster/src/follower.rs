//! Following a group: its copy grows with the log, until the owner is gone and this node takes over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::ask::ask;
use crate::clock::boot_clock;
use crate::{ClusterError, End, Entry, Epoch, Event, Group, Log, Result};

/// How long a follower that has nothing to do sleeps at most, so that it stops soon when it is told to.
const NAP: Duration = Duration::from_millis(50);
/// Between two requests while the log does not answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tells a follower at once what it would find out later.
#[derive(Default)]
pub struct Bell {
    told: Mutex<Told>,
    rung: Condvar,
}

#[derive(Default)]
struct Told {
    looks: bool,
    deaths: Vec<[u8; 32]>,
}

impl Bell {
    /// The log has grown, or it is time to stop.
    pub fn look(&self) {
        self.told.lock().looks = true;
        self.rung.notify_all();
    }

    /// The owner whose [`Watch`](crate::Watch) kept this key is dead.
    pub fn died(&self, key: [u8; 32]) {
        self.told.lock().deaths.push(key);
        self.rung.notify_all();
    }

    fn wait(&self, patience: Duration) {
        let mut told = self.told.lock();
        if !told.looks && told.deaths.is_empty() {
            self.rung.wait_for(&mut told, patience);
        }
    }

    fn tell(&self, group: &mut Group) {
        let Told { looks, deaths } = std::mem::take(&mut *self.told.lock());
        if looks {
            group.look();
        }
        for key in &deaths {
            group.died(key);
        }
    }
}

/// How following ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// This node owns the group: make an [`Owner`](crate::Owner) of it at once, its lease runs.
    Owns(Epoch),
    /// Begin again, from the newest checkpoint.
    Ended(End),
    /// It was told to stop; the copy has what the group knows.
    Stopped,
}

/// Follows the log. `bell` wakes it; `apply` brings an entry into the copy; `told` hears of requests that failed.
///
/// # Errors
/// Those of `apply`; `Corrupt`, naming the object.
pub fn follow(
    log: &dyn Log,
    group: &mut Group,
    stop: &AtomicBool,
    bell: &Bell,
    apply: &mut dyn FnMut(&Group, Entry) -> Result<()>,
    told: &mut dyn FnMut(&ClusterError),
) -> Result<Followed> {
    while !stop.load(Ordering::SeqCst) {
        bell.tell(group);
        let now = boot_clock();
        let Some(call) = group.next(now) else {
            let left = group.wakes().map_or(u64::MAX, |wakes| wakes.0.saturating_sub(now.0));
            bell.wait(NAP.min(Duration::from_millis(left.max(1))));
            continue;
        };
        let (answered, failed) = ask(log, call)?;
        for event in group.heard(answered, boot_clock()) {
            match event {
                Event::Apply(entry) => apply(group, entry)?,
                Event::Owned(epoch) => return Ok(Followed::Owns(epoch)),
                Event::Ended(end) => return Ok(Followed::Ended(end)),
                Event::Committed(_) | Event::Disowned(_) => {}
            }
        }
        if let Some(failed) = failed {
            told(&failed);
            std::thread::sleep(PATIENCE);
        }
    }
    Ok(Followed::Stopped)
}
