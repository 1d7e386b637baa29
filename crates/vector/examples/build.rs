//! Question: what does building a graph cost, and how good is it?
//!
//! Data: 50,000 MiniLM vectors (cosine, 384-d) and 200,000 SIFT descriptors (L2, 128-d); with `million`, 1,000,000 of those.
//! Command: `cargo run --release -p nuthatch-vector --example build [beam [threads [text|sift|million]]]`, with 100 and 2 when
//! nothing is said. Recall@10 of a greedy search over the int8 distances, whose pool is compared exactly, with the exact
//! nearest rows of 200 queries; a row counts as found when it is no farther than the tenth. Hops are the lists that the
//! search read.

#[path = "../tests/data/cpu.rs"]
mod cpu;
#[path = "../tests/data/mod.rs"]
mod data;
#[path = "../tests/greedy/mod.rs"]
mod greedy;

use std::ops::ControlFlow;
use std::time::Instant;

use data::{Matrix, read_npy};
use nuthatch_vector::{BuildCodes, BuildParameters, Centroid, GraphBuilder, Metric, Rotation};

const LIMIT: usize = 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let beam = arguments.next().map_or(100, |beam| beam.parse().expect("a beam"));
    let threads = arguments.next().map_or(2, |threads| threads.parse().expect("a number of threads"));
    let which = arguments.next().unwrap_or_default();
    let Some(folder) = data::folder() else { return };
    if which == "million" {
        let mut rows = read_npy(&folder.join("sift/base_0.npy"), usize::MAX);
        rows.values.extend(read_npy(&folder.join("sift/base_1.npy"), usize::MAX).values);
        let queries = read_npy(&folder.join("sift/query.npy"), 200);
        return measure("sift128-1m", rows, &queries, Metric::L2, beam, threads);
    }
    if which != "sift" {
        let rows = read_npy(&folder.join("text/docs50k_vec_f16.npy"), usize::MAX);
        let queries = read_npy(&folder.join("text/queries1k_vec_f16.npy"), 200);
        measure("text384-50k", rows, &queries, Metric::Cosine, beam, threads);
    }
    if which != "text" {
        let rows = read_npy(&folder.join("sift/base_0.npy"), 200_000);
        let queries = read_npy(&folder.join("sift/query.npy"), 200);
        measure("sift128-200k", rows, &queries, Metric::L2, beam, threads);
    }
}

fn measure(name: &str, rows: Matrix, queries: &Matrix, metric: Metric, beam: usize, threads: usize) {
    let coder = Coder::new(&rows, metric);
    let mut codes = BuildCodes::new(coder.rotation.padded_dim());
    let started = Instant::now();
    rows.rows().for_each(|row| codes.push(&coder.code(row), 0.0));
    println!("{name}: {:.2} s to code, {} bytes of codes", started.elapsed().as_secs_f64(), codes.bytes());
    let reaches: Vec<f32> = queries
        .rows()
        .map(|query| {
            let mut exact: Vec<f32> = rows.rows().map(|row| metric.similarity(query, row)).collect();
            *exact.select_nth_unstable_by(LIMIT - 1, |a, b| b.total_cmp(a)).1
        })
        .collect();

    let (started, cpu) = (Instant::now(), cpu::process_seconds());
    let parameters = BuildParameters { beam, ..BuildParameters::default() };
    let mut builder = GraphBuilder::new(&codes, parameters);
    let _ = builder.build(threads, &mut |_| ControlFlow::Continue(()));
    let (inserted, inserted_cpu) = (started.elapsed().as_secs_f64(), cpu::process_seconds() - cpu);
    let edges = builder.finish(threads);
    let (all, all_cpu) = (started.elapsed().as_secs_f64(), cpu::process_seconds() - cpu);
    let degrees: usize = (0..edges.len() as u32).map(|node| edges.neighbours(node).len()).sum();
    println!(
        "  beam {beam}, {threads} threads: {inserted_cpu:.2} + {:.2} CPU s, {inserted:.2} + {:.2} s, degree {:.1}, {} bytes of edges",
        all_cpu - inserted_cpu,
        all - inserted,
        degrees as f64 / edges.len() as f64,
        edges.bytes(),
    );
    queries.rows().for_each(|query| codes.push(&coder.code(query), 0.0));
    for width in [16, 32, 64, 100, 200] {
        let (mut hits, mut hops, mut distances) = (0, 0, 0);
        for (at, (query, reach)) in queries.rows().zip(&reaches).enumerate() {
            let found = greedy::search(&codes, &edges, (rows.len() + at) as u32, width);
            let exact = found.nearest.iter().map(|row| metric.similarity(query, rows.row(*row as usize)));
            hits += exact.filter(|similarity| similarity >= reach).count().min(LIMIT);
            hops += found.hops;
            distances += found.distances;
        }
        let asked = queries.len() as f64;
        println!(
            "  width {width:3}: recall@{LIMIT} {:.4}, {:.1} hops, {:.0} distances",
            hits as f64 / asked / LIMIT as f64,
            hops as f64 / asked,
            distances as f64 / asked
        );
    }
}

/// Raw rows to what the codes are made of.
struct Coder {
    metric: Metric,
    centroid: Vec<f32>,
    rotation: Rotation,
}

impl Coder {
    fn new(rows: &Matrix, metric: Metric) -> Self {
        let mut centroid = Centroid::new(rows.dim, metric).expect("a dimension in range");
        rows.rows().step_by(8).for_each(|row| centroid.add(row).expect("a valid row"));
        let rotation = Rotation::new(rows.dim, 42).expect("a dimension in range");
        Self { metric, centroid: centroid.mean(), rotation }
    }

    fn code(&self, row: &[f32]) -> Vec<f32> {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        let scale = if self.metric == Metric::Cosine { 1.0 / norm } else { 1.0 };
        let residual: Vec<f32> = row.iter().zip(&self.centroid).map(|(x, c)| x * scale - c).collect();
        let mut rotated = Vec::new();
        self.rotation.rotate(&residual, &mut rotated);
        rotated
    }
}
