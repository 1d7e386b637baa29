//! Single calls by one client, each repeated for some time.

use std::time::Instant;

use super::data::{self, Random};
use super::meter::{Latencies, Usage, load_average, resident};
use super::{Durability, Outcome, Pair, Settings, Store};

const HOT: u64 = 1_000;
const COLD_READS: usize = 2_000;
const BATCH: usize = 100;
const SCAN: usize = 100;
const TRANSACTION: usize = 5;

pub fn warm(engine: &str, store: &impl Store, settings: &Settings) -> Outcome {
    let keys = settings.keys;
    let pair = |random: &mut Random| -> Pair {
        let record = random.below(keys);
        (data::key(record).to_vec(), data::value(record, random.next()).to_vec())
    };
    let read = |record: u64, through_snapshot: bool| -> Outcome<bool> {
        let mut right = false;
        let mut see = |bytes: &[u8]| right = data::is_value_of(record, bytes);
        let key = data::key(record);
        let found = match through_snapshot {
            false => Some(store.get(&key, &mut see)?),
            true => store.snapshot_get(&key, &mut see)?,
        };
        match found {
            Some(true) if right => Ok(true),
            Some(_) => Err(format!("record {record}: not found, or another's value").into()),
            None => Ok(false),
        }
    };
    let repeat = |name: &str, call: &mut dyn FnMut(&mut Random) -> Outcome<bool>| {
        repeat(engine, name, settings, usize::MAX, call)
    };
    repeat("get, 1,000 hot keys", &mut |random| read(random.below(HOT), false))?;
    repeat("get, any key", &mut |random| read(random.below(keys), false))?;
    repeat("snapshot and one get", &mut |random| read(random.below(HOT), true))?;
    repeat("scan of 100", &mut |random| {
        store.scan(&data::key(random.below(keys)), SCAN, &mut |_| {})?;
        Ok(true)
    })?;
    for (durability, name) in [(Durability::Os, "put, os"), (Durability::Commit, "put, commit")] {
        repeat(name, &mut |random| {
            let (key, value) = pair(random);
            store.put(&key, &value, durability)?;
            Ok(true)
        })?;
    }
    repeat("batch of 100 puts, commit", &mut |random| {
        let pairs: Vec<Pair> = (0..BATCH).map(|_| pair(random)).collect();
        store.put_batch(&pairs, Durability::Commit)?;
        Ok(true)
    })?;
    repeat("transaction of 5 reads and 5 writes, commit", &mut |random| {
        let reads: Vec<Vec<u8>> = (0..TRANSACTION).map(|_| data::key(random.below(keys)).to_vec()).collect();
        let writes: Vec<Pair> = (0..TRANSACTION).map(|_| pair(random)).collect();
        store.transact(&reads, &writes)
    })
}

/// The caller has evicted the folder from the page cache.
pub fn cold(engine: &str, store: &impl Store, settings: &Settings) -> Outcome {
    repeat(engine, "get, cold", settings, COLD_READS, &mut |random| {
        store.get(&data::key(random.below(settings.keys)), &mut |_| {})
    })
}

/// Until the time is over, or `calls_max` were made; a call that answers `false` is not there.
fn repeat(
    engine: &str,
    name: &str,
    settings: &Settings,
    calls_max: usize,
    call: &mut dyn FnMut(&mut Random) -> Outcome<bool>,
) -> Outcome {
    let mut random = Random(settings.seed);
    let mut latencies = Latencies::new();
    let before = Usage::now()?;
    let mut wall = 0.0;
    while wall < settings.seconds && latencies.count < calls_max as u64 {
        let started = Instant::now();
        if !call(&mut random)? {
            return Ok(());
        }
        latencies.add(started.elapsed().as_nanos() as u64);
        wall = before.at.elapsed().as_secs_f64();
    }
    let after = Usage::now()?;
    println!(
        r#"{{"engine":"{engine}","what":"micro","name":"{name}","keys":{},"cache_mb":{},"seed":{},"ops":{},"ops_s":{:.1},"p50_us":{:.2},"p99_us":{:.2},"cpu_us":{:.2},"rss_mb":{:.1},"load_average":{}}}"#,
        settings.keys,
        settings.cache_bytes >> 20,
        settings.seed,
        latencies.count,
        latencies.count as f64 / wall,
        latencies.percentile_us(50.0),
        latencies.percentile_us(99.0),
        (after.cpu_seconds - before.cpu_seconds) * 1e6 / latencies.count as f64,
        resident()?.0 as f64 / 1e6,
        load_average()?,
    );
    Ok(())
}
