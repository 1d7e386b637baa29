//! The bytes of a code file.
//!
//! ```text
//! units      pages of 65,536 bytes, each with as many whole units as fit and zeros behind them; the last page ends
//!            with its last unit. Page p is block p of the block file: no unit straddles two blocks.
//! centroid   dim * f32
//! tail       64 bytes, below
//!
//! unit of codes1: 32 rows   sign bits, padded_dim * 4 bytes (layout: nuthatch_distance::pack_block)
//!                           32 * f32 add, 32 * f32 scale          (rows that do not exist: zeros)
//! unit of codes4: 1 row     4-bit codes, padded_dim / 2 bytes (layout: nuthatch_distance::dot_u4_i8)
//!                           f32 add, f32 scale
//!                           CRC-32C of these, begun with the row's number (u32) instead of 0
//!
//! tail   0  magic "NUTCODE1" or "NUTCODE4"     28  rows u32
//!        8  version u32                        32  seed u64
//!       12  bits u32 (1, 4)                    40  bytes of a unit u32
//!       16  dim u32                            44  units of a page u32
//!       20  padded_dim u32                     48  zeros
//!       24  metric u32 (0 cosine, 1 dot, 2 L2, 3 Hamming)
//! ```
//! Everything is little endian. The tail comes last because rows are streamed and their number is known at the end.

use std::path::Path;

use nuthatch_distance::{BLOCK_FACTOR_BYTES, BLOCK_ROWS};
use nuthatch_segment::{BLOCK_BYTES, BlockFile, SegmentError};

use crate::rotation::padded_dim;
use crate::validate::validate_dim;
use crate::{Metric, Result};

/// Version of the layout of `codes1` and `codes4` that is written.
pub const CODES_FORMAT_VERSION: u32 = 2;
/// Oldest version that is read. Version 1 had no checksums of single rows; such segments are rebuilt.
pub const CODES_FORMAT_OLDEST_READABLE: u32 = 2;

const TAIL_BYTES: usize = 64;

/// Which of the two files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    One,
    Four,
}

impl Width {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::One => "codes1",
            Self::Four => "codes4",
        }
    }

    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::One => b"NUTCODE1",
            Self::Four => b"NUTCODE4",
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Four => 4,
        }
    }

    /// Bytes of codes in a unit, before its factors.
    pub(crate) fn code_bytes(self, padded_dim: usize) -> usize {
        match self {
            Self::One => padded_dim / 8 * BLOCK_ROWS,
            Self::Four => padded_dim / 2,
        }
    }

    pub(crate) fn unit_bytes(self, padded_dim: usize) -> usize {
        self.code_bytes(padded_dim)
            + match self {
                Self::One => BLOCK_FACTOR_BYTES,
                Self::Four => 12,
            }
    }

    pub(crate) fn units(self, rows: u32) -> u64 {
        match self {
            Self::One => u64::from(rows).div_ceil(BLOCK_ROWS as u64),
            Self::Four => u64::from(rows),
        }
    }
}

/// The properties that both files record.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Header {
    pub(crate) dim: usize,
    pub(crate) metric: Metric,
    pub(crate) seed: u64,
    pub(crate) rows: u32,
    pub(crate) centroid: Vec<f32>,
}

impl Header {
    pub(crate) fn padded_dim(&self) -> usize {
        padded_dim(self.dim)
    }

    /// Centroid and tail, to be written behind the units.
    pub(crate) fn to_bytes(&self, width: Width) -> Vec<u8> {
        let unit_bytes = width.unit_bytes(self.padded_dim());
        let mut bytes: Vec<u8> = self.centroid.iter().flat_map(|x| x.to_le_bytes()).collect();
        bytes.extend_from_slice(width.magic());
        for field in [
            CODES_FORMAT_VERSION,
            width.bits(),
            self.dim as u32,
            self.padded_dim() as u32,
            metric_code(self.metric),
            self.rows,
        ] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        bytes.extend_from_slice(&(unit_bytes as u32).to_le_bytes());
        bytes.extend_from_slice(&((BLOCK_BYTES / unit_bytes) as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 16]);
        bytes
    }

    /// Reads and checks the header of `file`: every field, and that the file is exactly as long as they say.
    pub(crate) fn read(file: &BlockFile, width: Width) -> Result<Self> {
        let corrupt = |what: String| SegmentError::corrupt(file.path(), what);
        let mut tail = [0; TAIL_BYTES];
        let tail_at =
            file.len().checked_sub(TAIL_BYTES as u64).ok_or_else(|| corrupt("shorter than its header".into()))?;
        file.read_at(tail_at, &mut tail)?;
        if &tail[..8] != width.magic() {
            return Err(corrupt(format!("it is not a {} file", width.file_name())).into());
        }
        let field = |at: usize| u32::from_le_bytes(tail[at..at + 4].try_into().expect("four bytes"));
        let version = field(8);
        if !(CODES_FORMAT_OLDEST_READABLE..=CODES_FORMAT_VERSION).contains(&version) {
            return Err(corrupt(format!(
                "codes of version {version}, this program reads {CODES_FORMAT_OLDEST_READABLE} to {CODES_FORMAT_VERSION}"
            ))
            .into());
        }
        let (dim, rows) = (field(16) as usize, field(28));
        validate_dim(dim).map_err(|_| corrupt(format!("{dim} dimensions")))?;
        let metric = metric_of(field(24)).ok_or_else(|| corrupt(format!("metric number {}", field(24))))?;
        let unit_bytes = width.unit_bytes(padded_dim(dim));
        let expected =
            [(12, width.bits() as usize), (20, padded_dim(dim)), (40, unit_bytes), (44, BLOCK_BYTES / unit_bytes)];
        for (at, expected) in expected {
            if field(at) as usize != expected {
                return Err(corrupt(format!("byte {at} of its header says {}, not {expected}", field(at))).into());
            }
        }
        if tail[48..] != [0; 16] {
            return Err(corrupt("its header does not end in zeros".into()).into());
        }
        let units_end = units_end(width.units(rows), unit_bytes);
        if units_end + (dim * 4) as u64 != tail_at {
            return Err(corrupt(format!("its length does not fit {rows} rows of {dim} dimensions")).into());
        }
        let mut centroid = vec![0; dim * 4];
        file.read_at(units_end, &mut centroid)?;
        let centroid: Vec<f32> =
            centroid.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().expect("four bytes"))).collect();
        if !centroid.iter().all(|x| x.is_finite()) {
            return Err(corrupt("its centroid is not finite".into()).into());
        }
        let seed = u64::from_le_bytes(tail[32..40].try_into().expect("eight bytes"));
        Ok(Self { dim, metric, seed, rows, centroid })
    }

    /// That the two files of a segment belong together.
    pub(crate) fn same_as(&self, other: &Self, other_path: &Path) -> Result<()> {
        if self == other {
            Ok(())
        } else {
            let what = "its header differs from that of codes1 next to it";
            Err(SegmentError::corrupt(other_path, what).into())
        }
    }
}

/// Where a unit begins.
pub(crate) fn unit_at(unit: u32, unit_bytes: usize) -> u64 {
    units_end(u64::from(unit), unit_bytes)
}

/// Where the units end: full pages, then the rest without padding.
pub(crate) fn units_end(units: u64, unit_bytes: usize) -> u64 {
    let per_page = (BLOCK_BYTES / unit_bytes) as u64;
    units / per_page * BLOCK_BYTES as u64 + units % per_page * unit_bytes as u64
}

pub(crate) fn metric_code(metric: Metric) -> u32 {
    match metric {
        Metric::Cosine => 0,
        Metric::Dot => 1,
        Metric::L2 => 2,
        Metric::Hamming => 3,
    }
}

pub(crate) fn metric_of(code: u32) -> Option<Metric> {
    Metric::ALL.into_iter().find(|metric| metric_code(*metric) == code)
}
