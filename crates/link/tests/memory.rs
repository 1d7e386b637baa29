//! What `stats().memory` promises.

mod support;

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
        let memory = db.stats().unwrap().memory;
        let system = memory.process_anonymous_bytes + memory.process_file_bytes;
        let off = memory.accounted_bytes.abs_diff(system);
        println!("proof: {when}, the parts sum to {} bytes, the system says {system}", memory.accounted_bytes);
        assert!(off * 20 <= system, "{when}: {off} of {system} bytes off: {memory:?}");
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
