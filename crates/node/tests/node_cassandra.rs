//! Nodes whose log lies in Cassandra. `NUTHATCH_TEST_CASSANDRA=HOST:PORT` names one to use; without it this is skipped.
#![cfg(unix)]

mod nodes;

use nodes::*;
use serde_json::Value;

#[test]
fn no_acknowledged_write_is_lost_or_done_twice_while_owners_are_killed() {
    if let Some(cluster) = Cluster::in_cassandra() {
        kill_owners(&cluster);
    }
}

#[test]
fn a_hung_owner_answers_nothing_and_writes_nothing_when_it_wakes() {
    if let Some(cluster) = Cluster::in_cassandra() {
        hang_the_owner(&cluster);
    }
}

#[test]
fn a_node_that_stops_in_good_order_releases_the_data_and_finds_its_folder_again() {
    let Some(cluster) = Cluster::in_cassandra() else { return };
    let mut one = cluster.node("one");
    let first = vec![one.address.clone()];
    ask(&first, "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    one.stop();
    assert_eq!(cluster.status()["owner"], Value::Null);
    one.start();
    let (status, body) = ask(&first, "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"1"[..]));
    assert!(one.said().contains("as it was closed"), "{}", one.said());
}

#[test]
fn the_doctor_finds_nothing_wrong_and_another_clusters_keyspace_or_bucket_is_refused() {
    let (Some(cluster), Some(other)) = (Cluster::in_cassandra(), Cluster::in_cassandra()) else { return };
    let mut one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    one.stop();
    let doctor = program().args(["doctor", &cluster.store, "--verify"]).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success(), "{said}");
    assert!(said.contains("writes a row once") && said.contains("is whole"), "{said}");
    let refused = |store: &str, code: i32, why: &str| {
        let said = program().args(["status", store]).output().unwrap();
        let error = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.code() == Some(code) && error.contains(why), "{store}: {error}");
    };
    let (keyspace, bucket) = cluster.store.split_once("?bucket=").unwrap();
    let (other_keyspace, other_bucket) = other.store.split_once("?bucket=").unwrap();
    refused(&format!("{keyspace}?bucket={other_bucket}"), 2, "of the same one");
    refused(&format!("{other_keyspace}?bucket={bucket}"), 2, "of the same one");
    refused(&format!("{keyspace}_no?bucket={bucket}"), 3, "has no cluster");
    // The log is not in the bucket, so nobody may begin one there.
    refused(bucket, 2, "cassandra://");
    let again = program().args(["init", &cluster.store, "--trial"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{}", String::from_utf8_lossy(&again.stderr));
    let taken = program().args(["init", &format!("{keyspace}_new?bucket={bucket}"), "--trial"]).output().unwrap();
    assert!(String::from_utf8_lossy(&taken.stderr).contains("another prefix"), "{taken:?}");
}
