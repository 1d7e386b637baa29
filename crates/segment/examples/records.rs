//! Questions: what does a record cost, read from the page cache, mapped, or from the disk in batches of 1, 8 and 32; and how
//! much of that is its checksum? (This is what the `unsafe` of mapping is for, and why misses are announced before they are read.)
//!
//! Data: 1 GiB of records of 1, 2 and 4 KiB, filled from a fixed generator, in the folder given (its file system and disk are
//! what is measured); the same seeded indices for every way. Warm: 64 MiB of the file, each record read before. Cold: the file
//! is evicted before each line; all records are of different pages. Medians of single calls; `cpu` is the process's time.
//!
//! Command: `cargo run --release -p nuthatch-segment --example records -- FOLDER` (Linux; 2 GiB of free disk). In a memory limit:
//! the same inside a cgroup.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nuthatch_segment::{Access, RecordFile, RecordFileWriter, RecordReader, Result, Route};

const FILE_BYTES: usize = 1 << 30;
const WARM_BYTES: usize = 64 << 20;
const COLD_RECORDS: usize = 6_400;

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder to write into"));
    println!("checksum alone, in the level 2 cache:");
    for record_bytes in [1024, 2048, 4096] {
        println!("{record_bytes:>6} B {:>8.0} ns", checksum_ns(record_bytes - 4));
    }
    for record_bytes in [1024, 2048, 4096] {
        let path = folder.join(format!("records-{record_bytes}"));
        write(&path, record_bytes)?;
        println!("\n{record_bytes} B a record");
        warm(&path)?;
        cold(&path)?;
        std::fs::remove_file(&path).expect("removing what was written");
    }
    Ok(())
}

fn write(path: &Path, record_bytes: usize) -> Result<()> {
    let mut writer = RecordFileWriter::create(path, record_bytes)?;
    let mut dice = fastrand::Rng::with_seed(1);
    let mut record = vec![0; record_bytes - 4];
    for _ in 0..FILE_BYTES / record_bytes {
        dice.fill(&mut record);
        writer.push(&record)?;
    }
    writer.finish(b"").map(drop)
}

fn checksum_ns(bytes: usize) -> f64 {
    let data = vec![7; 1 << 18];
    let rows = data.len() / 4096;
    (0..200)
        .map(|_| {
            let begun = Instant::now();
            for row in 0..rows {
                black_box(crc32c::crc32c_append(row as u32, &data[row * 4096..][..bytes]));
            }
            begun.elapsed().as_nanos() as f64 / rows as f64
        })
        .fold(f64::MAX, f64::min)
}

fn warm(path: &Path) -> Result<()> {
    for access in [Access::Read, Access::Mapped] {
        let file = RecordFile::open(path, access)?;
        let within = (WARM_BYTES / file.record_bytes()) as u32;
        let mut reader = file.reader();
        let all: Vec<u32> = (0..within).collect();
        touch(&mut reader, &all)?;
        for batch in [1, 8] {
            let mut dice = fastrand::Rng::with_seed(2);
            let indices: Vec<u32> = (0..400_000).map(|_| dice.u32(0..within)).collect();
            let ns = median(indices.chunks(100 * batch).map(|hundred| {
                let begun = Instant::now();
                hundred.chunks(batch).for_each(|batch| touch(&mut reader, batch).expect("reading"));
                begun.elapsed().as_nanos() as f64 / hundred.len() as f64
            }));
            println!("  warm {:<8} batch {batch:>2} {ns:>8.0} ns a record", format!("{access:?}"));
        }
    }
    Ok(())
}

fn cold(path: &Path) -> Result<()> {
    for batch in [1, 8, 32] {
        for (way, route) in [("Read", None), ("Advised", Some(Route::Advised)), ("Threads", Some(Route::Threads))] {
            let file = RecordFile::open(path, Access::Read)?;
            evict(path);
            let records_a_page = (4096 / file.record_bytes()).max(1) as u32;
            let mut pages: Vec<u32> = (0..file.records() as u32 / records_a_page).collect();
            fastrand::Rng::with_seed(3).shuffle(&mut pages);
            let indices: Vec<u32> = pages[..COLD_RECORDS].iter().map(|page| page * records_a_page).collect();
            let mut reader = route.map_or(file.reader(), |route| file.reader().force(route));
            let cpu_before = cpu_us();
            let us = median(indices.chunks(batch).map(|batch| {
                let begun = Instant::now();
                touch(&mut reader, batch).expect("reading");
                begun.elapsed().as_nanos() as f64 / 1e3
            }));
            let cpu = (cpu_us() - cpu_before) / COLD_RECORDS as f64;
            println!(
                "  cold {way:<8} batch {batch:>2} {:>8.0} ns a record, {us:>6.0} µs a call, cpu {cpu:>5.1} µs a record, missed {}",
                us * 1e3 / batch as f64,
                reader.stats().cold,
            );
        }
    }
    Ok(())
}

/// Reads the records and looks at one byte in each cache line, as a kernel would.
fn touch(reader: &mut RecordReader, indices: &[u32]) -> Result<()> {
    let mut sum = 0u64;
    reader.read(indices, &mut |_, bytes| -> Result<()> {
        sum += bytes.iter().step_by(64).map(|byte| u64::from(*byte)).sum::<u64>();
        Ok(())
    })?;
    black_box(sum);
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(target_os = "linux")]
fn evict(path: &Path) {
    let file = std::fs::File::open(path).expect("opening what was written");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("evicting");
}

#[cfg(not(target_os = "linux"))]
fn evict(_path: &Path) {
    println!("  (nothing is evicted on this system: what follows is warm)");
}

/// User and system time of all threads so far; not a number where the system does not tell it so.
fn cpu_us() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let ns = threads.flatten().filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<f64>().ok()
    });
    ns.sum::<f64>() / 1e3
}
