//! `optimize`, and what `stats` says of segments.

use serde_json::json;

use crate::support::{Place, Ran};

#[test]
fn segments_become_one_and_stats_says_so() {
    let place = Place::with_vectors();
    let before = place.run(&["stats"]).succeeds().out;
    assert!(before.contains("4 vectors of 2 dimensions (int8, l2)"), "{before}");
    assert!(
        before.contains("4 segments (0 vector graphs)") || before.contains("5 segments (0 vector graphs)"),
        "{before}"
    );
    let ran = place.run(&["optimize"]).succeeds();
    assert!(ran.out.starts_with("documents  5 records, 1 segment instead of "), "{}", ran.out);
    let after = &place.json(&["stats", "--json"])["collections"][0];
    let found = ["rows", "segments", "vector_graphs", "fresh_rows", "elements"].map(|name| after[name].clone());
    assert_eq!(found, [json!(5), json!(1), json!(0), json!(0), json!("int8")]);
    assert!(place.run(&["search", "--like", "a", "-n", "1"]).succeeds().out.starts_with("1. b"));
}

#[test]
fn again_or_of_a_collection_that_is_not_there_it_changes_nothing() {
    let place = Place::with_vectors();
    place.run(&["optimize", "--quiet", "--collection", "documents"]).succeeds();
    let again = place.json(&["optimize", "--json"]);
    let found = ["name", "rows", "segments_before", "segments", "vector_graphs"].map(|name| again[0][name].clone());
    assert_eq!(found, [json!("documents"), json!(5), json!(1), json!(1), json!(0)]);
    place.run(&["optimize", "--collection", "nope"]).ends(3);
    Place::new().run(&["optimize"]).ends(3);
}

#[test]
fn options_of_indexes_come_from_the_command_line_or_the_environment() {
    let place = Place::with_vectors();
    let mapped = ["search", "--like", "a", "--mapped", "--build-memory", "1GiB", "--build-threads", "2"];
    place.run(&mapped).succeeds();
    let with =
        |name: &str, value: &str| Ran::of(place.command(&["search", "--like", "a"]).env(name, value).output().unwrap());
    for (name, value) in [("NUTHATCH_MAPPED", "1"), ("NUTHATCH_MAPPED", ""), ("NUTHATCH_BUILD_MEMORY", "1GiB")] {
        with(name, value).succeeds();
    }
    assert!(with("NUTHATCH_MEMORY_BUDGET", "1MiB").ends(2).err.contains("32 MiB"));
    assert!(with("NUTHATCH_BUILD_MEMORY", "much").ends(2).err.contains("is not a size"));
    with("NUTHATCH_BUILD_THREADS", "0").ends(2);
    place.run(&["search", "--like", "a", "--build-threads", "0"]).ends(2);
}
