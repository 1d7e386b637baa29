//! The guarantees of `stats().memory`.

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nuthatch_link::*;

const DIM: usize = 64;

fn fill(db: &Database, rows: usize) -> Collection {
    let mut dice = fastrand::Rng::with_seed(1);
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
    let notes = db.collection("notes", options).unwrap();
    for batch in 0..rows / 500 {
        let record = |n: usize| {
            let words: Vec<&str> = (0..40).map(|_| support::WORDS[dice.usize(..24)]).collect();
            let vector = (0..DIM).map(|_| dice.f32() - 0.5).collect();
            Record::new(format!("r{}", batch * 500 + n)).text(words.join(" ")).vector(vector)
        };
        notes.upsert((0..500).map(record).collect()).unwrap();
    }
    notes
}

/// Other tests of this file would allocate between the measurements: it has one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_parts_sum_to_what_the_system_measures() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let agree = |when: &str| {
        let memory = agreeing(&db, when);
        // No part is there to hide what nobody knows.
        assert!(memory.heap_other_bytes < 24 << 20, "{when}: {memory:?}");
        assert!(memory.engine_bytes + memory.embedder_bytes <= memory.accounted_bytes);
        memory
    };
    agree("when empty");
    let notes = fill(&db, 20_000);
    agree("while fresh");
    notes.wait_until_indexed(None).unwrap();
    for word in support::WORDS {
        notes.search(&Search::text(word).mode(Mode::Text)).unwrap();
    }
    let busy = agree("when asked");
    assert!(busy.block_cache_bytes > 0 && busy.store_cache_bytes > 0 && busy.segment_bytes > 0);
    assert!(busy.engine_bytes <= busy.budget_bytes);
    drop(vec![vec![7u8; 10_000]; 3_000]);
    agree("with freed memory");
}

/// Runs a test that measures its whole process in a process of its own: this program again, with one test.
fn alone(test: &str, measure: impl FnOnce()) {
    const CHILD: &str = "NUTHATCH_TEST_ALONE";
    if std::env::var(CHILD).is_ok_and(|named| named == test) {
        return measure();
    }
    let program = std::env::current_exe().unwrap();
    let ran = std::process::Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    // The first one stands behind the test's name.
    let proofs = said.lines().filter_map(|line| line.find("proof: ").map(|at| &line[at..]));
    proofs.for_each(|proof| println!("{proof}"));
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "no test is called {test:?}: {said}");
}

/// Bytes that a field of `/proc/self/smaps_rollup` tells. The counters of `/proc/self/status` are off by megabytes on machines with many
/// processors.
#[cfg(target_os = "linux")]
fn measured_bytes(field: &str) -> u64 {
    let smaps = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = smaps.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_start_matches(':').trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// The statistics, whose parts sum to what the system measures before and after, give or take a twentieth: background work may take
/// and give back megabytes meanwhile.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn agreeing(db: &Database, when: &str) -> MemoryStats {
    let before = measured_bytes("Rss");
    let memory = db.stats().unwrap().memory;
    let after = measured_bytes("Rss");
    let sum = memory.accounted_bytes;
    println!("proof: {when}, the parts sum to {sum} bytes, the system says {before} before and {after} after");
    let (least, most) = (before.min(after), before.max(after));
    assert!(least - least / 20 <= sum && sum <= most + most / 20, "{when}: {before}, {after}: {memory:?}");
    memory
}

const MIB: u64 = 1 << 20;

/// Eight threads write at once, each a batch larger than the share of batches. The callers' own memory does not count;
/// of the rest, everything beyond what the process had before stays within the budget.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn eight_writers_stay_within_the_budget_and_leave_little_behind() {
    const WRITERS: usize = 8;
    const ROWS: usize = 3000;
    const WIDE: usize = 384;
    alone("eight_writers_stay_within_the_budget_and_leave_little_behind", || {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { memory_budget_bytes: 64 * MIB, ..Options::default() };
        let db = Database::open(folder.path(), options).unwrap();
        let notes =
            db.collection("notes", CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() }).unwrap();
        let batch = |writer: usize| -> Vec<Record> {
            let mut dice = fastrand::Rng::with_seed(writer as u64);
            let record = |n: usize| {
                let words: Vec<String> =
                    (0..60).map(|_| format!("{}{}", support::WORDS[dice.usize(..24)], dice.u8(..))).collect();
                let vector = (0..WIDE).map(|_| dice.f32() - 0.5).collect();
                Record::new(format!("{writer}-{n}")).text(words.join(" ")).vector(vector)
            };
            (0..ROWS).map(record).collect()
        };
        let batches: Vec<Vec<Record>> = (0..WRITERS).map(batch).collect();
        let before = measured_bytes("Rss");
        let written = AtomicBool::new(false);
        let most = std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut most = before;
                while !written.load(Ordering::SeqCst) {
                    most = most.max(measured_bytes("Rss"));
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                most
            });
            let write = |batch| scope.spawn(|| notes.upsert(batch).unwrap());
            let writers: Vec<_> = batches.into_iter().map(write).collect();
            let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            written.store(true, Ordering::SeqCst);
            for writer in ended {
                writer.unwrap();
            }
            looking.join().unwrap()
        });
        let more = most - before;
        println!("proof: 8 writers with {} MiB of their own took {} MiB more at most", before / MIB, more / MIB);
        notes.wait_until_indexed(None).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(5));
        let after = agreeing(&db, "five seconds later");
        println!(
            "proof: five seconds later the allocator keeps {} MiB, and {} MiB are in use",
            after.heap_free_bytes / MIB,
            (after.engine_bytes + after.heap_other_bytes) / MIB
        );
        println!("{after:?}");
        assert!(more <= 64 * MIB, "{} MiB", more / MIB);
        assert!(after.heap_free_bytes <= 24 * MIB, "{after:?}");
    });
}

/// Two collections want their graphs at once, while a third takes rows. The bound holds one graph and a half: graphs
/// are built one after the other, no matter which collection wants them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn several_graphs_are_built_within_a_low_build_memory() {
    const ROWS: usize = 34_000;
    const SMALL: usize = 16;
    const BUDGET: u64 = 32 * MIB;
    const BUILD: u64 = 21 * MIB;
    alone("several_graphs_are_built_within_a_low_build_memory", || {
        let folder = tempfile::tempdir().unwrap();
        // Mapped: smaller collections get graphs. Mapped memory is not anonymous memory.
        let options = Options {
            memory_budget_bytes: BUDGET,
            build_memory_bytes: BUILD,
            mapped: Some(true),
            ..Options::default()
        };
        let db = Database::open(folder.path(), options).unwrap();
        let open = |name: &str| {
            let options = CollectionOptions {
                dim: Some(SMALL),
                embedder: EmbedderChoice::None,
                metric: Some(Metric::L2),
                ..Default::default()
            };
            db.collection(name, options).unwrap().with_durability(Durability::Os)
        };
        let write = |collection: &Collection, from: usize, to: usize| {
            let mut dice = fastrand::Rng::with_seed(from as u64);
            let mut record = |n: usize| {
                let vector = (0..SMALL).map(|_| dice.f32() - 0.5).collect();
                Record::new(n.to_string()).vector(vector)
            };
            collection.upsert((from..to).map(&mut record).collect()).unwrap();
        };
        let wanted = [open("first"), open("second")];
        let others = open("others");
        let before = measured_bytes("Anonymous");
        let done = AtomicUsize::new(0);
        let (mut anonymous, mut building) = (0, 0);
        std::thread::scope(|scope| {
            for collection in &wanted {
                let (write, done) = (&write, &done);
                scope.spawn(move || {
                    (0..ROWS).step_by(1000).for_each(|from| write(collection, from, from + 1000));
                    collection.optimize(None).unwrap();
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            for from in (0..).step_by(10) {
                anonymous = anonymous.max(measured_bytes("Anonymous"));
                building = building.max(db.stats().unwrap().memory.build_bytes);
                write(&others, from, from + 10);
                if done.load(Ordering::SeqCst) == wanted.len() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let graphs: u64 = wanted.iter().map(|collection| collection.info().unwrap().vector_graphs as u64).sum();
        let more = anonymous.saturating_sub(before);
        println!(
            "proof: building {graphs} graphs took {} MiB at most, {} of them for graphs, {} allowed",
            more / MIB,
            building / MIB,
            (BUDGET + BUILD) / MIB
        );
        assert_eq!(graphs, 2);
        assert!(building > BUILD / 2 && building <= BUILD, "{building}");
        assert!(more <= BUDGET + BUILD, "{} MiB", more / MIB);
    });
}

/// One graph over four times as many rows as fit into the bound at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn one_graph_over_more_rows_than_build_memory_holds_is_built_within_it() {
    const ROWS: usize = 80_000;
    const DIM: usize = 64;
    const BUDGET: u64 = 32 * MIB;
    const BUILD: u64 = 8 * MIB;
    alone("one_graph_over_more_rows_than_build_memory_holds_is_built_within_it", || {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { memory_budget_bytes: BUDGET, build_memory_bytes: BUILD, ..Options::default() };
        let db = Database::open(folder.path(), options).unwrap();
        let options = CollectionOptions {
            dim: Some(DIM),
            embedder: EmbedderChoice::None,
            metric: Some(Metric::L2),
            ..Default::default()
        };
        let collection = db.collection("rows", options).unwrap().with_durability(Durability::Os);
        let before = measured_bytes("Anonymous");
        let mut dice = fastrand::Rng::with_seed(1);
        let middles: Vec<Vec<f32>> = (0..200).map(|_| (0..DIM).map(|_| dice.f32() * 4.0).collect()).collect();
        for from in (0..ROWS).step_by(1000) {
            let record = |n: usize| {
                let middle = &middles[n % middles.len()];
                Record::new(n.to_string()).vector(middle.iter().map(|x| x + dice.f32()).collect())
            };
            collection.upsert((from..from + 1000).map(record).collect()).unwrap();
        }
        let done = AtomicUsize::new(0);
        let (mut anonymous, mut building) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                collection.optimize(None).unwrap();
                done.store(1, Ordering::SeqCst);
            });
            while done.load(Ordering::SeqCst) == 0 {
                anonymous = anonymous.max(measured_bytes("Anonymous"));
                building = building.max(db.stats().unwrap().memory.build_bytes);
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let info = collection.info().unwrap();
        let more = anonymous.saturating_sub(before);
        println!(
            "proof: building one graph over {ROWS} rows took {} MiB at most, {} allowed",
            more / MIB,
            (BUDGET + BUILD) / MIB
        );
        assert_eq!((info.vector_graphs, info.segments), (1, 1));
        assert!(building > 0 && building <= BUILD, "{building}");
        assert!(more <= BUDGET + BUILD, "{} MiB", more / MIB);
        assert!(!folder.path().join("indexes/default/rows/segments/UNFINISHED.shards").exists());
        // A question like a row finds that row.
        for n in [0, 40_123, 79_999] {
            let vector = collection.get(&[n.to_string()], true).unwrap()[0].as_ref().unwrap().vector.clone().unwrap();
            let found = collection.search(&Search::vector(vector).limit(10)).unwrap();
            assert!(found.hits.iter().any(|hit| hit.id == n.to_string()), "{n}");
        }
    });
}
