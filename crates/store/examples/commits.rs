//! How many durable writes does one fsync carry, and how long does a writer wait for it?
//!
//! Puts of 256 random bytes, each a separate batch that is acknowledged after `sync`, by 1, 8 and 64 writers at once.
//! Each row uses a new folder. Run it on the disk that you mean, with nothing else running:
//!
//! ```text
//! cargo build --release --workspace --examples; target/release/examples/commits [folder] [seconds] [rounds]
//! ```
//!
//! `strace -f -c -e trace=fsync,fdatasync` around it counts the same syncs from the outside.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nuthatch_store::*;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 12 << 20, write_buffer_bytes: 6 << 20 };
const WRITERS: [usize; 3] = [1, 8, 64];
const VALUE_BYTES: usize = 256;
const SHARD: Shard = Shard { tenant: 0, collection: 1 };

fn main() {
    let mut args = std::env::args().skip(1);
    let parent = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds: f64 = args.next().map_or(4.0, |text| text.parse().expect("seconds"));
    let rounds: usize = args.next().map_or(1, |text| text.parse().expect("rounds"));
    println!("writers  writes/s  p50 ms  p99 ms  syncs  writes/sync");
    for _ in 0..rounds {
        for writers in WRITERS {
            let folder = tempfile::tempdir_in(&parent).expect("a folder to write to");
            measure(folder.path(), writers, Duration::from_secs_f64(seconds));
        }
    }
}

fn measure(folder: &Path, writers: usize, span: Duration) {
    let store = RocksStore::open(folder, OPTIONS).expect("an empty folder opens");
    let began = Instant::now();
    let syncs_before = store.syncs();
    let mut waits: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || write_until(store, writer as u64, began + span))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a writer")).collect()
    });
    let elapsed = began.elapsed().as_secs_f64();
    let syncs = store.syncs() - syncs_before;
    waits.sort_unstable();
    let millis = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{writers:>7}  {:>8.0}  {:>6.2}  {:>6.2}  {syncs:>5}  {:>11.1}",
        waits.len() as f64 / elapsed,
        millis(0.5),
        millis(0.99),
        waits.len() as f64 / syncs.max(1) as f64,
    );
}

fn write_until(store: &RocksStore, writer: u64, end: Instant) -> Vec<Duration> {
    let mut dice = fastrand::Rng::with_seed(writer);
    let mut waits = Vec::new();
    let mut value = [0; VALUE_BYTES];
    while Instant::now() < end {
        dice.fill(&mut value);
        let mut batch = Batch::new();
        batch.put(Table::Records, SHARD.number_key(dice.u64(..1_000_000)), value.to_vec());
        let began = Instant::now();
        let position = store.write(batch).expect("room on the disk");
        store.sync(position).expect("a disk that syncs");
        waits.push(began.elapsed());
    }
    waits
}
