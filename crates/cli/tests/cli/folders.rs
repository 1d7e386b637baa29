//! Which data folder a command works on, and who may have it open.

use nuthatch_link::{Database, Options};

use crate::support::{Place, Ran};

#[test]
fn the_nearest_folder_above_is_found() {
    let place = Place::with_documents();
    let below = place.path().join("sub");
    let out = Ran::of(place.command_in(&below, &["search", "kingfisher"]).output().unwrap()).succeeds().out;
    assert!(out.starts_with("1. note.txt:1"), "{out}");
}

#[test]
fn the_option_wins_over_the_variable_and_the_variable_over_the_nearest() {
    let place = Place::with_documents();
    for name in ["by-variable", "by-option"] {
        place.write(&format!("{name}.txt"), format!("It is {name}.\n"));
        let ran = place
            .run(&["add", &format!("{name}.txt"), "--data-dir", &format!("data/{name}"), "--embedder", "none"])
            .succeeds();
        assert!(ran.err.contains("New data folder"), "{}", ran.err);
    }
    let list = |arguments: &[&str], variable: &str| {
        Ran::of(place.command(arguments).env("NUTHATCH_DIR", variable).output().unwrap()).succeeds().out
    };
    assert!(list(&["ls"], "data/by-variable").contains("by-variable.txt"));
    assert!(list(&["ls", "--data-dir", "data/by-option"], "data/by-variable").contains("by-option.txt"));
    assert!(list(&["ls"], "").contains("alpha.md"), "an empty variable is none");
}

#[test]
fn reading_commands_create_nothing() {
    let place = Place::new();
    for command in
        [&["ls"][..], &["search", "x"], &["stats"], &["doctor"], &["get", "x"], &["rm", "x"], &["doctor", "--repair"]]
    {
        let ran = place.run(command).ends(3);
        assert!(ran.err.contains("--data-dir"), "{}", ran.err);
        let elsewhere = [command, &["--data-dir", "there"]].concat();
        place.run(&elsewhere).ends(3);
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn an_unknown_collection_is_answered_with_those_there_are() {
    let place = Place::with_documents();
    let ran = place.run(&["search", "x", "--collection", "nope"]).ends(3);
    assert!(ran.err.contains("nope") && ran.err.contains("documents"), "{}", ran.err);
}

#[test]
fn somebody_elses_folder_is_left_alone() {
    let place = Place::new();
    place.write("a.txt", "A text.\n");
    place.write("mine/thesis.tex", "Do not touch.\n");
    place.run(&["add", "a.txt", "--data-dir", "mine", "--embedder", "none"]).ends(2);
    assert_eq!(std::fs::read_dir(place.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn a_second_opener_is_served_by_the_holder() {
    let place = Place::with_documents();
    let options = Options { program: "the holder".into(), ..Options::default() };
    let held = Database::open(place.data(), options).unwrap();
    let commands = [
        &["search", "osprey"][..],
        &["add", ".", "--embedder", "none"],
        &["doctor"],
        &["kv", "put", "k", "v"],
        &["kv", "get", "k"],
        &["backup", "backups"],
        &["backup", "backups", "--verify"],
        &["export", "exported"],
        &["import", "exported", "--merge"],
        &["migrate"],
        &["restore", "backups", "restored"],
        &["search", "osprey", "--data-dir", "restored"],
    ];
    for command in commands {
        place.run(command).succeeds();
    }
    assert!(held.holder().unwrap().is_this);
    held.close().unwrap();
    place.run(&["search", "osprey"]).succeeds();
}

#[test]
fn budgets_are_sizes_and_have_a_floor() {
    let place = Place::with_documents();
    let stats = place.json(&["stats", "--json", "--memory-budget", "48MiB"]);
    assert_eq!(stats["memory"]["budget_bytes"], 48 << 20);
    place.run(&["stats", "--memory-budget", "1MiB"]).ends(2);
    place.run(&["stats", "--memory-budget", "plenty"]).ends(2);
}

#[test]
fn the_narrowest_vector_instructions_answer_the_same_and_a_level_that_the_cpu_lacks_is_refused() {
    let place = Place::with_vectors();
    let search = ["search", "--like", "a", "--json"];
    let under = |level: &str| place.command(&search).env("NUTHATCH_CPU_LEVEL", level).output().unwrap();
    assert_eq!(Ran::of(under("scalar")).succeeds().out, place.run(&search).succeeds().out);
    let refused = Ran::of(under("mmx")).ends(2);
    assert!(refused.err.contains("NUTHATCH_CPU_LEVEL is \"mmx\"") && refused.err.contains("scalar"), "{}", refused.err);
}
