//! Numbers as keys: unsigned, and in the order of what they stand for.

const SIGN: u64 = 1 << 63;

pub(super) trait Key: Copy {
    fn key(self) -> u64;
}

impl Key for bool {
    fn key(self) -> u64 {
        u64::from(self)
    }
}

impl Key for i64 {
    fn key(self) -> u64 {
        self.cast_unsigned() ^ SIGN
    }
}

/// -0.0 comes before 0.0: a comparison must look up both ([`crate::interval`]).
impl Key for f64 {
    fn key(self) -> u64 {
        let bits = self.to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    }
}

pub(crate) fn key_of_float(value: f64) -> u64 {
    value.key()
}

/// The number that a key stands for.
pub(super) fn int_of_key(key: u64) -> i64 {
    (key ^ SIGN).cast_signed()
}

/// As [`int_of_key`].
pub(crate) fn float_of_key(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_as_their_numbers_do() {
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, f64::MAX, f64::INFINITY];
        assert!(floats.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert!(floats.iter().all(|float| float_of_key(float.key()).to_bits() == float.to_bits()));
        let ints = [i64::MIN, -2, -1, 0, 1, i64::MAX];
        assert!(ints.iter().all(|int| int_of_key(int.key()) == *int));
        assert!(ints.windows(2).all(|pair| pair[0].key() < pair[1].key()));
    }
}
