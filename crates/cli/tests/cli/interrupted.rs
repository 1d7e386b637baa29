//! An `add` that is stopped anywhere is finished by the next one.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Place, Ran, files_below};

const FILES: usize = 3000;

/// Starts an `add` of many files and returns when some, but not all, should be in.
fn begun() -> (Place, Child) {
    let place = Place::with_many(FILES);
    let mut command = place.command(&["add", "many", "--embedder", "none", "-q"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // A tenth of what 3,000 passages take, well over what an empty store has.
    while bytes_in(&place.data().join("truth")) < 250_000 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    if Instant::now() >= deadline {
        child.kill().unwrap();
    }
    (place, child)
}

/// RocksDB's files come and go while they are counted.
fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Adds again and checks that every file is there once, whole.
fn finish(place: &Place) -> u64 {
    let report = place.json(&["add", "many", "--embedder", "none", "-q", "--json"]);
    let count = |name: &str| report["files"][name].as_u64().unwrap();
    assert_eq!(count("added") + count("unchanged"), FILES as u64, "{report}");
    assert_eq!(count("changed"), 0, "{report}");
    let files = place.files();
    assert_eq!(files.len(), FILES);
    assert_eq!(files.iter().map(|(_, passages)| passages).sum::<u64>(), place.rows());
    // Each of them is found, once.
    for at in [0, 1, FILES / 2, FILES - 1] {
        let hits = place.json(&["search", &format!("bird{at}"), "--json"])["hits"].as_array().unwrap().len();
        assert_eq!(hits, 1, "bird{at}");
    }
    place.run(&["doctor"]).succeeds();
    count("unchanged")
}

#[test]
fn a_killed_add_is_finished_by_the_next_and_nothing_is_doubled() {
    let (place, mut child) = begun();
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let before = finish(&place);
    assert!(before > 0, "the kill came before the first batch, so this proved nothing");
    println!("{before} of {FILES} files were in when it was killed");
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_after_the_batch_and_says_that_running_again_finishes() {
    let (place, child) = begun();
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = Ran::of(child.wait_with_output().unwrap()).ends(130);
    assert!(ran.err.contains("run the same command again"), "{}", ran.err);
    assert!(ran.out.contains("Files "), "{}", ran.out);
    let before = finish(&place);
    assert!(before > 0 && before < FILES as u64, "{before} of {FILES} files were in");
    assert!(!files_below(&place.data()).is_empty());
}
