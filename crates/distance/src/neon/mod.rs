//! NEON (and SDOT where there is one). Callers have checked lengths and CPU; tails go to the scalar code.
//!
//! Two instructions are written as assembly because the compiler's functions for them are newer than the oldest compiler
//! that the workspace supports (`fcvtl`) or not yet stable (`sdot`).

mod bytes;
mod codes;
mod float;
mod hadamard;
mod scan;
mod table;

pub(crate) use bytes::{add_hamming, dot_i8, dot_u8, hamming, l2_squared_i8, l2_squared_u8};
pub(crate) use codes::{dot_i8_i16, dot_u4_i8, dot_u4_i8_many};
pub(crate) use float::{dot, dot_f16, l2_squared, l2_squared_f16};
pub(crate) use hadamard::hadamard;
pub(crate) use scan::{scan_block, scan_edges};
pub(crate) use table::fill_table;
