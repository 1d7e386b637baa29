//! The owner hands the data over: on request, permanently, or because it is stopped. Callers wait, and are answered
//! exactly once.
#![cfg(unix)]

mod nodes;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nodes::*;
use serde_json::json;

/// A lease that no test waits for.
const LEASE_LONG: &str = "10m";

fn cluster_command(cluster: &Cluster, arguments: &[&str]) -> std::process::Output {
    let mut command = program();
    command.args([arguments[0], &cluster.store]).args(&arguments[1..]).output().unwrap()
}

/// Counts through these nodes until `work` has ended; each count is answered, and done once. The longest wait.
fn count_while(addresses: &[String], work: impl FnOnce(&AtomicU64)) -> Duration {
    let (done, counted) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = count(addresses);
    let longest = std::thread::scope(|scope| {
        let counters: Vec<_> = (0..4)
            .map(|n| {
                let (done, counted, address) = (&done, &counted, &addresses[n % addresses.len()]);
                scope.spawn(move || {
                    let agent = agent(Duration::from_secs(60));
                    let body = json!({"key": "count"}).to_string();
                    let mut longest = Duration::ZERO;
                    while !done.load(Ordering::SeqCst) {
                        let begun = Instant::now();
                        match call(&agent, "POST", address, "/v1/keyspaces/k/increment", body.as_bytes(), true) {
                            Came::Answer(200, _) => drop(counted.fetch_add(1, Ordering::SeqCst)),
                            came => panic!("{address}: {came:?}"),
                        }
                        longest = longest.max(begun.elapsed());
                    }
                    longest
                })
            })
            .collect();
        work(&counted);
        done.store(true, Ordering::SeqCst);
        counters.into_iter().map(|counter| counter.join().unwrap()).max().unwrap()
    });
    assert_eq!(count(addresses) - before, counted.into_inner(), "each count was done once");
    longest
}

fn count(addresses: &[String]) -> u64 {
    let (status, body) = ask(addresses, "GET", "/v1/keyspaces/k/keys/count", b"", false);
    if status == 404 { 0 } else { String::from_utf8(body).unwrap().parse().unwrap() }
}

fn until_counted(counted: &AtomicU64, more: u64) {
    let (before, begun) = (counted.load(Ordering::SeqCst), Instant::now());
    while counted.load(Ordering::SeqCst) < before + more {
        assert!(begun.elapsed() < PATIENCE, "nothing goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The data go to the named node of two, and back, while clients count through all of them: no call fails.
fn move_to_and_fro(cluster: &Cluster) {
    let (one, two, three) = (cluster.node("one"), cluster.node("two"), cluster.node("three"));
    let all: Vec<String> = [&one, &two, &three].iter().map(|node| node.address.clone()).collect();
    ask(&all, "PUT", "/v1/keyspaces/k/keys/begun", b"yes", false);
    let longest = count_while(&all, |counted| {
        for turn in 0..6 {
            let to = &all[turn % 3];
            until_counted(counted, 20);
            let owner = cluster.status()["owner"].as_str().unwrap().to_string();
            let owner = [&one, &two, &three].into_iter().find(|node| node.address == owner).unwrap();
            let others: Vec<&Node> =
                [&one, &two, &three].into_iter().filter(|it| it.address != owner.address).collect();
            cluster.until_followed_by(owner, &others);
            let moved = cluster_command(cluster, &["move", "--to", to]);
            let said = String::from_utf8_lossy(&moved.stdout);
            assert!(moved.status.success(), "{said}{}", String::from_utf8_lossy(&moved.stderr));
            println!("{}", said.trim());
            assert_eq!(cluster.status()["owner"], json!(to));
        }
        until_counted(counted, 20);
    });
    println!("no call waited longer than {longest:?}");
}

#[test]
fn callers_wait_and_are_answered_once_while_the_data_move() {
    move_to_and_fro(&Cluster::with_lease(LEASE_LONG));
}

#[test]
fn callers_wait_and_are_answered_once_while_the_data_move_in_cassandra() {
    if let Some(cluster) = Cluster::in_cassandra_with_lease(LEASE_LONG) {
        move_to_and_fro(&cluster);
    }
}

#[test]
fn a_node_that_is_stopped_hands_the_data_over_and_no_call_through_another_fails() {
    let cluster = Cluster::with_lease(LEASE_LONG);
    let (mut one, mut two) = cluster.owner_and_standby();
    count_while(std::slice::from_ref(&two.address), |counted| {
        until_counted(counted, 20);
        one.stop();
        until_counted(counted, 20);
    });
    assert_eq!(cluster.status()["owner"], json!(two.address));
    one.start();
    cluster.until_followed_by(&two, &[&one]);
    count_while(std::slice::from_ref(&one.address), |counted| {
        until_counted(counted, 20);
        two.stop();
        until_counted(counted, 20);
    });
    assert!(one.said().contains("as it was closed"), "{}", one.said());
}

#[test]
fn a_drained_node_does_not_take_the_data_again_before_it_is_started_anew() {
    let cluster = Cluster::with_lease(LEASE_LONG);
    let (mut one, mut two) = cluster.owner_and_standby();
    let both = [one.address.clone(), two.address.clone()];
    let refused = cluster_command(&cluster, &["drain", &two.address]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    let drained = cluster_command(&cluster, &["drain", &one.address]);
    assert!(drained.status.success(), "{drained:?}");
    assert_eq!(cluster.status()["owner"], json!(two.address));
    cluster.until_followed_by(&two, &[&one]);
    two.stop();
    // Nobody owns the data, and the node that is there does not take them.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(cluster.status()["owner"], json!(null));
    one.stop();
    one.start();
    let (status, body) = ask(&both[..1], "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"1"[..]));
}

#[test]
fn a_move_to_a_node_that_does_not_follow_is_refused_and_changes_nothing() {
    let cluster = Cluster::with_lease(LEASE_LONG);
    let one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    let nobody = cluster_command(&cluster, &["move"]);
    assert_eq!(nobody.status.code(), Some(4), "{nobody:?}");
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no node follows"), "{nobody:?}");
    let two = cluster.node("two");
    cluster.until_followed_by(&one, &[&two]);
    let stranger = cluster_command(&cluster, &["move", "--to", "127.0.0.1:1"]);
    assert_eq!(stranger.status.code(), Some(4), "{stranger:?}");
    assert!(String::from_utf8_lossy(&stranger.stderr).contains(&two.address), "{stranger:?}");
    let itself = cluster_command(&cluster, &["move", "--to", &one.address]);
    assert!(itself.status.success(), "{itself:?}");
    let status = cluster.status();
    assert_eq!((&status["owner"], &status["epoch"]), (&json!(one.address), &json!(1)));
}

#[test]
fn the_metrics_of_an_owner_say_who_follows() {
    let cluster = Cluster::with_lease(LEASE_LONG);
    let (one, _two) = cluster.owner_and_standby();
    let (status, body) = ask(std::slice::from_ref(&one.address), "GET", "/metrics", b"", false);
    let said = String::from_utf8(body).unwrap();
    assert_eq!(status, 200);
    for line in ["nuthatch_cluster_epoch 1", "nuthatch_cluster_standbys 1"] {
        assert!(said.lines().any(|found| found == line), "{line} is not in {said}");
    }
}
