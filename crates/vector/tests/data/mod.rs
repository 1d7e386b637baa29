//! Vectors for tests and measurements: a generator, and a reader of the benchmark data where that is present.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// Where the benchmark data lies: `NUTHATCH_TEST_DATA`, else `shared/data` beside the workspace; `None`, with a word, when absent.
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

/// The first `rows_max` rows of a two-dimensional `.npy` file of u8, i32, i64, f16 or f32.
pub fn read_npy(path: &Path, rows_max: usize) -> Matrix {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{}", path.display());
    let header_bytes = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..10 + header_bytes]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0;
    let shape: Vec<usize> = shape.split(',').filter_map(|x| x.trim().parse().ok()).collect();
    let (rows, dim) = (shape[0].min(rows_max), shape[1]);
    let data = &bytes[10 + header_bytes..];
    let kind = header.split_once("'descr': '").unwrap().1.split_once('\'').unwrap().0;
    let values = match kind {
        "|u1" => data[..rows * dim].iter().map(|x| f32::from(*x)).collect(),
        "<f2" => numbers(data, rows * dim, |x| half::f16::from_le_bytes(x).to_f32()),
        "<f4" => numbers(data, rows * dim, f32::from_le_bytes),
        "<i4" => numbers(data, rows * dim, |x| i32::from_le_bytes(x) as f32),
        "<i8" => numbers(data, rows * dim, |x| i64::from_le_bytes(x) as f32),
        _ => panic!("{}: values of kind {kind}", path.display()),
    };
    Matrix { dim, values }
}

fn numbers<const N: usize>(data: &[u8], count: usize, of: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    let (parts, _) = data.as_chunks::<N>();
    parts[..count].iter().map(|x| of(*x)).collect()
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
