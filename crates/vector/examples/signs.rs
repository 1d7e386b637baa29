//! What does a search through the signs of many rows in memory cost?
//!
//! Random vectors, of which each query has one at a cosine of 0.9; seed 7; one thread.
//! `cargo run --release -p nuthatch-vector --example signs -- 10000 100000 1000000`

use std::time::Instant;

use nuthatch_vector::SignCodes;

const SEARCHES: usize = 300;

fn main() -> nuthatch_vector::Result<()> {
    println!("   rows   dim  MB/1000 rows   p50 µs   p99 µs   insert µs   found");
    for rows in std::env::args().skip(1).filter_map(|rows| rows.parse::<u64>().ok()) {
        for dim in [384, 768] {
            measure(rows, dim)?;
        }
    }
    Ok(())
}

fn measure(rows: u64, dim: usize) -> nuthatch_vector::Result<()> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut some = || -> Vec<f32> { (0..dim).map(|_| random.f32() + random.f32() - 1.0).collect() };
    let mut codes = SignCodes::new(dim)?;
    let begun = Instant::now();
    (0..rows).for_each(|id| codes.insert(id, &some()));
    let insert = begun.elapsed().as_secs_f64() * 1e6 / rows as f64;
    let (mut took, mut found) = (Vec::new(), 0);
    for at in 0..SEARCHES {
        let query = some();
        let near: Vec<f32> = query.iter().zip(some()).map(|(a, b)| a * 0.9 + b * 0.436).collect();
        codes.insert(rows + at as u64, &near);
        let begun = Instant::now();
        let nearest = codes.search(&query, 24);
        took.push(begun.elapsed().as_secs_f64() * 1e6);
        found += usize::from(nearest.iter().any(|(id, _)| *id == rows + at as u64));
    }
    took.sort_by(f64::total_cmp);
    let (p50, p99, megabytes) =
        (took[SEARCHES / 2], took[SEARCHES * 99 / 100], codes.bytes() as f64 / 1e3 / rows as f64);
    println!("{rows:>7}  {dim:>4}  {megabytes:>12.3}  {p50:>7.0}  {p99:>7.0}  {insert:>10.2}   {found} of {SEARCHES}");
    Ok(())
}
