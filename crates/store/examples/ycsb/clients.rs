//! Clients in threads, each with one call under way: a warm-up, then the measured time.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::data::{self, Random, Zipf};
use super::meter::{Latencies, Usage, load_average, resident};
use super::{Outcome, Settings, Store};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Read, "read"),
    (Kind::Update, "update"),
    (Kind::Insert, "insert"),
    (Kind::Scan, "scan"),
    (Kind::ReadModifyWrite, "rmw"),
];
const SCAN_MAX: u64 = 100;

/// Shares in percent; the remainder to a hundred is the first kind's.
fn mix(workload: char) -> Outcome<(Kind, Kind, u64)> {
    Ok(match workload {
        'a' => (Kind::Read, Kind::Update, 50),
        'b' => (Kind::Read, Kind::Update, 5),
        'c' => (Kind::Read, Kind::Read, 0),
        'd' => (Kind::Read, Kind::Insert, 5),
        'e' => (Kind::Scan, Kind::Insert, 5),
        'f' => (Kind::Read, Kind::ReadModifyWrite, 50),
        _ => return Err(format!("workload={workload}: one of a to f").into()),
    })
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// State shared by the clients.
struct Cell<'c, S> {
    store: &'c S,
    settings: &'c Settings,
    zipf: Zipf,
    phase: AtomicU8,
    /// The next record to insert, and how many inserts were acknowledged.
    next: AtomicU64,
    inserted: AtomicU64,
}

pub fn run(engine: &str, store: &impl Store, settings: &Settings) -> Outcome {
    mix(settings.workload)?;
    let cell = Cell {
        store,
        settings,
        zipf: Zipf::new(settings.keys),
        phase: AtomicU8::new(WARMING),
        next: AtomicU64::new(settings.keys),
        inserted: AtomicU64::new(0),
    };
    let (latencies, missing, before, after) = std::thread::scope(|scope| -> Outcome<_> {
        let clients: Vec<_> = (0..settings.clients)
            .map(|number| {
                let cell = &cell;
                scope.spawn(move || {
                    let told = client(cell, number as u64);
                    // The others need not go on without this one.
                    told.inspect_err(|_| cell.phase.store(OVER, Ordering::Relaxed))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(settings.warmup_seconds));
        let before = Usage::now()?;
        let _ = cell.phase.compare_exchange(WARMING, MEASURING, Ordering::Relaxed, Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs_f64(settings.seconds));
        cell.phase.store(OVER, Ordering::Relaxed);
        let after = Usage::now()?;
        let mut latencies = KINDS.map(|_| Latencies::new());
        let mut missing = 0;
        for client in clients {
            let (own, own_missing) = client.join().expect("a client does not panic")?;
            latencies.iter_mut().zip(&own).for_each(|(all, own)| all.merge(own));
            missing += own_missing;
        }
        Ok((latencies, missing, before, after))
    })?;
    let ops: u64 = latencies.iter().map(|kind| kind.count).sum();
    let wall = (after.at - before.at).as_secs_f64();
    let kinds: Vec<String> = KINDS
        .iter()
        .zip(&latencies)
        .filter(|(_, latencies)| latencies.count > 0)
        .map(|((_, name), latencies)| {
            let (p50, p99) = (latencies.percentile_us(50.0), latencies.percentile_us(99.0));
            format!(r#""{name}":{{"count":{},"p50_us":{p50:.2},"p99_us":{p99:.2}}}"#, latencies.count)
        })
        .collect();
    let (rss, peak) = resident()?;
    println!(
        r#"{{"engine":"{engine}","what":"run","workload":"{}","clients":{},"durability":"{}","keys":{},"cache_mb":{},"seed":{},"seconds":{wall:.3},"warmup_s":{},"ops":{ops},"ops_s":{:.1},"cpu_us":{:.3},"kinds":{{{}}},"missing":{missing},"written_bytes_op":{:.1},"disk_flushes":{},"rss_mb":{:.1},"peak_rss_mb":{:.1},"load_average":{}}}"#,
        settings.workload,
        settings.clients,
        format!("{:?}", settings.durability).to_lowercase(),
        settings.keys,
        settings.cache_bytes >> 20,
        settings.seed,
        settings.warmup_seconds,
        ops as f64 / wall,
        (after.cpu_seconds - before.cpu_seconds) * 1e6 / ops.max(1) as f64,
        kinds.join(","),
        (after.written_bytes - before.written_bytes) as f64 / ops.max(1) as f64,
        after.disk_flushes - before.disk_flushes,
        rss as f64 / 1e6,
        peak as f64 / 1e6,
        load_average()?,
    );
    Ok(())
}

fn client<S: Store>(cell: &Cell<'_, S>, number: u64) -> Outcome<([Latencies; 5], u64)> {
    let Cell { store, settings, zipf, .. } = cell;
    let (usual, seldom, percent) = mix(settings.workload)?;
    let latest = settings.workload == 'd';
    let mut random = Random(settings.seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ number.rotate_left(40));
    let mut latencies = KINDS.map(|_| Latencies::new());
    let mut missing = 0;
    loop {
        let kind = if random.below(100) < percent { seldom } else { usual };
        let record = if latest {
            settings.keys + cell.inserted.load(Ordering::Relaxed) - 1 - zipf.rank(&mut random)
        } else {
            zipf.record(&mut random)
        };
        let key = data::key(record);
        let mut right = true;
        let mut see = |bytes: &[u8]| right &= data::is_value_of(record, bytes);
        let started = Instant::now();
        let found = match kind {
            Kind::Read => store.get(&key, &mut see)?,
            Kind::Update => {
                store.put(&key, &data::value(record, random.next()), settings.durability)?;
                true
            }
            Kind::Insert => {
                let record = cell.next.fetch_add(1, Ordering::Relaxed);
                store.put(&data::key(record), &data::value(record, 0), settings.durability)?;
                cell.inserted.fetch_add(1, Ordering::Relaxed);
                true
            }
            Kind::Scan => {
                let mut sizes = true;
                let limit = 1 + random.below(SCAN_MAX) as usize;
                store.scan(&key, limit, &mut |bytes| sizes &= bytes.len() == data::VALUE_BYTES)?;
                sizes
            }
            Kind::ReadModifyWrite => {
                let found = store.get(&key, &mut see)?;
                store.put(&key, &data::value(record, random.next()), settings.durability)?;
                found
            }
        };
        let took = started.elapsed();
        if !found && latest {
            missing += 1;
        } else if !found || !right {
            return Err(format!("record {record}: not found, or another's value").into());
        }
        match cell.phase.load(Ordering::Relaxed) {
            WARMING => {}
            MEASURING => latencies[kind as usize].add(took.as_nanos() as u64),
            _ => return Ok((latencies, missing)),
        }
    }
}
