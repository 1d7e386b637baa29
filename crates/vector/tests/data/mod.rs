//! Vectors for tests and measurements: a generator, and a reader of the benchmark data where that is present.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

mod npy;

pub use npy::NpyRows;

/// The folder of the benchmark data: `NUTHATCH_TEST_DATA`, else `shared/data` next to the workspace; `None`, with a
/// message, when absent.
pub fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("NUTHATCH_TEST_DATA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: no benchmark data at {} (set NUTHATCH_TEST_DATA)", folder.display());
        return None;
    }
    Some(folder)
}

/// Rows of equal length, one after another.
pub struct Matrix {
    pub dim: usize,
    pub values: Vec<f32>,
}

impl Matrix {
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.dim)
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.dim..(row + 1) * self.dim]
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }
}

/// The first `rows_max` rows of a two-dimensional `.npy` file.
pub fn read_npy(path: &Path, rows_max: usize) -> Matrix {
    let read = || -> std::io::Result<Matrix> {
        let mut npy = NpyRows::open(path)?;
        let (dim, mut row, mut values) = (npy.dim, Vec::new(), Vec::new());
        for _ in 0..npy.rows.min(rows_max) {
            npy.read(&mut row)?;
            values.extend_from_slice(&row);
        }
        Ok(Matrix { dim, values })
    };
    read().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reproducible numbers (splitmix64), independent of any crate's version.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Near enough to N(0, 1): twelve uniform numbers.
    pub fn gaussian(&mut self) -> f32 {
        let sum: f64 = (0..12).map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64).sum();
        (sum - 6.0) as f32
    }
}

/// Gaussian clusters of a given spread around Gaussian centres of spread 1: rows, then queries from the same clusters.
pub fn clusters(dim: usize, rows: usize, queries: usize, clusters: usize, spread: f32, seed: u64) -> (Matrix, Matrix) {
    let mut numbers = Numbers(seed);
    let centres: Vec<f32> = (0..clusters * dim).map(|_| numbers.gaussian()).collect();
    let mut draw = |count: usize| Matrix {
        dim,
        values: (0..count)
            .flat_map(|_| {
                let centre = (numbers.next() % clusters as u64) as usize * dim;
                let row: Vec<f32> = (0..dim).map(|i| centres[centre + i] + spread * numbers.gaussian()).collect();
                row
            })
            .collect(),
    };
    let rows = draw(rows);
    (rows, draw(queries))
}
