//! Whether other programs need the machine, and background work that gives way to them.
//!
//! Linux tells by pressure stall information how long tasks wait for a processor, for memory or for the disk; where that is
//! missing, by the load. Elsewhere background work rests after each piece, whatever else there is.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::runtime::Runtime;

/// How long an answer of the system is good for.
const FRESH: Duration = Duration::from_millis(500);
/// Work between two looks.
const PIECE: Duration = Duration::from_millis(20);
/// The longest rest, so that a close is not kept waiting.
const REST_MAX: Duration = Duration::from_millis(200);
/// Share of time in percent, over the last ten seconds, in which something waited. Other processors' background work at our
/// own niceness waits as well, so a processor has to be waited for most of the time.
const CPU_PERCENT: f64 = 60.0;
const MEMORY_PERCENT: f64 = 10.0;
const IO_PERCENT: f64 = 40.0;

/// The resources that something waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pressure {
    pub cpu: bool,
    pub memory: bool,
    pub io: bool,
    /// The system does not tell.
    pub unknown: bool,
}

impl Pressure {
    pub fn now() -> Self {
        let group = own_group();
        let waited = |what: &str| {
            let whole = std::fs::read_to_string(format!("/proc/pressure/{what}")).ok();
            let own = std::fs::read_to_string(format!("{group}/{what}.pressure")).ok();
            [whole, own].into_iter().flatten().filter_map(|text| percent(&text)).reduce(f64::max)
        };
        match (waited("cpu"), waited("memory"), waited("io")) {
            (None, None, None) => Self::of_load(),
            (cpu, memory, io) => {
                let over = |percent: Option<f64>, limit: f64| percent.is_some_and(|percent| percent > limit);
                Self {
                    cpu: over(cpu, CPU_PERCENT),
                    memory: over(memory, MEMORY_PERCENT),
                    io: over(io, IO_PERCENT),
                    unknown: false,
                }
            }
        }
    }

    /// More than twice as many tasks want to run as there are processors.
    fn of_load() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        let load = load.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        Self { cpu: load.is_some_and(|load| load > 2.0 * processors), unknown: load.is_none(), ..Self::default() }
    }

    /// Returns how long to rest after the given time of work: half of the time under pressure, a fifth where the
    /// pressure is unknown.
    fn rest_after(self, worked: Duration) -> Duration {
        match self {
            Self { cpu: true, .. } | Self { memory: true, .. } | Self { io: true, .. } => worked,
            Self { unknown: true, .. } => worked / 4,
            _ => Duration::ZERO,
        }
    }
}

/// `some avg10=1.23 avg60=…`: the first figure.
fn percent(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
    some.split(' ').next()?.parse().ok()
}

/// The control group of this process, which a container has of its own.
fn own_group() -> String {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_end_matches('/');
    format!("/sys/fs/cgroup{path}")
}

/// The last answer of the system.
#[derive(Default)]
pub(crate) struct Gauge {
    last: Mutex<Option<(Instant, Pressure)>>,
}

impl Gauge {
    pub fn read(&self) -> Pressure {
        let mut last = self.last.lock();
        match *last {
            Some((when, pressure)) if when.elapsed() < FRESH => pressure,
            _ => {
                let pressure = Pressure::now();
                *last = Some((Instant::now(), pressure));
                pressure
            }
        }
    }
}

/// Lets background work pause between its pieces.
pub(crate) struct Throttle {
    since: Instant,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { since: Instant::now() }
    }
}

impl Throttle {
    /// Call it often; it rests when the machine is under pressure, unless a caller waits for the work.
    pub fn rest(&mut self, shared: &Runtime, is_waited_for: &dyn Fn() -> bool) {
        let worked = self.since.elapsed();
        if worked < PIECE {
            return;
        }
        let rest = shared.background.gauge.read().rest_after(worked).min(REST_MAX);
        if !rest.is_zero() && !is_waited_for() && !shared.background.is_stopping() {
            std::thread::sleep(rest);
        }
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_understood() {
        let text = "some avg10=12.34 avg60=1.00 avg300=0.10 total=99\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
        assert_eq!(percent(text), Some(12.34));
        assert_eq!(percent("nothing"), None);
    }

    #[test]
    fn work_rests_under_pressure_and_where_nobody_knows_and_not_otherwise() {
        let worked = Duration::from_millis(40);
        assert_eq!(Pressure { io: true, ..Pressure::default() }.rest_after(worked), worked);
        assert_eq!(Pressure { unknown: true, ..Pressure::default() }.rest_after(worked), worked / 4);
        assert_eq!(Pressure::default().rest_after(worked), Duration::ZERO);
    }
}
