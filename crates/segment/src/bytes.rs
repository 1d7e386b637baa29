//! Numbers out of verified bytes.

/// The little-endian number at a place.
///
/// # Panics
/// When fewer than four bytes are there.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
