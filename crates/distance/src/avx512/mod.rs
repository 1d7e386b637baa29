//! AVX-512 (F, BW, VL, VNNI; VPOPCNTDQ where there is one). Callers have checked lengths and CPU; loads are unaligned.
//!
//! No load is masked: on Zen 5, masks made reading rows in order from memory seven to twelve times slower. The rest of
//! a vector behind its whole registers is cut from the register that ends where the vector ends, and a vector shorter
//! than one register goes to the narrower code.

use std::arch::x86_64::*;

mod bytes;
mod codes;
mod float;
mod hadamard;
mod many;
mod scan;
mod table;

pub(crate) use bytes::{add_hamming, dot_i8, dot_u8, hamming, l2_squared_i8, l2_squared_u8};
pub(crate) use codes::{dot_i8_i16, dot_u4_i8};
pub(crate) use float::{dot, dot_f16, l2_squared, l2_squared_f16};
pub(crate) use hadamard::hadamard;
pub(crate) use many::dot_u4_i8_many;
pub(crate) use scan::{scan_block, scan_edges};
pub(crate) use table::fill_table;

/// The last bytes of a register, zeros before them. The bytes to keep come from memory, because from a mask the compiler would
/// make a masked load again.
#[target_feature(enable = "avx512f")]
#[inline]
fn keep_last(register: __m512i, bytes: usize) -> __m512i {
    static ZEROS_THEN_ONES: [u8; 128] = {
        let mut bytes = [0; 128];
        let mut i = 64;
        while i < 128 {
            bytes[i] = 0xFF;
            i += 1;
        }
        bytes
    };
    let kept: &[u8; 64] = ZEROS_THEN_ONES[bytes..].first_chunk().expect("at most 64 bytes are kept");
    // SAFETY: 64 bytes are read.
    _mm512_and_si512(register, unsafe { _mm512_loadu_si512(kept.as_ptr().cast()) })
}
