//! Every interleaving of small runs of the protocol, explored breadth first: none breaks a promise, and each planted mistake does.
//!
//! `NUTHATCH_LONG=1` explores larger ones.

mod support;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use nuthatch_cluster::{Bug, Timing};
use support::{Action, Bounds, Planted, World};

const TIMING: Timing = Timing { beat_ms: 2, lease_ms: 3, poll_ms: 0 };

/// What an exploration found.
struct Explored {
    states: usize,
    /// The shortest way to a broken promise, and the promise.
    broken: Option<(Vec<Action>, String)>,
    takeovers: u64,
    acknowledged: usize,
}

fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Two states with one hash would be taken for one; with a million states that happens once in tens of millions of runs.
fn explore(start: World, states_max: usize) -> Explored {
    let mut reached: HashMap<u64, Option<(u64, Action)>> = HashMap::from([(hash(&start), None)]);
    let mut level = vec![start];
    let (mut takeovers, mut acknowledged) = (0, 0);
    while !level.is_empty() && reached.len() < states_max {
        let mut next = Vec::new();
        for world in &level {
            let from = hash(world);
            takeovers = takeovers.max(world.epoch());
            acknowledged = acknowledged.max(world.acknowledged());
            for action in world.actions() {
                let mut after = world.clone();
                if let Err(broken) = after.apply(action) {
                    let mut way = vec![action];
                    let mut at = from;
                    while let Some(Some((before, action))) = reached.get(&at) {
                        way.push(*action);
                        at = *before;
                    }
                    way.reverse();
                    return Explored { states: reached.len(), broken: Some((way, broken)), takeovers, acknowledged };
                }
                let to = hash(&after);
                if let std::collections::hash_map::Entry::Vacant(new) = reached.entry(to) {
                    new.insert(Some((from, action)));
                    next.push(after);
                }
            }
        }
        level = next;
    }
    Explored { states: reached.len(), broken: None, takeovers, acknowledged }
}

fn small(planted: Option<Planted>, left: Bounds) -> World {
    World::new(2, TIMING, left, planted)
}

/// With a takeover and answers that are lost or late; with a checkpoint and a trimmed log beside that; with nodes that begin anew.
const RUNS: [Bounds; 3] = [
    Bounds { answers_at_once: true, time: 4, writes: 2, losses: 1, checkpoints: 0, restarts: 0 },
    Bounds { answers_at_once: true, time: 4, writes: 1, losses: 1, checkpoints: 1, restarts: 0 },
    Bounds { answers_at_once: true, time: 4, writes: 1, losses: 0, checkpoints: 1, restarts: 1 },
];
const LOSSES: Bounds = RUNS[0];
const TRIMS: Bounds = RUNS[1];

#[test]
fn no_interleaving_breaks_a_promise() {
    let long = std::env::var("NUTHATCH_LONG").is_ok();
    for mut left in RUNS {
        if long {
            left.time += 2;
        }
        let Explored { states, broken, takeovers, acknowledged } = explore(small(None, left), usize::MAX);
        println!("{left:?}: {states} states, up to epoch {takeovers}, up to {acknowledged} acknowledged");
        assert!(broken.is_none(), "{broken:#?}");
        assert!(takeovers >= 2 && acknowledged >= usize::from(left.writes), "the run is too small to show anything");
    }
}

#[test]
fn no_interleaving_breaks_a_promise_of_a_log_in_rows() {
    let long = std::env::var("NUTHATCH_LONG").is_ok();
    for left in RUNS.into_iter().take(if long { 3 } else { 2 }) {
        let Explored { states, broken, takeovers, acknowledged } = explore(small(None, left).in_rows(), usize::MAX);
        println!("{left:?}: {states} states, up to epoch {takeovers}, up to {acknowledged} acknowledged");
        assert!(broken.is_none(), "{broken:#?}");
        assert!(takeovers >= 2 && acknowledged >= usize::from(left.writes), "the run is too small to show anything");
    }
}

fn finds(planted: Planted, left: Bounds) {
    finds_in(planted, small(Some(planted), left));
}

fn finds_in(planted: Planted, world: World) {
    let Explored { states, broken, .. } = explore(world, usize::MAX);
    let (way, broken) = broken.unwrap_or_else(|| panic!("{planted:?} was not found among {states} states"));
    println!("{planted:?}: {broken}, found among {states} states: {way:?}");
}

#[test]
fn finds_an_owner_that_ignores_a_newer_epoch() {
    finds(Planted::Protocol(Bug::IgnoresEpoch), LOSSES);
}

#[test]
fn finds_a_write_that_is_called_failed_when_nobody_knows() {
    finds(Planted::Protocol(Bug::FailsOnTimeout), LOSSES);
}

#[test]
fn finds_an_answer_that_is_not_held_until_it_is_committed() {
    finds(Planted::Protocol(Bug::HoldsNothing), LOSSES);
}

#[test]
fn finds_a_fence_in_the_trimmed_part_of_the_log() {
    finds(Planted::Protocol(Bug::TrustsFence), TRIMS);
}

#[test]
fn finds_a_lease_that_begins_with_the_answer() {
    finds(Planted::Protocol(Bug::CountsFromAnswer), LOSSES);
}

#[test]
fn finds_a_trim_that_takes_fences() {
    finds(Planted::TrimsFences, TRIMS);
}

#[test]
fn finds_a_head_that_is_set_without_being_compared() {
    let planted = Planted::SetsBlindly;
    finds_in(planted, small(Some(planted), LOSSES).in_rows());
}

#[test]
fn finds_a_reader_of_rows_that_the_head_has_not_reached() {
    let planted = Planted::ReadsUncommitted;
    finds_in(planted, small(Some(planted), LOSSES).in_rows());
}

#[test]
fn finds_an_owner_of_a_log_in_rows_that_calls_an_unknown_write_failed() {
    let planted = Planted::Protocol(Bug::FailsOnTimeout);
    finds_in(planted, small(Some(planted), LOSSES).in_rows());
}
