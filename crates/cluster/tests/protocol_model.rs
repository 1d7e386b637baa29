//! Every interleaving of small runs of the protocol, explored breadth first: none breaks a promise, and each planted mistake does.
//!
//! `NUTHATCH_LONG=1` explores larger ones.

mod support;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use nuthatch_cluster::{Answered, Boot, Bug, Call, Entry, Group, Kind, Known, Reach, Timing, Watch};
use support::{Action, Bounds, Planted, World};

const TIMING: Timing = Timing { beat_ms: 2, lease_ms: 3, poll_ms: 0 };

/// The findings of an exploration.
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

/// With a takeover and answers that are lost or late; also with a checkpoint and a trimmed log; with nodes that
/// restart.
const RUNS: [Bounds; 3] = [
    Bounds { answers_at_once: true, time: 4, writes: 2, losses: 1, checkpoints: 0, restarts: 0, deaths: false },
    Bounds { answers_at_once: true, time: 4, writes: 1, losses: 1, checkpoints: 1, restarts: 0, deaths: false },
    Bounds { answers_at_once: true, time: 4, writes: 1, losses: 0, checkpoints: 1, restarts: 1, deaths: false },
];
/// With an owner that dies, and others that are told so.
const DEATHS: Bounds =
    Bounds { answers_at_once: true, time: 4, writes: 1, losses: 0, checkpoints: 0, restarts: 1, deaths: true };
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

#[test]
fn no_interleaving_breaks_a_promise_when_a_death_is_told() {
    let losses = u8::from(std::env::var("NUTHATCH_LONG").is_ok());
    let left = Bounds { losses, ..DEATHS };
    for world in [small(None, left), small(None, left).in_rows()] {
        let Explored { states, broken, takeovers, acknowledged } = explore(world, usize::MAX);
        println!("{states} states, up to epoch {takeovers}, up to {acknowledged} acknowledged");
        assert!(broken.is_none(), "{broken:#?}");
        assert!(takeovers >= 2 && acknowledged >= 1, "the run is too small to show anything");
    }
}

#[test]
fn finds_a_death_that_is_believed_without_proof() {
    finds(Planted::Protocol(Bug::BelievesDeath), DEATHS);
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

/// A follower that has this of the log, and has looked behind it.
fn follower(entries: &[Kind]) -> Group {
    let timing = Timing { beat_ms: 200, lease_ms: 1000, poll_ms: 50 };
    let mut group = Group::new(2, "n2", timing, Known::default(), Boot(0));
    for kind in entries {
        let entry = Entry { epoch: 1, writer: 1, before: 0, kind: kind.clone() };
        assert!(matches!(group.next(Boot(0)), Some(Call::Read(_))));
        group.heard(Answered::Read(Some(entry)), Boot(0));
    }
    group
}

/// Returns the node's next call after a read that finds nothing new.
fn goes_on(group: &mut Group, now: Boot) -> Option<Call> {
    assert!(matches!(group.next(now), Some(Call::Read(_))));
    group.heard(Answered::Read(None), now);
    group.next(now)
}

#[test]
fn only_the_key_that_an_owners_fence_has_sealed_proves_its_death() {
    let watch = Some(Watch { address: "n1:1".into(), seal: Watch::seal(&[7; 32]) });
    let fence = Kind::Fence { address: "n1".into(), reach: Reach { watch, redis: String::new() } };
    let mut group = follower(std::slice::from_ref(&fence));
    assert!(!group.died(&[8; 32]));
    assert_eq!(goes_on(&mut group, Boot(100)), None, "it waits for the lease");
    assert!(group.died(&[7; 32]));
    assert!(matches!(goes_on(&mut group, Boot(101)), Some(Call::Append(2, entry)) if entry.epoch == 2));
    // Not of an owner before the present one.
    let later = Kind::Fence { address: "n3".into(), reach: Reach::default() };
    let mut group = follower(&[fence]);
    group.next(Boot(0));
    group.heard(Answered::Read(Some(Entry { epoch: 2, writer: 3, before: 0, kind: later })), Boot(0));
    assert!(!group.died(&[7; 32]));
    assert_eq!(goes_on(&mut group, Boot(100)), None);
}

#[test]
fn a_released_group_is_its_heirs_until_the_lease_is_over_and_never_one_that_abstains() {
    let fence = Kind::Fence { address: "n1".into(), reach: Reach::default() };
    let release = |heir: &str| [fence.clone(), Kind::Release { heir: heir.into() }];
    assert!(matches!(goes_on(&mut follower(&release("")), Boot(100)), Some(Call::Append(3, _))));
    assert!(matches!(goes_on(&mut follower(&release("n2")), Boot(100)), Some(Call::Append(3, _))));
    let mut another = follower(&release("n3"));
    assert_eq!(goes_on(&mut another, Boot(100)), None);
    assert!(matches!(goes_on(&mut another, Boot(1000)), Some(Call::Append(3, _))));
    let mut abstains = follower(&release("")).abstaining(true);
    assert_eq!(goes_on(&mut abstains, Boot(5000)), None);
}
