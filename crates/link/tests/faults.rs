//! Every kind of data under kill -9, power loss, and a disk that refuses: nothing acknowledged is lost, nothing is half there.
//!
//! A child process writes (`support/victim.rs`); a model of what it said was acknowledged is the oracle. Short by default;
//! `NUTHATCH_LONG=1` for the long form, `NUTHATCH_FAULT_ROUNDS` for a number of rounds, `NUTHATCH_SEED` to repeat one.
#![cfg(target_os = "linux")]

#[path = "support/victim.rs"]
mod victim;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use victim::{Model, Victim, check};

const CHILD: &str = "child_writes_all_kinds_of_data";

#[test]
#[ignore = "run by the other tests in a process of its own"]
fn child_writes_all_kinds_of_data() {
    victim::write();
}

fn rounds(short: u64, long: u64) -> u64 {
    let asked = std::env::var("NUTHATCH_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    asked.unwrap_or(if std::env::var_os("NUTHATCH_LONG").is_some() { long } else { short })
}

fn dice() -> (u64, fastrand::Rng) {
    let seed = std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    (seed, fastrand::Rng::with_seed(seed))
}

#[test]
fn eight_writers_of_everything_survive_kill_9() {
    let (seed, mut dice) = dice();
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let (mut acknowledged, mut cut_short) = (0, 0);
    let rounds = rounds(6, 1000);
    for round in 0..rounds {
        let data = folder.path().join("data");
        let victim = Victim::start(CHILD, &data, 8, u64::MAX, dice.u64(..), &[]);
        std::thread::sleep(Duration::from_millis(dice.u64(100..900)));
        let said = victim.kill();
        assert!(said.errors.is_empty(), "seed {seed} round {round}: {:?}", said.errors);
        acknowledged += said.acknowledged_calls();
        cut_short += said.begun.values().map(Vec::len).sum::<usize>() - said.acknowledged_calls();
        check(&data, &mut model, &said, &said, &format!("seed {seed} round {round}"));
    }
    println!(
        "proof: {rounds} times kill -9 under 8 writers of records, keys, files, a graph and batches of all: {acknowledged} acknowledged calls, {cut_short} cut short, {} keys at the end",
        model.len()
    );
    assert!(acknowledged > 0 && cut_short > 0);
}

/// System calls that change files, and what the disk may say to them.
const FAULTS: [(&str, &str); 6] = [
    ("write,pwrite64,writev,pwritev2", "ENOSPC"),
    ("write,pwrite64,writev,pwritev2", "EIO"),
    ("fsync,fdatasync", "EIO"),
    ("fsync,fdatasync", "ENOSPC"),
    ("rename,renameat,renameat2", "EIO"),
    ("ftruncate,fallocate,sync_file_range", "EIO"),
];

#[test]
fn a_disk_that_refuses_any_one_call_loses_nothing_that_was_acknowledged() {
    if !Command::new("strace").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: faults are injected with strace, which is not installed");
        return;
    }
    let (seed, mut dice) = dice();
    let (mut runs, mut injected, mut refused, mut acknowledged) = (0, 0, 0, 0);
    let mut try_one = |calls: &str, error: &str, when: u64, child_seed: u64| {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let through: Vec<String> = [
            "strace",
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-o",
            trace.to_str().unwrap(),
            "-e",
            &format!("trace={calls}"),
            "-e",
            // The counter is each thread's own. From the `when`th call on, three are refused: a disk seldom refuses just one.
            &format!("inject={calls}:error={error}:when={when}..{}", when + 2),
        ]
        .map(String::from)
        .into();
        let data = folder.path().join("data");
        let said = Victim::start(CHILD, &data, 2, 60, child_seed, &through).finish();
        let note =
            format!("seed {seed}: {error} at call {when} of {calls}, child {child_seed}, said {:?}", said.errors);
        let hit = std::fs::read_to_string(&trace).unwrap_or_default().contains("(INJECTED)");
        runs += 1;
        injected += u64::from(hit);
        refused += u64::from(!said.errors.is_empty());
        acknowledged += said.acknowledged_calls();
        if hit || !said.errors.is_empty() {
            check(&data, &mut Model::new(), &said, &said, &note);
        } else {
            assert!(said.closed, "{note}: ended without a word");
        }
        hit
    };
    if std::env::var_os("NUTHATCH_LONG").is_some() {
        for (calls, error) in FAULTS {
            let child_seed = dice.u64(..);
            (1..).find(|when| !try_one(calls, error, *when, child_seed)).unwrap();
        }
    } else {
        for round in 0..rounds(12, 0) {
            let (calls, error) = FAULTS[round as usize % FAULTS.len()];
            try_one(calls, error, dice.u64(1..60), dice.u64(..));
        }
    }
    println!(
        "proof: {runs} runs, {injected} with a refused write, sync, rename or truncation, {refused} told of it in a write, {acknowledged} acknowledged calls"
    );
    assert!(injected > 0);
}

#[test]
fn after_a_failed_fsync_the_store_stops_writing_and_says_so() {
    if !Command::new("strace").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: faults are injected with strace, which is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // One fsync of a writer fails; all after it would succeed. The counter is each thread's own, and opening needs fewer.
    let through = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e"];
    let mut through: Vec<String> = through.map(String::from).into();
    through.push("inject=fdatasync:error=EIO:when=40".into());
    let said = Victim::start(CHILD, &data, 4, 400, 7, &through).finish();
    // Of the four writers, and of closing it.
    assert_eq!(said.errors.len(), 5, "{:?}", said.errors);
    let says_so = |error: &String| error.contains("stopped writing after a failed sync");
    assert!(said.errors.iter().all(says_so), "{:?}", said.errors);
    assert!(said.acknowledged_calls() < 1600);
    check(&data, &mut Model::new(), &said, &said, "after a failed fsync");
}

/// An ext4 of its own in a file.
struct Disk {
    folder: tempfile::TempDir,
    mounted: bool,
}

impl Disk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::File::create(folder.path().join("image")).and_then(|image| image.set_len(512 << 20)).unwrap();
        std::fs::create_dir(folder.path().join("mount")).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(folder.path().join("image")).output();
        let mut disk = Self { folder, mounted: false };
        (made.is_ok_and(|made| made.status.success()) && disk.mount()).then_some(disk)
    }

    fn mount(&mut self) -> bool {
        let image = self.folder.path().join("image");
        let mount = Command::new("mount").args(["-o", "loop"]).arg(image).arg(self.path()).output();
        self.mounted = mount.is_ok_and(|output| output.status.success());
        self.mounted
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// Power loss: whatever was not synced is gone. False where there is no way to ask for it.
    fn cut_power(&self) -> bool {
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH; calling it takes unsafe code in Rust.
        let shutdown = "import fcntl, os, struct, sys; \
                        fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";
        let cut = Command::new("python3").args(["-c", shutdown]).arg(self.path()).output();
        cut.is_ok_and(|output| output.status.success())
    }

    fn unmount(&mut self) {
        for _ in 0..50 {
            if Command::new("umount").arg(self.path()).output().is_ok_and(|output| output.status.success()) {
                self.mounted = false;
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{} stays mounted", self.path().display());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            Command::new("umount").arg("-l").arg(self.path()).output().ok();
        }
    }
}

#[test]
fn eight_writers_of_everything_survive_power_loss() {
    let Some(mut disk) = Disk::new() else {
        println!("skipped: losing power needs a file system of its own, and this user may not mount one");
        return;
    };
    let (seed, mut dice) = dice();
    let data = disk.path().join("data");
    let mut model = Model::new();
    let (mut acknowledged, mut cut_short) = (0, 0);
    let rounds = rounds(3, 100);
    for round in 0..rounds {
        let victim = Victim::start(CHILD, &data, 8, u64::MAX, dice.u64(..), &[]);
        std::thread::sleep(Duration::from_millis(dice.u64(200..1200)));
        // Only what was heard before counts: an fsync that races with the end may return as if it had been done.
        let said = victim.said_until_now();
        if !disk.cut_power() {
            println!("skipped: this file system cannot be shut down (EXT4_IOC_SHUTDOWN, called through python3)");
            victim.kill();
            return;
        }
        let after = victim.kill();
        disk.unmount();
        assert!(disk.mount(), "the journal is replayed");
        acknowledged += said.acknowledged_calls();
        cut_short += after.begun.values().map(Vec::len).sum::<usize>() - said.acknowledged_calls();
        // Calls begun or acknowledged after that moment may have happened, one after the other.
        let note = format!("seed {seed} round {round}");
        check(&data, &mut model, &said, &after, &note);
    }
    println!(
        "proof: {rounds} power cuts under 8 writers of all kinds: {acknowledged} acknowledged calls, {cut_short} cut short, {} keys at the end",
        model.len()
    );
    assert!(acknowledged > 0);
}
