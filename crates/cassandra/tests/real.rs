//! The log in a real Cassandra. `NUTHATCH_TEST_CASSANDRA=HOST:PORT` names one to use; without it this is skipped.

use std::time::{Duration, Instant};

use nuthatch_cassandra::{Address, Copies, Keyspace, Settings, check, init, open};
use nuthatch_cluster::{Appended, Bucket, ClusterError, Entry, Kind, Log, Reach, RowLog};

const LEASE_MS: u64 = 1000;

fn settings() -> Settings {
    Settings::of(|name| std::env::var(name).ok()).unwrap()
}

/// A keyspace that nobody has, or nothing where there is no Cassandra.
fn address() -> Option<Address> {
    let Ok(hosts) = std::env::var("NUTHATCH_TEST_CASSANDRA") else {
        eprintln!("skipped: NUTHATCH_TEST_CASSANDRA=HOST:PORT names no Cassandra");
        return None;
    };
    let text = format!("cassandra://{hosts}/nuthatch_test_{:016x}?bucket=file:///unused", fastrand::u64(..));
    Some(Address::parse(&text).unwrap().unwrap())
}

fn copies(address: &Address) -> Copies {
    if address.hosts.len() < 3 { Copies::Any } else { Copies::Three }
}

fn log(address: &Address) -> (RowLog, Bucket) {
    let bucket = Bucket::in_memory().unwrap();
    init(address, &settings(), &bucket, LEASE_MS, copies(address)).unwrap();
    (open(address, &settings(), &bucket).unwrap(), bucket)
}

fn fence(writer: u128, epoch: u64, before: u64) -> Entry {
    Entry { epoch, writer, before, kind: Kind::Fence { address: format!("node-{writer}"), reach: Reach::default() } }
}

fn batches(writer: u128, epoch: u64, before: u64, bytes: &[u8]) -> Entry {
    Entry { epoch, writer, before, kind: Kind::Batches(vec![bytes.into()]) }
}

#[test]
fn entries_are_committed_fenced_released_and_trimmed() {
    let Some(address) = address() else { return };
    let (log, bucket) = log(&address);
    assert_eq!(log.read(1).unwrap(), None);
    let first = fence(1, 1, 0);
    assert_eq!(log.append(1, &first).unwrap(), Appended::Stored);
    assert_eq!(log.append(1, &first).unwrap(), Appended::Stored, "sent again, it is there once");
    let large = batches(1, 1, 0, &vec![7; 3 << 20]);
    assert_eq!(log.append(2, &large).unwrap(), Appended::Stored);
    let next = fence(2, 2, 1);
    assert_eq!(log.append(3, &next).unwrap(), Appended::Stored);
    // The owner before it is deposed.
    assert_eq!(log.append(3, &batches(1, 1, 1, b"late")).unwrap(), Appended::Occupied(next.clone()));
    for slot in 4..200 {
        assert_eq!(log.append(slot, &batches(2, 2, slot - 3, b"b")).unwrap(), Appended::Stored);
    }
    let release = Entry { epoch: 2, writer: 2, before: 197, kind: Kind::Release { heir: String::new() } };
    assert_eq!(log.append(200, &release).unwrap(), Appended::Stored);
    // Another node reads it.
    let other = open(&address, &settings(), &bucket).unwrap();
    assert_eq!(other.read(2).unwrap(), Some(large));
    assert_eq!(other.read(3).unwrap(), Some(next));
    assert_eq!(other.read(200).unwrap(), Some(release));
    assert_eq!(other.read(201).unwrap(), None);
    let head = other.head().unwrap();
    assert_eq!((head.slot, head.epoch, head.place, head.address.as_str()), (200, 2, 197, ""));
    assert_eq!(
        other.slots(0).unwrap().iter().map(|(slot, _)| *slot).collect::<Vec<_>>(),
        (1..=200).collect::<Vec<_>>()
    );
    assert_eq!(log.trim(150).unwrap(), 150);
    assert!(matches!(other.read(150), Err(ClusterError::Trimmed { slot: 150 })));
    assert!(matches!(other.append(150, &batches(1, 1, 1, b"x")), Err(ClusterError::Trimmed { .. })));
    assert_eq!(other.slots(0).unwrap().first().map(|(slot, _)| *slot), Some(151));
    assert!(other.read(151).unwrap().is_some());
    assert_eq!(log.trim(150).unwrap(), 0);
}

#[test]
fn of_many_nodes_that_want_the_same_slot_one_gets_it() {
    let Some(address) = address() else { return };
    let (log, _) = log(&address);
    for round in 0..10u64 {
        let epoch = round + 1;
        let outcomes: Vec<(u128, Appended)> = std::thread::scope(|scope| {
            let nodes: Vec<_> = (0..8u128)
                .map(|node| {
                    let log = &log;
                    let entry = fence(u128::from(round) * 8 + node + 1, epoch, 0);
                    scope.spawn(move || {
                        let begun = Instant::now();
                        loop {
                            match log.append(round + 1, &entry) {
                                Ok(appended) => return (entry.writer, appended),
                                // Contention: settled by asking again.
                                Err(ClusterError::Unreachable { .. }) => {}
                                Err(error) => panic!("{error}"),
                            }
                            assert!(begun.elapsed() < Duration::from_secs(60), "nobody gets the slot");
                        }
                    })
                })
                .collect();
            nodes.into_iter().map(|node| node.join().unwrap()).collect()
        });
        let won: Vec<u128> =
            outcomes.iter().filter(|(_, it)| *it == Appended::Stored).map(|(writer, _)| *writer).collect();
        assert_eq!(won.len(), 1, "round {round}: {outcomes:?}");
        let there = log.read(round + 1).unwrap().unwrap();
        assert_eq!(there.writer, won[0]);
        let others = outcomes.iter().filter(|(writer, _)| *writer != won[0]);
        assert!(others.clone().all(|(_, it)| *it == Appended::Occupied(there.clone())), "{outcomes:?}");
    }
}

#[test]
fn a_cluster_is_made_once_and_one_left_half_made_is_finished() {
    let Some(address) = address() else { return };
    let bucket = Bucket::in_memory().unwrap();
    let made = init(&address, &settings(), &bucket, LEASE_MS, copies(&address)).unwrap();
    let again = init(&address, &settings(), &bucket, LEASE_MS, copies(&address)).unwrap_err().to_string();
    assert!(again.contains("have a cluster already"), "{again}");
    // The bucket's part is missing, as after a crash between the two.
    let empty = Bucket::in_memory().unwrap();
    let finished = init(&address, &settings(), &empty, LEASE_MS * 2, copies(&address)).unwrap();
    assert_eq!((finished.uuid, finished.lease_ms), (made.uuid, LEASE_MS));
    open(&address, &settings(), &empty).unwrap();
}

#[test]
fn a_keyspace_with_one_copy_is_refused_unless_it_is_a_trial() {
    let Some(address) = address() else { return };
    if address.hosts.len() >= 3 {
        return; // there it would be made with three
    }
    let bucket = Bucket::in_memory().unwrap();
    let error = init(&address, &settings(), &bucket, LEASE_MS, Copies::Three).unwrap_err().to_string();
    assert!(error.contains("needs 3 nodes") && error.contains("--trial"), "{error}");
    init(&address, &settings(), &bucket, LEASE_MS, Copies::Any).unwrap();
    let other = Bucket::in_memory().unwrap();
    let error = init(&address, &settings(), &other, LEASE_MS, Copies::Three).unwrap_err().to_string();
    assert!(error.contains("replication factor of 3"), "{error}");
    let checked = check(&Keyspace::connect(&address, &settings()).unwrap()).unwrap();
    assert_eq!(checked.problems, Vec::<String>::new());
    assert!(checked.notes.iter().any(|note| note.contains("one lost node")), "{:?}", checked.notes);
}

#[test]
fn the_doctor_finds_one_winner_in_each_race_and_no_harmful_setting() {
    let Some(address) = address() else { return };
    let (log, _) = log(&address);
    log.append(1, &fence(1, 1, 0)).unwrap();
    let checked = check(&Keyspace::connect(&address, &settings()).unwrap()).unwrap();
    assert_eq!(checked.problems, Vec::<String>::new());
    assert_eq!((checked.rounds, checked.writers), (20, 8));
    assert_eq!(log.head().unwrap().slot, 1, "the log is as it was");
}
