//! `watch`: what changes on the disk is found, until the program is asked to end.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::Place;

struct Watching {
    child: Child,
    rounds: BufReader<ChildStdout>,
}

impl Watching {
    /// After its first round.
    fn begin(place: &Place, more: &[&str]) -> (Self, Value) {
        let arguments = [&["watch", "notes", "--embedder", "none", "--json"], more].concat();
        let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let rounds = BufReader::new(child.stdout.take().unwrap());
        let mut watching = Self { child, rounds };
        let first = watching.round();
        (watching, first)
    }

    /// The next round that changed something.
    fn round(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.rounds.read_line(&mut line).unwrap(), 0, "the program ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn files_that_come_change_and_go_are_found_with_their_past() {
    let place = Place::new();
    place.write("notes/a.md", "# A\n\nThe osprey.\n");
    // The data folder lies among the files, but is not one of them.
    let (mut watching, first) = Watching::begin(&place, &["--tree", "t", "--collection", "documents"]);
    assert_eq!((&first["tree"]["added"], &first["files"]["added"]), (&1.into(), &1.into()));

    place.write("notes/sub/b.md", "# B\n\nThe heron.\n");
    let came = watching.round();
    assert_eq!((&came["files"]["added"], &came["files"]["changed"]), (&1.into(), &0.into()), "{came}");
    assert_eq!(place.json(&["search", "heron", "--json"])["hits"].as_array().unwrap().len(), 1);

    place.write("notes/a.md", "# A\n\nThe kingfisher.\n");
    let changed = watching.round();
    assert_eq!((&changed["tree"]["changed"], &changed["files"]["changed"]), (&1.into(), &1.into()), "{changed}");
    assert_eq!(place.json(&["log", "a.md", "--tree", "t", "--json"]).as_array().unwrap().len(), 2);

    std::fs::remove_file(place.path().join("notes/sub/b.md")).unwrap();
    let gone = watching.round();
    assert_eq!((&gone["tree"]["gone"], &gone["files"]["removed"]), (&1.into(), &1.into()), "{gone}");
    assert!(place.run(&["search", "heron", "--json"]).json()["hits"].as_array().unwrap().is_empty());
    watching.end();
    assert_eq!(place.files().len(), 1);
}

#[test]
fn a_folder_that_vanishes_takes_nothing_along() {
    let place = Place::new();
    place.write("notes/a.md", "# A\n\nThe osprey.\n");
    let (mut watching, _) = Watching::begin(&place, &["--every", "1"]);
    std::fs::rename(place.path().join("notes"), place.path().join("elsewhere")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_500)); // a round looks in vain
    assert_eq!(place.files().len(), 1);
    // Another folder of that name, to the system.
    place.write("notes/a.md", "# A\n\nThe osprey.\n");
    place.write("notes/b.md", "# B\n\nThe heron.\n");
    assert_eq!(watching.round()["files"]["added"], 1);
    place.write("notes/c.md", "# C\n\nThe swan.\n");
    assert_eq!(watching.round()["files"]["added"], 1);
    watching.end();
}

#[test]
fn what_is_not_there_is_not_watched() {
    let place = Place::new();
    let refused = place.run(&["watch", "none"]).ends(3);
    assert!(refused.err.contains("does not exist"), "{}", refused.err);
    assert!(!place.data().exists());
}
