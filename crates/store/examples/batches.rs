//! How fast can batches of records with vectors become durable, when nothing is done with them but to store them?
//!
//! The ceiling of every write of batches: what a collection puts into the store for a record (its number by id, the
//! record, its vector, and the change that names it), one atomic batch and one fsync for `rows` records, by one writer.
//! 50,000 records of an id and 128 or 384 random components, in a new folder for each row, with the write buffers of a
//! budget of 512 MiB:
//!
//! ```text
//! cargo build --release --workspace --examples; target/release/examples/batches [folder] [rows] [rounds]
//! ```

use std::path::{Path, PathBuf};
use std::time::Instant;

use nuthatch_store::*;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 96 << 20, write_buffer_bytes: 48 << 20 };
const RECORDS: u64 = 50_000;
const SHARD: Shard = Shard { tenant: 0, collection: 1 };

fn main() {
    let mut args = std::env::args().skip(1);
    let parent = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rows: u64 = args.next().map_or(2000, |text| text.parse().expect("rows of a batch"));
    let rounds: usize = args.next().map_or(3, |text| text.parse().expect("rounds"));
    println!(" dim  synced    MB/s    rows/s  bytes written per byte of ids and vectors");
    for _ in 0..rounds {
        for dim in [128, 384] {
            for synced in [true, false] {
                let folder = tempfile::tempdir_in(&parent).expect("a folder to write to");
                measure(folder.path(), dim, rows, synced);
            }
        }
    }
}

fn measure(folder: &Path, dim: usize, rows: u64, synced: bool) {
    let store = RocksStore::open(folder, OPTIONS).expect("an empty folder opens");
    let mut dice = fastrand::Rng::with_seed(dim as u64);
    let batches: Vec<Batch> =
        (0..RECORDS / rows).map(|number| batch(&mut dice, number * rows..(number + 1) * rows, dim)).collect();
    let bytes = (RECORDS / rows * rows) as f64 * (dim * 4 + 5) as f64;
    let (before, began) = (written_bytes(), Instant::now());
    for batch in batches {
        let position = store.write(batch).expect("written");
        if synced {
            store.sync(position).expect("synced");
        }
    }
    let elapsed = began.elapsed().as_secs_f64();
    println!(
        "{dim:>4}  {synced:>6}  {:>6.0}  {:>8.0}  {:.2}",
        bytes / elapsed / 1e6,
        RECORDS as f64 / elapsed,
        (written_bytes() - before) as f64 / bytes,
    );
}

fn batch(dice: &mut fastrand::Rng, rows: std::ops::Range<u64>, dim: usize) -> Batch {
    let (mut batch, numbers) = (Batch::new(), rows.clone());
    for row in rows {
        let id = row.to_string();
        batch.put(Table::Ids, SHARD.key(id.as_bytes()), row.to_be_bytes().to_vec());
        batch.put(
            Table::Records,
            SHARD.number_key(row),
            [&[1, id.len() as u8], id.as_bytes(), &[0, 0, 0, 1, 2, 0, 0]].concat(),
        );
        let vector: Vec<u8> = (0..dim).flat_map(|_| dice.f32().to_le_bytes()).collect();
        batch.put(Table::Vectors, SHARD.number_key(row), vector);
    }
    append_change(&mut batch, SHARD, numbers.end, numbers.flat_map(u64::to_be_bytes).collect());
    batch
}

/// Returns the bytes that this process has passed to the system to write; 0 where the system does not report them.
fn written_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    told.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}
