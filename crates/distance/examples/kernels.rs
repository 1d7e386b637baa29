//! Question: what does each instruction set buy, kernel by kernel? (This is what the `unsafe` of this crate is for.)
//!
//! Data: numbers from a fixed generator, 64 KiB of rows, so that the level 2 cache holds them. Nanoseconds per row, best of 20
//! rounds. Command: `cargo run --release -p nuthatch-distance --example kernels`.

use std::hint::black_box;
use std::time::Instant;

use nuthatch_distance::*;

fn main() {
    let bytes: Vec<u8> = (0..1u32 << 18).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|x| f32::from(*x) - 128.0).collect();
    let int8: Vec<i8> = bytes.iter().map(|x| *x as i8).collect();
    let int16: Vec<i16> = int8.iter().map(|x| i16::from(*x) * 100).collect();
    println!(
        "{:>5} {:<12} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}",
        "dim", "level", "dot", "l2", "i8", "i8i16", "u4i8", "fast scan"
    );
    for dim in [128, 384, 1024] {
        let table = LookupTable::new(&floats[..dim]);
        let factors = [0; BLOCK_FACTOR_BYTES];
        let mut out = [0.0; BLOCK_ROWS];
        for level in Level::supported() {
            let (query, rows) = (&floats[..dim], 65_536 / (dim * 4));
            let dot = ns(rows, |row| dot_on(level, query, &floats[row * dim..][..dim]));
            let l2 = ns(rows, |row| l2_squared_on(level, query, &floats[row * dim..][..dim]));
            let i8 = ns(rows * 4, |row| dot_i8_on(level, &int8[..dim], &int8[row * dim..][..dim]));
            let i8i16 = ns(rows * 4, |row| dot_i8_i16_on(level, &int8[row * dim..][..dim], &int16[..dim]));
            let u4i8 = ns(rows * 8, |row| dot_u4_i8_on(level, &bytes[row * dim / 2..][..dim / 2], &int8[..dim]));
            let fast = ns(rows, |block| {
                scan_block_on(level, &bytes[block * dim * 4..][..dim * 4], &factors, &table, 1.0, &mut out)
            });
            let fast = fast / BLOCK_ROWS as f64;
            println!("{dim:>5} {level:<12} {dot:>7.1} {l2:>7.1} {i8:>7.1} {i8i16:>7.1} {u4i8:>7.1} {fast:>9.2}");
        }
    }
}

/// Best of twenty rounds over all rows.
fn ns<T>(rows: usize, mut kernel: impl FnMut(usize) -> T) -> f64 {
    let round = |_| {
        let started = Instant::now();
        for row in 0..rows {
            black_box(kernel(row));
        }
        started.elapsed().as_nanos() as f64 / rows as f64
    };
    (0..20).map(round).fold(f64::INFINITY, f64::min)
}
