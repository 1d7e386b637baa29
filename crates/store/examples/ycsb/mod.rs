//! YCSB's core workloads over any key-value store, one cell in one process, one JSON line for each.
//!
//! **Useful for** comparing stores: keys, values, distributions, phases and figures are those of `bench/kv/pebble`, the same
//! workload in Go, number for number. **Not for** tests.
//!
//! **Invariant:** a read that finds nothing, or the value of another key, ends the program with an error: no figure comes from a
//! store that lost something. Newest records of workload D alone may be missing, since their writers have not been answered yet.
//!
//! ```text
//! PROGRAM load  DIR [keys=2000000] [cache_mb=64] [seed=1]
//! PROGRAM settle DIR [cache_mb=…]      (opens, waits for compactions to end, closes)
//! PROGRAM run   DIR workload=a..f [clients=8] [durability=commit|os] [seconds=4] [warmup=1] [keys=…] [cache_mb=…] [seed=…]
//! PROGRAM micro DIR [seconds=1] [keys=…] [cache_mb=…] [seed=…]
//! PROGRAM cold  DIR [keys=…] [cache_mb=…] [seed=…]
//! ```

mod clients;
mod data;
mod load;
mod meter;
mod micro;
mod settings;

use std::path::Path;

pub use settings::{Durability, Settings};

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
/// Looks at a value where the store has it.
pub type See<'s> = dyn FnMut(&[u8]) + 's;
pub type Pair = (Vec<u8>, Vec<u8>);

/// The measured operations, each in the cheapest way that the store offers.
pub trait Store: Sync {
    /// Whether the key is there; its value is shown.
    fn get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<bool>;
    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Outcome;
    /// One atomic batch.
    fn put_batch(&self, pairs: &[Pair], durability: Durability) -> Outcome;
    /// Shows up to `limit` values of the keys from `from` on; how many there were.
    fn scan(&self, from: &[u8], limit: usize, see: &mut See<'_>) -> Outcome<usize>;
    /// A snapshot, one read through it, and its end; `None` when the store has no snapshots here.
    fn snapshot_get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<Option<bool>>;
    /// Reads `keys` and writes `pairs` in one durable transaction; false when the store has no transactions here.
    fn transact(&self, keys: &[Vec<u8>], pairs: &[Pair]) -> Outcome<bool>;
    /// Leaves the folder as an orderly end of the program does.
    fn close(self) -> Outcome;
}

/// The program: `open` gets the folder and the settings.
pub fn main<S: Store>(engine: &str, open: impl FnOnce(&Path, &Settings) -> Outcome<S>) -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder, rest @ ..] = &args[..] else {
        return Err("write: load|settle|run|micro|cold DIR name=value…".into());
    };
    let folder = Path::new(folder);
    let settings = Settings::parse(rest)?;
    let before = meter::Usage::now()?;
    let store = open(folder, &settings)?;
    match what.as_str() {
        "load" => load::load(engine, &store, &settings, before)?,
        "settle" => load::settle()?,
        "run" => clients::run(engine, &store, &settings)?,
        "micro" => micro::warm(engine, &store, &settings)?,
        "cold" => micro::cold(engine, &store, &settings)?,
        _ => return Err(format!("{what} is none of load, settle, run, micro, cold").into()),
    }
    store.close()
}
