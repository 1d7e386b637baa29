//! Compares the cost of a commit with that of the driver's bare statements, in turns against the same nodes.
//!
//!     cargo run --release --workspace --example commit_latency -- HOST:PORT[,HOST:PORT…] [COMMITS]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_cassandra::{Address, Copies, Settings, init, open};
use nuthatch_cluster::{Appended, Bucket, Entry, Kind, Log, Reach};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::{Consistency, SerialConsistency};

const BYTES: usize = 200;

fn say(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms", at(50), at(99));
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let hosts = arguments.next().expect("HOST:PORT");
    let count: u64 = arguments.next().map_or(1000, |text| text.parse().expect("a number"));
    let keyspace = format!("nuthatch_test_{:016x}", fastrand::u64(..));
    let text = format!("cassandra://{hosts}/{keyspace}?bucket=file:///unused");
    let address = Address::parse(&text).expect("an address").expect("of Cassandra");
    let copies = if address.hosts.len() < 3 { Copies::Any } else { Copies::Three };
    let bucket = Bucket::in_memory().expect("a bucket");
    init(&address, &Settings::default(), &bucket, 15_000, copies).expect("a cluster");
    let log = open(&address, &Settings::default(), &bucket).expect("its log");

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::Quorum)
        .serial_consistency(Some(SerialConsistency::Serial))
        .build();
    let (session, put, step) = runtime.block_on(async {
        let nodes = hosts.split(',').collect::<Vec<_>>();
        let builder = SessionBuilder::new().known_nodes(nodes).default_execution_profile_handle(profile.into_handle());
        let session = Arc::new(builder.build().await.expect("a session"));
        for table in ["rows (id bigint PRIMARY KEY, body blob)", "steps (id int PRIMARY KEY, at bigint)"] {
            session.query_unpaged(format!("CREATE TABLE {keyspace}.bare_{table}"), ()).await.expect("a table");
        }
        session
            .query_unpaged(format!("INSERT INTO {keyspace}.bare_steps (id, at) VALUES (0, 0) IF NOT EXISTS"), ())
            .await
            .expect("a row");
        let put = session.prepare(format!("INSERT INTO {keyspace}.bare_rows (id, body) VALUES (?, ?)")).await;
        let step = session.prepare(format!("UPDATE {keyspace}.bare_steps SET at = ? WHERE id = 0 IF at = ?")).await;
        (session, put.expect("a statement"), step.expect("a statement"))
    });

    let fence = Entry {
        epoch: 1,
        writer: 1,
        before: 0,
        kind: Kind::Fence { address: "bench".into(), reach: Reach::default() },
    };
    assert_eq!(log.append(1, &fence).expect("a fence"), Appended::Stored);
    let (mut bare, mut commits) = (Vec::new(), Vec::new());
    for n in 0..count {
        let begun = Instant::now();
        runtime.block_on(async {
            session.execute_unpaged(&put, (n as i64, vec![7u8; BYTES])).await.expect("a write");
            session.execute_unpaged(&step, (n as i64 + 1, n as i64)).await.expect("a step");
        });
        bare.push(begun.elapsed());
        let entry = Entry { epoch: 1, writer: 1, before: n, kind: Kind::Batches(vec![vec![7u8; BYTES].into()]) };
        let begun = Instant::now();
        assert_eq!(log.append(n + 2, &entry).expect("a commit"), Appended::Stored);
        commits.push(begun.elapsed());
    }
    say("bare driver, QUORUM insert and LWT", &mut bare);
    say("commit of the log                 ", &mut commits);
}
