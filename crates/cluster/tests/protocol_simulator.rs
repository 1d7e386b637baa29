//! Long random runs of the protocol: three nodes, clocks of different rates, pauses, lost and late requests, clocks that are set.
//!
//! `NUTHATCH_SIMULATIONS` says how many schedules are run (2,000 or 500 by default), `NUTHATCH_SEED` where they begin.

mod support;

use std::ops::RangeInclusive;

use nuthatch_cluster::{Bug, Call, Leave, Timing};
use support::{Action, Bounds, Cut, Planted, World};

const TIMING: Timing = Timing { beat_ms: 250, lease_ms: 1000, poll_ms: 40 };
const STEPS: usize = 1500;
const PLENTY: Bounds = Bounds {
    answers_at_once: false,
    time: u64::MAX,
    writes: 40,
    losses: 200,
    checkpoints: 20,
    restarts: 5,
    deaths: true,
};

/// The faults other than pauses and lost requests.
#[derive(Clone)]
struct Faults {
    /// Hundredths at which clocks run.
    rates: RangeInclusive<u64>,
    /// Milliseconds by which somebody sets a wall clock, at most.
    jump: i64,
    /// Nodes lose the log, in one direction, one after the other and several at a time.
    cuts: bool,
    /// How long a node is paused at most.
    pause: u64,
}

const USUAL: Faults = Faults { rates: 95..=105, jump: 3000, cuts: false, pause: 3500 };
const CUTS: Faults = Faults { cuts: true, ..USUAL };
/// Clocks that are an hour off, or run a hundredth too fast or too slow.
const CLOCKS: Faults = Faults { rates: 99..=101, jump: 3_600_000, ..USUAL };
/// Owners that sleep through several ownerships of others, and wake.
const SLEEPS: Faults = Faults { pause: 12_000, ..USUAL };

#[derive(Default, Debug)]
struct Totals {
    acknowledged: usize,
    epochs: u64,
    cuts: u64,
}

/// # Errors
/// The promise that one schedule broke.
fn simulate(seed: u64, planted: Option<Planted>, totals: &mut Totals) -> Result<(), String> {
    run(seed, World::new(3, TIMING, PLENTY, planted), &USUAL, totals)
}

fn run(seed: u64, mut world: World, faults: &Faults, totals: &mut Totals) -> Result<(), String> {
    let mut dice = fastrand::Rng::with_seed(seed);
    for node in &mut world.nodes {
        node.rate = dice.u64(faults.rates.clone());
        node.offset = dice.u64(0..1_000_000);
    }
    for at in 0..world.nodes.len() {
        world.left.restarts += 1;
        world.apply(Action::Restart(at))?; // with its own clock
    }
    // Until when each node is paused, in true time.
    let mut paused = [0u64; 3];
    for _ in 0..STEPS {
        let passes = match dice.u32(0..40) {
            0 => dice.u64(200..800),
            1..8 => dice.u64(20..120),
            8..20 => dice.u64(1..20),
            _ => 0,
        };
        if passes > 0 {
            world.apply(Action::Pass(passes))?;
        }
        let node = dice.usize(0..3);
        match dice.u32(0..300) {
            0 => paused[node] = world.time + dice.u64(100..faults.pause),
            1..6 => world.apply(Action::SetClock(node, dice.i64(-faults.jump..=faults.jump)))?,
            6..12 if faults.cuts => {
                world.nodes[node].cut = [Cut::Nothing, Cut::ToLog, Cut::FromLog][dice.usize(0..3)];
                totals.cuts += 1;
            }
            _ => {}
        }
        let runs = |at: usize| paused[at] <= world.time;
        let possible: Vec<Action> =
            world.actions().into_iter().filter(|action| is_done_by_running(action, runs)).collect();
        // Requests are usually done soon; some lie about for very long.
        let weight = |action: &Action| match action {
            Action::Pass(_) => 0,
            Action::Step(_) | Action::Answer(_) => 30,
            Action::Land(at) => {
                if *at + 2 >= world.wire.len() {
                    24
                } else {
                    1
                }
            }
            Action::Write(_) | Action::Read(_) => 12,
            Action::LandUnheard(_) | Action::TimeOut(_) | Action::Checkpoint(_) | Action::Trim(_) => 2,
            Action::Died(_) => 6,
            Action::Restart(_) => 1,
            _ => 0,
        };
        let total: u32 = possible.iter().map(weight).sum();
        if total == 0 {
            continue;
        }
        let mut pick = dice.u32(0..total);
        let chosen = possible.iter().find(|action| match pick.checked_sub(weight(action)) {
            Some(rest) => {
                pick = rest;
                false
            }
            None => true,
        });
        let chosen = *chosen.expect("the pick is below the total");
        world.apply(chosen).map_err(|broken| format!("seed {seed}, at {} ms, {chosen:?}: {broken}", world.time))?;
        let owners: Vec<usize> = (0..3).filter(|at| world.nodes[*at].group.written().is_some()).collect();
        if let [owner] = owners[..]
            && dice.u32(0..400) == 0
        {
            let heir = Some(dice.usize(0..3)).filter(|heir| *heir != owner);
            world.apply(Action::Release(owner, heir))?;
        }
    }
    settle(&mut world).map_err(|broken| format!("seed {seed}, in the end: {broken}"))?;
    totals.acknowledged += world.acknowledged();
    totals.epochs += world.epoch();
    Ok(())
}

/// Without further faults a client can write again.
fn settle(world: &mut World) -> Result<(), String> {
    (world.left.losses, world.left.writes) = (u8::MAX, u8::MAX);
    world.nodes.iter_mut().for_each(|node| node.cut = Cut::Nothing);
    let before = world.acknowledged();
    for _ in 0..2000 {
        for at in 0..world.nodes.len() {
            let actions = world.actions();
            let answers = world.nodes[at].group.answer(0, world.now(at)) == Leave::Yes;
            if answers && world.nodes[at].group.written() == Some(world.nodes[at].group.known().place) {
                world.apply(Action::Write(at))?;
            }
            if let Some(own) = actions.iter().find(|action| [Action::Step(at), Action::Answer(at)].contains(action)) {
                world.apply(*own)?;
            }
        }
        while !world.wire.is_empty() {
            world.apply(Action::Land(0))?;
        }
        for at in 0..world.nodes.len() {
            if matches!(world.nodes[at].waits, Some(Call::Append(..))) {
                world.apply(Action::TimeOut(at))?; // its request was lost before
            }
        }
        if world.acknowledged() > before {
            return Ok(());
        }
        world.apply(Action::Pass(10))?;
    }
    Err(format!("nothing can be written any more: {world:?}"))
}

/// Whatever a paused node would do itself waits; what it has sent does not.
fn is_done_by_running(action: &Action, runs: impl Fn(usize) -> bool) -> bool {
    match *action {
        Action::Step(at)
        | Action::Answer(at)
        | Action::TimeOut(at)
        | Action::Write(at)
        | Action::Read(at)
        | Action::Checkpoint(at)
        | Action::Trim(at)
        | Action::Died(at)
        | Action::Restart(at) => runs(at),
        _ => true,
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn no_schedule_breaks_a_promise() {
    let (first, count) = (number("NUTHATCH_SEED").unwrap_or(1), number("NUTHATCH_SIMULATIONS").unwrap_or(2_000));
    let mut totals = Totals::default();
    for seed in first..first + count {
        simulate(seed, None, &mut totals).unwrap();
    }
    println!("{count} schedules: {totals:?}");
    assert!(totals.epochs > 2 * count && totals.acknowledged as u64 > 5 * count, "too little happens: {totals:?}");
}

#[test]
fn no_schedule_breaks_a_promise_of_a_log_in_rows() {
    let (first, count) = (number("NUTHATCH_SEED").unwrap_or(1), number("NUTHATCH_SIMULATIONS").unwrap_or(2_000));
    let mut totals = Totals::default();
    for seed in first..first + count {
        run(seed, World::new(3, TIMING, PLENTY, None).in_rows(), &USUAL, &mut totals).unwrap();
    }
    println!("{count} schedules: {totals:?}");
    assert!(totals.epochs > 2 * count && totals.acknowledged as u64 > 5 * count, "too little happens: {totals:?}");
}

/// Of both kinds of logs, in turns.
fn survives(faults: &Faults) -> Totals {
    let (first, count) = (number("NUTHATCH_SEED").unwrap_or(1), number("NUTHATCH_SIMULATIONS").unwrap_or(500));
    let mut totals = Totals::default();
    for seed in first..first + count {
        let world = World::new(3, TIMING, PLENTY, None);
        let world = if seed % 2 == 0 { world } else { world.in_rows() };
        run(seed, world, faults, &mut totals).unwrap();
    }
    println!("{count} schedules: {totals:?}");
    assert!(totals.epochs > count && totals.acknowledged as u64 > 2 * count, "too little happens: {totals:?}");
    totals
}

#[test]
fn no_schedule_breaks_a_promise_when_nodes_lose_the_log_in_one_direction() {
    let totals = survives(&CUTS);
    assert!(totals.cuts > totals.epochs, "{totals:?}");
}

#[test]
fn no_schedule_breaks_a_promise_when_clocks_are_an_hour_off_or_drift() {
    survives(&CLOCKS);
}

#[test]
fn an_owner_that_wakes_after_others_owned_the_group_answers_and_commits_nothing() {
    survives(&SLEEPS);
}

fn finds(planted: Planted) {
    finds_in(planted, &USUAL);
}

fn finds_in(planted: Planted, faults: &Faults) {
    let world = || World::new(3, TIMING, PLENTY, Some(planted));
    let found = (1..20_000).find_map(|seed| run(seed, world(), faults, &mut Totals::default()).err());
    println!("{planted:?}: {}", found.unwrap_or_else(|| panic!("{planted:?} was not found")));
}

#[test]
fn finds_a_lease_on_the_wall_clock() {
    finds(Planted::WallClock);
}

#[test]
fn finds_a_fence_behind_a_checkpoint_that_its_sender_never_saw() {
    finds(Planted::Protocol(Bug::ComparesSlotsAlone));
}

#[test]
fn finds_an_owner_that_ignores_a_newer_epoch() {
    finds(Planted::Protocol(Bug::IgnoresEpoch));
}

#[test]
fn finds_an_answer_that_is_not_held_until_it_is_committed() {
    finds(Planted::Protocol(Bug::HoldsNothing));
}

#[test]
fn finds_an_owner_that_answers_without_its_lease_while_it_loses_the_log() {
    finds_in(Planted::Protocol(Bug::IgnoresLease), &CUTS);
}

#[test]
fn finds_a_write_that_is_called_failed_because_its_answer_was_cut_off() {
    finds_in(Planted::Protocol(Bug::FailsOnTimeout), &CUTS);
}

#[test]
fn finds_a_lease_on_a_wall_clock_that_is_an_hour_off() {
    finds_in(Planted::WallClock, &CLOCKS);
}

#[test]
fn finds_an_owner_that_wakes_and_goes_on() {
    finds_in(Planted::Protocol(Bug::IgnoresEpoch), &SLEEPS);
}

#[test]
fn finds_an_owner_that_answers_while_it_hands_over() {
    finds(Planted::Protocol(Bug::AnswersAfterRelease));
}

#[test]
fn finds_a_death_that_is_believed_without_proof() {
    finds(Planted::Protocol(Bug::BelievesDeath));
}
