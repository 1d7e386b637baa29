//! Distance kernels with run-time dispatch: one safe function per kernel, one implementation per instruction set.
//!
//! **Useful for** exact comparison of a query with stored rows (`f32`, half precision, int8, uint8, bits), int8 codes, 4-bit
//! codes against an 8-bit query, the fast scan of 1- and 2-bit codes over blocks of 32 rows and its tables, and the Hadamard
//! transform that rotations are made of.
//! **Not for** deciding what the numbers mean: quantisers, estimators and metrics live in `nuthatch-vector`.
//!
//! **Invariant:** every instruction set gives the same answer. Integer kernels, [`hadamard`], [`LookupTable::new`], [`scan_block`]
//! and [`scan_edges`] agree bit for bit with the scalar code (no fused multiply-add where a rounding could decide who is a
//! candidate); the `f32` sums differ only in the order and the fusing of additions. This is the workspace's address for
//! `unsafe` arithmetic: each block states why it is sound, and every length is checked in the safe function in front of it.
//!
//! Levels: scalar (everywhere; written so that compilers vectorise it), AVX2 + FMA + F16C, AVX-512 with VNNI, and NEON.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fast_scan;
mod float;
mod hadamard;
mod integer;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod prefetch;
mod scalar;

pub use fast_scan::{
    BLOCK_FACTOR_BYTES, BLOCK_ROWS, LookupTable, pack_block, scan_block, scan_block_on, scan_edges, scan_edges_on,
};
pub use float::{dot, dot_f16, dot_f16_on, dot_on, l2_squared, l2_squared_f16, l2_squared_f16_on, l2_squared_on};
pub use hadamard::{hadamard, hadamard_on};
pub use integer::{
    DIM_MAX, I16_QUERY_MAX, add_hamming, add_hamming_on, dot_i8, dot_i8_i16, dot_i8_i16_on, dot_i8_on, dot_u4_i8,
    dot_u4_i8_many, dot_u4_i8_many_on, dot_u4_i8_on, dot_u8, dot_u8_on, hamming, hamming_on, l2_squared_i8,
    l2_squared_i8_on, l2_squared_u8, l2_squared_u8_on,
};
pub use level::{Level, UnknownLevel};
pub use prefetch::prefetch;
