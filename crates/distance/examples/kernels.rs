//! Question: what does each instruction set buy, kernel by kernel, and how much of it is left when rows come from memory?
//! (This is what the `unsafe` of this crate is for.)
//!
//! Data: numbers from a fixed generator (splitmix64, seed 1), rows one after another from a cache line's start, as in a mapped
//! file. L2: 256 KiB of them, which the level 2
//! cache holds. Sequential: 128 MiB of them, in order. Random: 65,536 rows anywhere in the same 128 MiB, each prefetched four
//! rows ahead (ordinary pages, so most rows also miss the address cache). Nanoseconds per row (scans: a thirty-second part of a
//! block with its factors; `dot_u4_i8_many` takes 32 rows a call and prefetches one call ahead), best of several rounds.
//!
//! Command: `cargo run --release -p nuthatch-distance --example kernels [-- part of a kernel's name]`.

use std::hint::black_box;
use std::time::Instant;

use nuthatch_distance::*;

const L2_BYTES: usize = 256 << 10;
const DRAM_BYTES: usize = 128 << 20;
const RANDOM_ROWS: usize = 65_536;
const PREFETCH_AHEAD: usize = 4;

fn main() {
    float32();
    float16();
    int8();
    uint8_and_codes();
}

fn float32() {
    let floats: Vec<f32> = numbers().take(DRAM_BYTES / 4).map(|x| (x >> 40) as f32 - 8e6).collect();
    for dim in [128, 384, 1024] {
        heading(dim);
        let query = &floats[..dim];
        for level in Level::supported() {
            rows("dot", level, &floats, dim, |row| dot_on(level, row, query));
            rows("l2_squared", level, &floats, dim, |row| l2_squared_on(level, row, query));
        }
    }
}

fn float16() {
    let halves: Vec<u16> = numbers().take(DRAM_BYTES / 2).map(|x| x as u16 & 0x8FFF | 0x2800).collect();
    for dim in [128, 384, 1024] {
        heading(dim);
        let query = vec![0.5; dim];
        for level in Level::supported() {
            rows("dot_f16", level, &halves, dim, |row| dot_f16_on(level, row, &query));
            rows("l2_squared_f16", level, &halves, dim, |row| l2_squared_f16_on(level, row, &query));
        }
    }
}

fn int8() {
    let int8: Vec<i8> = numbers().take(DRAM_BYTES).map(|x| x as i8).collect();
    for dim in [128, 384, 1024] {
        heading(dim);
        let (query, finer) = (&int8[..dim], vec![12_345; dim]);
        for level in Level::supported() {
            rows("dot_i8", level, &int8, dim, |row| dot_i8_on(level, row, query));
            rows("l2_squared_i8", level, &int8, dim, |row| l2_squared_i8_on(level, row, query));
            rows("dot_i8_i16", level, &int8, dim, |row| dot_i8_i16_on(level, row, &finer));
        }
    }
}

fn uint8_and_codes() {
    // Every fourth byte is a middling exponent, so that any four are an ordinary f32 of a block's factors.
    let bytes: Vec<u8> = numbers().take(DRAM_BYTES / 4).flat_map(|x| [x as u8, (x >> 8) as u8, 0x40, 0x3E]).collect();
    for dim in [128, 384, 1024] {
        heading(dim);
        let (query, nibbles, signs) = (&bytes[..dim], vec![77; dim], &bytes[..dim / 8]);
        let table = LookupTable::new(&(0..dim).map(|i| (i % 17) as f32 - 8.0).collect::<Vec<_>>());
        let mut out = [0.0; BLOCK_ROWS];
        for level in Level::supported() {
            rows("dot_u8", level, &bytes, dim, |row| dot_u8_on(level, row, query));
            rows("l2_squared_u8", level, &bytes, dim, |row| l2_squared_u8_on(level, row, query));
            rows("dot_u4_i8", level, &bytes, dim / 2, |row| dot_u4_i8_on(level, row, &nibbles));
            many("dot_u4_i8_many", level, &bytes, &nibbles);
            rows("hamming", level, &bytes, dim / 8, |row| hamming_on(level, row, signs));
            blocks("scan_block", level, &bytes, dim * 4, |codes, factors| {
                scan_block_on(level, codes, factors, &table, 1.0, &mut out)
            });
            for planes in [1, 2] {
                blocks(&format!("scan_edges, {planes} bit"), level, &bytes, planes * dim * 4, |codes, factors| {
                    scan_edges_on(level, codes, planes, factors, &table, (1.0, 1.0), &mut out)
                });
            }
        }
    }
}

fn heading(dim: usize) {
    println!(
        "\n{dim:>4} dimensions    {:<12} {:>9} {:>9} {:>10} {:>9}",
        "level", "bytes/row", "L2", "sequential", "random"
    );
}

/// Measures a kernel over rows of `length` elements.
fn rows<T, R>(name: &str, level: Level, data: &[T], length: usize, kernel: impl FnMut(&[T]) -> R) {
    report(name, level, data, length, 1, kernel);
}

/// Measures a scan over blocks of codes, each with its factors behind it.
fn blocks<R>(name: &str, level: Level, data: &[u8], code_bytes: usize, mut scan: impl FnMut(&[u8], &[u8]) -> R) {
    let kernel = |block: &[u8]| scan(&block[..code_bytes], &block[code_bytes..]);
    report(name, level, data, code_bytes + BLOCK_FACTOR_BYTES, BLOCK_ROWS, kernel);
}

/// Measures 32 rows a call, the random ones prefetched a call ahead.
fn many(name: &str, level: Level, data: &[u8], query: &[i8]) {
    if !wanted(name) {
        return;
    }
    let (data, row_bytes) = (from_line_start(data), query.len() / 2);
    let batches = |rows: Vec<usize>| -> Vec<[usize; 32]> { rows.as_chunks().0.to_vec() };
    let near = batches((0..L2_BYTES / row_bytes).collect());
    let all = batches((0..data.len() / row_bytes).collect());
    let random = batches(random_rows(data.len() / row_bytes));
    let row = |i: usize| &data[i * row_bytes..][..row_bytes];
    let mut out = [0; 32];
    let mut kernel = |batch: &[usize; 32]| {
        dot_u4_i8_many_on(level, query, &batch.map(row), &mut out);
        black_box(&out);
    };
    let in_l2 = best_of(50, near.len(), |i| kernel(&near[i]));
    let sequential = best_of(3, all.len(), |i| kernel(&all[i]));
    let random = best_of(5, random.len(), |i| {
        let next = random[(i + 1) % random.len()];
        next.iter().for_each(|i| prefetch(row(*i)));
        kernel(&random[i])
    });
    print_row(name, level, row_bytes, [in_l2, sequential, random].map(|ns| ns / 32.0));
}

fn report<T, R>(
    name: &str,
    level: Level,
    data: &[T],
    length: usize,
    rows_per_unit: usize,
    mut kernel: impl FnMut(&[T]) -> R,
) {
    if !wanted(name) {
        return;
    }
    let data = from_line_start(data);
    let unit_bytes = length * size_of::<T>();
    let near = L2_BYTES / unit_bytes;
    let all = data.len() / length;
    let random = random_rows(all);
    let unit = |i: usize| &data[i * length..][..length];
    let in_l2 = best_of(50, near, |i| black_box(kernel(unit(i))));
    let sequential = best_of(3, all, |i| black_box(kernel(unit(i))));
    let random = best_of(5, RANDOM_ROWS, |i| {
        prefetch(as_bytes(unit(random[(i + PREFETCH_AHEAD) % RANDOM_ROWS])));
        black_box(kernel(unit(random[i])))
    });
    let rows = rows_per_unit as f64;
    print_row(name, level, unit_bytes / rows_per_unit, [in_l2, sequential, random].map(|ns| ns / rows));
}

fn random_rows(all: usize) -> Vec<usize> {
    numbers().take(RANDOM_ROWS).map(|x| x as usize % all).collect()
}

fn print_row(name: &str, level: Level, bytes: usize, [in_l2, sequential, random]: [f64; 3]) {
    println!("{name:<18} {level:<12} {bytes:>9} {in_l2:>9.2} {sequential:>10.2} {random:>9.2}");
}

/// Nanoseconds per call in the best round.
fn best_of<R>(rounds: usize, calls: usize, mut call: impl FnMut(usize) -> R) -> f64 {
    let round = |_| {
        let started = Instant::now();
        for i in 0..calls {
            black_box(call(i));
        }
        started.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

fn wanted(name: &str) -> bool {
    std::env::args().nth(1).is_none_or(|part| name.contains(&part))
}

fn from_line_start<T>(data: &[T]) -> &[T] {
    &data[data.as_ptr().align_offset(64)..]
}

fn as_bytes<T>(elements: &[T]) -> &[u8] {
    // SAFETY: the elements are numbers without padding, and any byte of them may be read.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

fn numbers() -> impl Iterator<Item = u64> {
    (1..).map(|i: u64| {
        let z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}
