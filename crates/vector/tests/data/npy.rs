//! Rows of a two-dimensional `.npy` file, one at a time: files larger than what a measurement may hold.
#![allow(dead_code)]

use std::io::{BufReader, Error, Read, Result};
use std::path::Path;

/// An open file of u8, f16, f32, i32 or i64 in C order.
pub struct NpyRows {
    file: BufReader<std::fs::File>,
    decode: fn(&[u8]) -> f32,
    raw: Vec<u8>,
    /// Bytes of one number.
    width: usize,
    pub rows: usize,
    pub dim: usize,
}

impl NpyRows {
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 20, std::fs::File::open(path)?);
        let mut head = [0; 10];
        file.read_exact(&mut head)?;
        let mut header = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
        file.read_exact(&mut header)?;
        let header = String::from_utf8_lossy(&header);
        let between = |from: &str, to: char| Some(header.split_once(from)?.1.split_once(to)?.0);
        let shape = between("'shape': (", ')').unwrap_or_default();
        let shape: Vec<usize> = shape.split(',').filter_map(|x| x.trim().parse().ok()).collect();
        let (&[rows, dim], true) = (shape.as_slice(), header.contains("'fortran_order': False")) else {
            return Err(Error::other(format!("not rows one after another: {header}")));
        };
        let (width, decode): (usize, fn(&[u8]) -> f32) = match between("'descr': '", '\'') {
            Some("|u1") => (1, |x| f32::from(x[0])),
            Some("<f2") => (2, |x| half::f16::from_le_bytes([x[0], x[1]]).to_f32()),
            Some("<f4") => (4, |x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])),
            Some("<i4") => (4, |x| i32::from_le_bytes([x[0], x[1], x[2], x[3]]) as f32),
            Some("<i8") => (8, |x| i64::from_le_bytes(x.try_into().expect("eight bytes")) as f32),
            kind => return Err(Error::other(format!("values of kind {kind:?}"))),
        };
        Ok(Self { file, decode, raw: vec![0; dim * width], width, rows, dim })
    }

    /// The next row, in place of what `row` held.
    pub fn read(&mut self, row: &mut Vec<f32>) -> Result<()> {
        self.file.read_exact(&mut self.raw)?;
        row.clear();
        row.extend(self.raw.chunks_exact(self.width).map(self.decode));
        Ok(())
    }
}
