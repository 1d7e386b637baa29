//! Question: what does the text index cost, in time, RAM and disk, on 50,000 passages of real documentation?
//!
//! Query times are CPU time of the one thread that a query uses.
//! Data: `text/docs50k.jsonl.gz` and `text/queries1k.jsonl` of the benchmark data, english, block cache 16 MiB.
//! Command: `NUTHATCH_TEST_DATA=<folder> cargo run --release -p nuthatch-text --example measure_text [writer MiB]`

use std::time::Instant;

use nuthatch_segment::BlockCache;
use nuthatch_text::{Analyzer, RowFilter, TextHit, TextIndex, TextMemtable, TextRow, scan};
use roaring::RoaringTreemap;

#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    let (Some(passages), Some(queries)) =
        (support::data("text/docs50k.jsonl.gz"), support::data("text/queries1k.jsonl"))
    else {
        return;
    };
    let budget_mib: usize = std::env::args().nth(1).map_or(16, |arg| arg.parse().expect("a number of MiB"));
    let texts = |jsonl: &str| -> Vec<String> {
        let lines = jsonl.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.map(|line: serde_json::Value| line["text"].as_str().unwrap().to_string()).collect()
    };
    let (passages, queries) = (texts(&passages), texts(&queries));
    let analyzer = Analyzer::new("english").unwrap();
    for rows in [1_000, 20_000] {
        let before = rss_kib();
        let inserting = Instant::now();
        let mut memtable = TextMemtable::new();
        for (text, row_id) in passages.iter().zip(0..rows) {
            memtable.insert(row_id, text, false, &analyzer);
        }
        report("memtable insert, rows", rows as f64, inserting);
        println!(
            "memtable of {rows} rows: {} KiB by its own account, RSS grew by {} KiB",
            memtable.bytes() >> 10,
            rss_kib() - before
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = BlockCache::new(16 << 20);
    let index = TextIndex::open_or_create(folder.path(), &cache, "english").unwrap();

    let analysing = Instant::now();
    let words: usize = passages.iter().map(|text| analyzer.tokens(text, false).len()).sum();
    report("analyse only, words", words as f64, analysing);

    let rows = |from: usize, to: usize| {
        passages[from..to]
            .iter()
            .zip(from as u64..)
            .map(|(text, row_id)| Ok(TextRow { row_id, text: text.clone(), code: false }))
    };
    let before = rss_kib();
    let watched = watch_rss();
    let committing = Instant::now();
    index.commit(&mut rows(0, 48_000), &[], 1, budget_mib << 20).unwrap();
    let peak = watched();
    let seconds = committing.elapsed().as_secs_f64();
    println!(
        "commit of 48,000 rows, writer {budget_mib} MiB: {seconds:.2} s, {:.0} rows/s, {} segments, RSS {before} -> peak {peak} -> {} KiB",
        48_000.0 / seconds,
        index.segments(),
        rss_kib(),
    );
    println!(
        "disk {} KiB, resident {} KiB, cache {} KiB",
        index.disk_bytes() >> 10,
        index.resident_bytes() >> 10,
        cache.resident_bytes() >> 10
    );
    let mut kinds = std::collections::BTreeMap::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let kind = file.path().extension().unwrap().to_string_lossy().to_string();
        *kinds.entry(kind).or_insert(0) += file.metadata().unwrap().len() >> 10;
    }
    println!("KiB by kind of file: {kinds:?}");
    for (from, to) in [(48_000, 48_001), (48_001, 48_100), (48_100, 49_000)] {
        let committing = Instant::now();
        index.commit(&mut rows(from, to), &[], to as u64, budget_mib << 20).unwrap();
        println!("commit of {} rows: {:.0} ms", to - from, committing.elapsed().as_secs_f64() * 1e3);
    }

    let everything = |memtable: Option<&TextMemtable>, filter: RowFilter<'_>| {
        let mut micros: Vec<f64> = Vec::new();
        for query in &queries {
            let searching = cpu_micros();
            std::hint::black_box(index.search(query, 10, filter, memtable).unwrap());
            micros.push(cpu_micros() - searching);
        }
        micros.sort_by(f64::total_cmp);
        let mean = micros.iter().sum::<f64>() / micros.len() as f64;
        format!("mean {mean:.0}, p50 {:.0}, p99 {:.0} us", micros[micros.len() / 2], micros[micros.len() * 99 / 100])
    };
    everything(None, RowFilter::All);
    println!("query, {} segments: {}", index.segments(), everything(None, RowFilter::All));
    let tenth: RoaringTreemap = (0..50_000).step_by(10).collect();
    let few: RoaringTreemap = (0..50_000).step_by(500).collect();
    println!("  except one in ten: {}", everything(None, RowFilter::Except(&tenth)));
    println!("  only one in ten: {}", everything(None, RowFilter::Only { allowed: &tenth }));
    println!("  only one in 500: {}", everything(None, RowFilter::Only { allowed: &few }));
    let mut memtable = TextMemtable::new();
    for (text, row_id) in passages[49_000..].iter().zip(49_000..) {
        memtable.insert(row_id, text, false, &analyzer);
    }
    println!("  with a memtable of 1,000 rows: {}", everything(Some(&memtable), RowFilter::All));

    let removing: Vec<u64> = (0..49_000).step_by(7).collect();
    let committing = Instant::now();
    index.commit(&mut std::iter::empty(), &removing, 50_000, budget_mib << 20).unwrap();
    println!("commit removing {} rows: {:.0} ms", removing.len(), committing.elapsed().as_secs_f64() * 1e3);
    println!("  query, counting removed rows: {}", everything(None, RowFilter::All));
    println!("  query, counts remembered: {}", everything(None, RowFilter::All));

    let before = rss_kib();
    let watched = watch_rss();
    let merging = Instant::now();
    let mut merges = 0;
    while index.merge().unwrap() {
        merges += 1;
    }
    println!(
        "{merges} merges: {:.2} s, RSS {before} -> peak {} KiB, {} segments",
        merging.elapsed().as_secs_f64(),
        watched(),
        index.segments()
    );
    println!("  query, {} segments: {}", index.segments(), everything(None, RowFilter::All));
    println!("  resident {} KiB", index.resident_bytes() >> 10);

    let scanning = Instant::now();
    let mut all = passages.iter().zip(0..).map(|(text, row_id)| Ok((row_id, text.clone(), false)));
    let hits: Vec<TextHit> = scan(&analyzer, &queries[0], &mut all, 10, RowFilter::All).unwrap();
    println!("scan of 50,000 rows: {:.2} s, {} hits", scanning.elapsed().as_secs_f64(), hits.len());
}

fn report(what: &str, count: f64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    println!("{what}: {count:.0} in {seconds:.2} s, {:.0}/s", count / seconds);
}

/// CPU time of this thread: the wall clock of a busy machine tells about its other programs.
fn cpu_micros() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    nanos.unwrap_or(0.0) / 1e3
}

fn rss_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Samples RSS until the returned closure is called, which gives the peak.
fn watch_rss() -> impl FnOnce() -> i64 {
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = stop.clone();
    let sampler = std::thread::spawn(move || {
        let mut peak = 0;
        while !seen.load(std::sync::atomic::Ordering::Relaxed) {
            peak = peak.max(rss_kib());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        peak
    });
    move || {
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        sampler.join().unwrap()
    }
}
