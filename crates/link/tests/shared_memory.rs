//! The effects of open collections and of several tenants on the memory that they share.

mod support;

use std::sync::{Mutex, PoisonError};

use nuthatch_link::*;
use support::*;

const BUDGET: u64 = 32 << 20;

/// Both tests measure this process, so they must not run at the same time.
static ALONE: Mutex<()> = Mutex::new(());

fn options() -> Options {
    Options { memory_budget_bytes: BUDGET, ..quiet() }
}

fn texts(rows: usize, seed: u64) -> Vec<Record> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let text = |dice: &mut fastrand::Rng| -> String {
        let word = |dice: &mut fastrand::Rng| format!("{}{}", WORDS[dice.usize(..WORDS.len())], dice.u32(..500));
        (0..30).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
    };
    (0..rows).map(|n| Record::new(format!("r{n}")).text(text(&mut dice))).collect()
}

fn ask(collection: &Collection, word: &str) -> usize {
    collection.search(&Search::text(word).mode(Mode::Text)).unwrap().hits.len()
}

/// Many text indexes, held open by callers, under the smallest budget. Their memory is accounted for, and the sum
/// matches the system's figure.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn open_text_indexes_are_accounted_for_under_the_least_budget() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const COLLECTIONS: usize = 12;
    const ROWS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let name = |n: usize| format!("notes-{n}");
    let db = Database::open(folder.path(), options()).unwrap();
    for n in 0..COLLECTIONS {
        let notes = db.collection(&name(n), no_embedder()).unwrap().with_durability(Durability::Os);
        for first in (0..ROWS).step_by(10_000) {
            let text = |row: usize| format!("{} {}", WORDS[row % WORDS.len()], WORDS[row * 7 % WORDS.len()]);
            notes
                .upsert((first..first + 10_000).map(|row| Record::new(row.to_string()).text(text(row))).collect())
                .unwrap();
        }
        notes.wait_until_indexed(None).unwrap();
    }
    db.close().unwrap();
    let db = Database::open(folder.path(), options()).unwrap();
    let open: Vec<Collection> = (0..COLLECTIONS).map(|n| db.existing_collection(&name(n)).unwrap()).collect();
    for when in ["opened", "asked"] {
        let memory = db.stats().unwrap().memory;
        let system = memory.process_anonymous_bytes + memory.process_file_bytes;
        assert!(memory.accounted_bytes.abs_diff(system) * 20 <= system, "{when}: {memory:?}");
        assert!(memory.engine_bytes <= memory.budget_bytes, "{when}: {memory:?}");
        assert!(memory.heap_other_bytes < 24 << 20, "{when}: {memory:?}");
        // A byte a text at least.
        assert!(memory.text_index_bytes >= (COLLECTIONS * ROWS) as u64, "{when}: {memory:?}");
        assert!(memory.block_cache_bytes <= (memory.budget_bytes - 15_500_000) / 2, "{when}: {memory:?}");
        for notes in &open {
            WORDS.iter().for_each(|word| assert_eq!(ask(notes, word), 10));
            notes.scan(&Scan { limit: 1000, ..Scan::default() }).unwrap();
        }
    }
}

/// One tenant searches a collection whose codes are larger than the cache, again and again; another has asked its few questions.
#[test]
fn a_tenant_that_reads_everything_does_not_empty_the_cache_of_another() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // A bit a dimension: 1-bit codes alone are larger than the cache, which is what a scan reads by blocks.
    const LARGE_DIM: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), options()).unwrap();
    let (quiet, noisy) = (db.create_tenant("quiet").unwrap(), db.create_tenant("noisy").unwrap());
    let mine = quiet.collection("notes", no_embedder()).unwrap().with_durability(Durability::Os);
    let bits = CollectionOptions { metric: Some(Metric::Hamming), element: Some(Element::Binary), ..no_embedder() };
    let theirs = noisy.collection("bits", bits).unwrap().with_durability(Durability::Os);
    mine.upsert(texts(2000, 7)).unwrap();
    mine.wait_until_indexed(None).unwrap();
    let mut dice = fastrand::Rng::with_seed(1);
    let mut vector = || -> Vec<f32> { (0..LARGE_DIM).map(|_| f32::from(u8::from(dice.bool()))).collect() };
    for batch in 0..220 {
        let records = (0..100).map(|n| Record::new(format!("{batch}-{n}")).vector(vector()));
        theirs.upsert(records.collect()).unwrap();
    }
    theirs.wait_until_indexed(None).unwrap();
    for n in 0..40 {
        ask(&mine, &format!("{}{}", WORDS[n % WORDS.len()], n * 7));
    }
    let held = |tenant: &Database| tenant.stats().unwrap().memory.block_cache_bytes;
    let before = held(&quiet);
    assert!(before > 0);
    for _ in 0..100 {
        theirs.search(&Search::vector(vector())).unwrap();
    }
    // The cache has been full: a half and more is theirs, and they would have had use for all of it.
    assert!(held(&noisy) > 6 << 20 && db.stats().unwrap().memory.block_cache_bytes > 8 << 20);
    assert_eq!(held(&quiet), before, "what it read is still there");
}
