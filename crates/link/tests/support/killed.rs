//! A test that runs in a process of its own and writes until it is killed, saying what was acknowledged: a line for each
//! finished call, and before the call the same line with a `?` in front.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Ten, or `NUTHATCH_CRASH_ROUNDS` (two hundred with `NUTHATCH_LONG=1`).
pub fn rounds() -> u32 {
    let asked = std::env::var("NUTHATCH_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    asked.unwrap_or(if std::env::var_os("NUTHATCH_LONG").is_some() { 200 } else { 10 })
}

/// Runs the ignored test of that name until it is killed after `life`; returns the acknowledged lines, which begin with one of
/// the verbs, and the one that was under way.
pub fn run_and_kill(
    (test, verbs): (&str, &[&str]),
    folder: &Path,
    seed: u64,
    life: Duration,
    pause: &str,
) -> (Vec<String>, Option<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("NUTHATCH_CHILD_FOLDER", folder)
        .env("NUTHATCH_CHILD_SEED", seed.to_string())
        .env("NUTHATCH_TEST_PAUSE", pause)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let verbs: Vec<String> = verbs.iter().map(|verb| format!("{verb} ")).collect();
    let reader = std::thread::spawn(move || {
        let (mut done, mut under_way) = (Vec::new(), None);
        for line in out.lines() {
            let Ok(line) = line else { break };
            if let Some(line) = line.strip_prefix('?') {
                under_way = Some(line.to_string());
            } else if verbs.iter().any(|verb| line.starts_with(verb)) {
                done.push(line);
                under_way = None;
            }
        }
        (done, under_way)
    });
    std::thread::sleep(life);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    reader.join().unwrap()
}
