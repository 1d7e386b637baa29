//! Loading: all records in the order of their numbers, so that keys come in random order; 1,024 a durable batch.

use std::time::Duration;

use super::meter::{Usage, load_average, resident};
use super::{Durability, Outcome, Pair, Settings, Store, data};

const BATCH: u64 = 1024;

pub fn load(engine: &str, store: &impl Store, settings: &Settings, before: Usage) -> Outcome {
    let started = Usage::now()?;
    for first in (0..settings.keys).step_by(BATCH as usize) {
        let records = first..settings.keys.min(first + BATCH);
        let pairs: Vec<Pair> =
            records.map(|record| (data::key(record).to_vec(), data::value(record, 0).to_vec())).collect();
        store.put_batch(&pairs, Durability::Commit)?;
    }
    let loaded = Usage::now()?;
    settle()?;
    let settled = Usage::now()?;
    let wall = (loaded.at - started.at).as_secs_f64();
    let (rss, peak) = resident()?;
    println!(
        r#"{{"engine":"{engine}","what":"load","keys":{},"cache_mb":{},"seed":{},"wall_s":{wall:.3},"ops_s":{:.0},"cpu_s":{:.2},"cpu_settled_s":{:.2},"settled_s":{:.2},"written_mb":{:.1},"rss_mb":{:.1},"peak_rss_mb":{:.1},"load_average":{}}}"#,
        settings.keys,
        settings.cache_bytes >> 20,
        settings.seed,
        settings.keys as f64 / wall,
        loaded.cpu_seconds - before.cpu_seconds,
        settled.cpu_seconds - before.cpu_seconds,
        (settled.at - started.at).as_secs_f64(),
        (settled.written_bytes - before.written_bytes) as f64 / 1e6,
        rss as f64 / 1e6,
        peak as f64 / 1e6,
        load_average()?,
    );
    Ok(())
}

/// Until the process has done next to nothing for half a second, so that no compaction is under way; a minute at most.
pub fn settle() -> Outcome {
    for _ in 0..120 {
        let before = Usage::now()?;
        std::thread::sleep(Duration::from_millis(500));
        if Usage::now()?.cpu_seconds - before.cpu_seconds < 0.015 {
            break;
        }
    }
    Ok(())
}
