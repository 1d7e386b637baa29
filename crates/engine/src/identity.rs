//! Which process a pid meant: pids are used again, and mean other things in other containers and on other machines.

use serde::{Deserialize, Serialize};

/// The data that makes a pid unique. Known on Linux only; elsewhere a holder is never certain to be dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The machine's boot.
    boot: String,
    /// The namespace that the pid counts in.
    namespace: String,
    /// When the process began, in clock ticks after the boot.
    started: u64,
}

impl Identity {
    /// This process.
    pub fn own() -> Option<Self> {
        Some(Self { boot: boot()?, namespace: namespace()?, started: Stat::of(std::process::id())?.started })
    }

    /// True when the process `pid` of this identity has certainly ended: same machine, same namespace, and no such process.
    pub fn is_dead(&self, pid: u32) -> bool {
        let Some(own) = Self::own() else { return false };
        if (&own.boot, &own.namespace) != (&self.boot, &self.namespace) {
            return false;
        }
        match Stat::of(pid) {
            // A zombie holds nothing any more; it only waits for its parent.
            Some(stat) => stat.started != self.started || matches!(stat.state, b'Z' | b'X'),
            // Other users' processes may be hidden.
            None => !exists(pid),
        }
    }
}

#[cfg(target_os = "linux")]
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(target_os = "linux"))]
fn exists(_pid: u32) -> bool {
    true
}

fn boot() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_string())
}

fn namespace() -> Option<String> {
    Some(std::fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned())
}

/// Of `/proc/PID/stat`, state and start time.
struct Stat {
    state: u8,
    started: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses, and may hold anything.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        Some(Self { state: *fields.next()?.as_bytes().first()?, started: fields.nth(18)?.parse().ok()? })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_is_gone_is_dead() {
        let own = Identity::own().unwrap();
        assert!(!own.is_dead(std::process::id()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = Identity { started: Stat::of(child.id()).unwrap().started, ..own.clone() };
        assert!(!of_child.is_dead(child.id()));
        child.kill().unwrap();
        while Stat::of(child.id()).unwrap().state != b'Z' {
            std::thread::yield_now();
        }
        assert!(of_child.is_dead(child.id()), "a zombie is dead");
        child.wait().unwrap();
        assert!(of_child.is_dead(child.id()));
        assert!(Identity { started: own.started + 1, ..own.clone() }.is_dead(std::process::id()), "a pid used again");
        let elsewhere = Identity { namespace: "pid:[1]".into(), ..of_child };
        assert!(!elsewhere.is_dead(child.id()), "in another container nobody knows");
    }
}
