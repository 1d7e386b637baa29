//! The cost of a cell: latencies, CPU time, memory, bytes written, the load of the machine.

use super::Outcome;

/// Counts of latencies in classes that are 3 % wide.
pub struct Latencies {
    classes: Vec<u64>,
    pub count: u64,
}

const STEPS: u64 = 32;

impl Latencies {
    pub fn new() -> Self {
        Self { classes: vec![0; 60 * STEPS as usize], count: 0 }
    }

    pub fn add(&mut self, nanoseconds: u64) {
        self.classes[class(nanoseconds)] += 1;
        self.count += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        self.classes.iter_mut().zip(&other.classes).for_each(|(ours, theirs)| *ours += theirs);
        self.count += other.count;
    }

    /// In microseconds; nothing was slower than `percent` of all, but for the width of a class.
    pub fn percentile_us(&self, percent: f64) -> f64 {
        let wanted = (self.count as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return middle(class as u64) / 1e3;
            }
        }
        0.0
    }
}

fn class(nanoseconds: u64) -> usize {
    if nanoseconds < STEPS {
        return nanoseconds as usize;
    }
    let shift = nanoseconds.ilog2() - STEPS.ilog2();
    (u64::from(shift) * STEPS + (nanoseconds >> shift)) as usize
}

fn middle(class: u64) -> f64 {
    if class < 2 * STEPS {
        return class as f64;
    }
    let shift = class / STEPS - 1;
    ((class - shift * STEPS) as f64 + 0.5) * (1u64 << shift) as f64
}

/// The resources that the process has used so far.
#[derive(Clone, Copy)]
pub struct Usage {
    pub cpu_seconds: f64,
    /// Passed to write calls.
    pub written_bytes: u64,
    /// Cache flushes of all disks, whichever process requested them.
    pub disk_flushes: u64,
    pub at: std::time::Instant,
}

impl Usage {
    pub fn now() -> Outcome<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let fields = stat.rsplit_once(')').ok_or("no name in stat")?.1.split_whitespace();
        let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        let io = std::fs::read_to_string("/proc/self/io")?;
        let disks = std::fs::read_to_string("/proc/diskstats")?;
        let flushes = disks.lines().filter_map(|line| line.split_whitespace().nth(18)?.parse::<u64>().ok());
        Ok(Self {
            cpu_seconds: ticks / 100.0,
            written_bytes: field(&io, "wchar:"),
            disk_flushes: flushes.sum(),
            at: std::time::Instant::now(),
        })
    }
}

/// Resident bytes, now and at most.
pub fn resident() -> Outcome<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok((field(&status, "VmRSS:") << 10, field(&status, "VmHWM:") << 10))
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

pub fn load_average() -> Outcome<f64> {
    Ok(std::fs::read_to_string("/proc/loadavg")?.split(' ').next().ok_or("empty")?.parse()?)
}
