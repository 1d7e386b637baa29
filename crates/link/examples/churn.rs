//! Question: how large is a folder whose collection was replaced ten times, against one that was filled once, and are its answers
//! as good?
//!
//! Data: `text/` of the benchmark data (50,000 passages with vectors of 384 dimensions, 1,000 questions). No seed: everything is
//! read. Durability `commit`. Budget: the default 64 MiB. Both folders are measured when nothing changes any more.
//!
//! ```text
//! cargo run --release -p nuthatch-link --example churn -- FOLDER [ROWS]
//! ```

#[allow(clippy::duplicate_mod)]
#[path = "measuring/mod.rs"]
mod measuring;

use std::path::Path;
use std::time::{Duration, Instant};

use measuring::*;
use nuthatch_link::*;

const TIMES: usize = 10;
/// The folder is at rest when it has had one size for so long.
const REST: Duration = Duration::from_secs(15);
const REST_MAX: Duration = Duration::from_secs(300);

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first().map(Path::new) else { return Err("usage: churn FOLDER [ROWS]".into()) };
    let Some(data) = data_folder() else {
        println!("skipped: the benchmark data is not here; set NUTHATCH_TEST_DATA");
        return Ok(());
    };
    let mut records = passages(&data)?;
    records.truncate(args.get(1).map_or(Ok(records.len()), |rows| rows.parse())?);
    let questions = f16_rows(&data.join("text/queries1k_vec_f16.npy"))?;
    let mut figures = Vec::new();
    for (name, times) in [("fresh", 1), ("replaced", 1 + TIMES)] {
        let db = Database::open(folder.join(name), Options::default())?;
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        let docs = db.collection("docs", options)?;
        let (started, mut largest) = (Instant::now(), 0);
        for _ in 0..times {
            for batch in records.chunks(500) {
                docs.upsert(batch.to_vec())?;
            }
            largest = largest.max(folder_bytes(db.folder()));
        }
        let written = started.elapsed();
        let (bytes, rested) = at_rest(db.folder());
        let disk = db.stats()?.disk;
        let recall = recall(&docs, &records, &questions)?;
        println!(
            "{name}: written in {:.0} s, at most {} meanwhile, at rest after {:.0} s: {} (truth {}, indexes {}), recall@10 {recall:.4}",
            written.as_secs_f64(),
            mib(largest),
            rested.as_secs_f64(),
            mib(bytes),
            mib(disk.store_bytes),
            mib(disk.indexes_bytes)
        );
        figures.push((bytes, recall));
        db.close()?;
    }
    let ratio = figures[1].0 as f64 / figures[0].0 as f64;
    println!("replaced {TIMES} times: {ratio:.2} x the folder, recall {:+.4}", figures[1].1 - figures[0].1);
    match ratio <= 2.0 && figures[1].1 >= figures[0].1 - 0.002 {
        true => Ok(()),
        false => Err("more than 2 x the live data, or answers that are worse by more than 0.002".into()),
    }
}

fn at_rest(folder: &Path) -> (u64, Duration) {
    let started = Instant::now();
    let (mut bytes, mut since) = (folder_bytes(folder), Instant::now());
    while since.elapsed() < REST && started.elapsed() < REST_MAX {
        std::thread::sleep(Duration::from_millis(500));
        let now = folder_bytes(folder);
        if now != bytes {
            (bytes, since) = (now, Instant::now());
        }
    }
    (bytes, since.duration_since(started))
}

/// Against brute force over the same records.
fn recall(docs: &Collection, records: &[Record], questions: &[f32]) -> Outcome<f64> {
    let (mut right, mut wanted) = (0, 0);
    for question in questions.chunks(DIM_TEXT).step_by(5) {
        let similarity =
            |record: &Record| docs.metric().similarity(question, record.vector.as_deref().unwrap_or_default());
        let mut store: Vec<f32> = records.iter().map(similarity).collect();
        let (_, tenth, _) = store.select_nth_unstable_by(9, |a, b| b.total_cmp(a));
        let bar = docs.metric().score(*tenth);
        let hits = docs.search(&Search::vector(question.to_vec()))?.hits;
        right += hits.iter().filter(|hit| hit.score >= bar - 1e-6).count();
        wanted += 10;
    }
    Ok(right as f64 / wanted as f64)
}
