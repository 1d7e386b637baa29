//! REDUCE: a random projection to fewer components. Every entry of its matrix is 1 or -1, by a hash of its place and the set's
//! number, so there is no matrix to keep (D. Achlioptas, "Database-friendly random projections", 2001).

/// The vector in `dim` components. Angles between vectors are about what they were.
pub(crate) fn project(vector: &[f32], dim: usize, seed: u64) -> Vec<f32> {
    let scale = 1.0 / (dim as f32).sqrt();
    let row = |row: usize| {
        // Sixty-four signs of one hash.
        let blocks = vector.chunks(64).enumerate().map(|(block, part)| {
            let signs = mixed(seed ^ mixed(((row as u64) << 32) | block as u64));
            let signed = part.iter().enumerate().map(|(bit, x)| if (signs >> bit) & 1 == 0 { *x } else { -*x });
            signed.sum::<f32>()
        });
        blocks.sum::<f32>() * scale
    };
    (0..dim).map(row).collect()
}

/// Spreads the bits of a number over all of it (the finaliser of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &[f32], other: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
    }

    #[test]
    fn angles_survive_a_projection() {
        let mut dice = fastrand::Rng::with_seed(7);
        let one: Vec<f32> = (0..512).map(|_| dice.f32() - 0.5).collect();
        let near: Vec<f32> = one.iter().map(|x| x + 0.1 * (dice.f32() - 0.5)).collect();
        let far: Vec<f32> = (0..512).map(|_| dice.f32() - 0.5).collect();
        let [one_256, near_256, far_256] = [&one, &near, &far].map(|vector| project(vector, 256, 3));
        assert!((cosine(&one_256, &near_256) - cosine(&one, &near)).abs() < 0.05);
        assert!((cosine(&one_256, &far_256) - cosine(&one, &far)).abs() < 0.25);
        assert_eq!(one_256, project(&one, 256, 3));
        assert_ne!(one_256, project(&one, 256, 4));
    }
}
