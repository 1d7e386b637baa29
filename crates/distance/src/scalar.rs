//! The reference implementations: plain Rust in sixteen independent lanes, so that compilers vectorise them.

use crate::fast_scan::{BLOCK_ROWS, Factors, LookupTable};

const LANES: usize = 16;

fn sum_lanes(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(x, y)| term(*x, *y)).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| x * y)
}

pub(crate) fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| (x - y) * (x - y))
}

pub(crate) fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let products = a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y));
    products.sum()
}

pub(crate) fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    // 256 products of at most 2^7 * 2^15 fit an i32 with room to spare.
    let parts = codes.chunks(256).zip(query.chunks(256));
    parts
        .map(|(x, y)| {
            let products = x.iter().zip(y).map(|(x, y)| i32::from(*x) * i32::from(*y));
            i64::from(products.sum::<i32>())
        })
        .sum()
}

pub(crate) fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let mut sum = 0;
    for (bytes, query) in codes.chunks_exact(32).zip(query.chunks_exact(64)) {
        for (j, byte) in bytes.iter().enumerate() {
            sum += i32::from(byte & 15) * i32::from(query[j]);
            sum += i32::from(byte >> 4) * i32::from(query[j + 32]);
        }
    }
    sum
}

pub(crate) fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let mut sums = [0u32; BLOCK_ROWS];
    for (group, entries) in codes.chunks_exact(16).zip(table.entries.chunks_exact(16)) {
        for (j, byte) in group.iter().enumerate() {
            sums[j] += u32::from(entries[usize::from(byte & 15)]);
            sums[j + 16] += u32::from(entries[usize::from(byte >> 4)]);
        }
    }
    let mut above = 0;
    for row in 0..BLOCK_ROWS {
        let value = table.step * sums[row] as f32 + table.bias;
        out[row] = factors.add(row) + factors.scale(row) * value;
        above |= u32::from(out[row] > threshold) << row;
    }
    above
}
