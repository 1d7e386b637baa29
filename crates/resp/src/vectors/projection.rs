//! REDUCE: a random projection to fewer components. Every entry of its matrix is 1 or -1, by a hash of its place and the set's
//! number, so there is no matrix to keep (D. Achlioptas, "Database-friendly random projections", 2001).
//!
//! **Invariant:** a vector that is finite and not all zeros can be stored. Signs can cancel it: (1, 1, 0, 0) in two components they
//! do for every fourth set.

/// Lengths that collections take, and where 32-bit sums are exact enough.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-18..=1e18;

/// The vector in `dim` components. Angles between vectors are about what they were.
///
/// Where the result would be too short or too long, the vector is first divided by its greatest component; where the signs cancel it
/// even so, its greatest component (the first of them) stands for it.
pub(crate) fn project(vector: &[f32], dim: usize, seed: u64) -> Vec<f32> {
    let sums = signed_sums(vector, dim, seed);
    if can_be_stored(&sums) {
        return sums;
    }
    let greatest = vector.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
    let Some(at) = vector.iter().position(|x| x.abs() == greatest).filter(|_| greatest > 0.0) else { return sums };
    let mut scaled: Vec<f32> = vector.iter().map(|x| x / greatest).collect();
    let sums = signed_sums(&scaled, dim, seed);
    if can_be_stored(&sums) {
        return sums;
    }
    scaled.iter_mut().enumerate().filter(|(place, _)| *place != at).for_each(|(_, x)| *x = 0.0);
    signed_sums(&scaled, dim, seed)
}

fn can_be_stored(vector: &[f32]) -> bool {
    // Infinite or no number: in no range.
    LENGTHS.contains(&vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt())
}

fn signed_sums(vector: &[f32], dim: usize, seed: u64) -> Vec<f32> {
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

    #[test]
    fn no_vector_that_has_a_direction_loses_it() {
        let cancelling = [[1.0, 0.0, 0.0, 1.0], [1.0, -1.0, 1.0, -1.0], [0.5, 0.25, -0.25, 0.0]];
        let far_out = [[1e-45; 4], [3e38; 4], [1e-17, -1e-17, 1e-18, 0.0]];
        for (seed, vector) in (1..200).flat_map(|seed| cancelling.iter().chain(&far_out).map(move |one| (seed, one))) {
            let projected = project(vector, 2, seed);
            assert!(can_be_stored(&projected), "{vector:?} {seed}");
            assert_eq!(projected, project(vector, 2, seed));
        }
        assert_eq!(project(&[0.0; 4], 2, 1), [0.0; 2], "what has none gets none");
    }

    #[test]
    fn a_vector_that_signs_cancel_lies_where_its_greatest_component_does() {
        let cancelled = (1..100).find(|seed| signed_sums(&[1.0, 1.0, 0.0], 2, *seed) == [0.0; 2]).unwrap();
        let projected = project(&[1.0, 1.0, 0.0], 2, cancelled);
        assert!((cosine(&projected, &project(&[1.0, 0.0, 0.0], 2, cancelled)) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_was_projected_before_reads_as_before() {
        let vector: Vec<f32> = (0..100).map(|n| (n as f32 - 40.5) / 10.0).collect();
        assert_eq!(project(&vector, 3, 12345), signed_sums(&vector, 3, 12345));
        let scale = 1.0 / 2.0_f32.sqrt();
        // Signs - + + + and + + + +.
        assert_eq!(project(&[1.0, 2.0, 4.0, 8.0], 2, 3), [13.0 * scale, 15.0 * scale]);
    }
}
