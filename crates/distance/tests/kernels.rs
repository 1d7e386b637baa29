//! Every kernel on every level of this machine against the definition, for dimensions 2 to 4,096.

use nuthatch_distance::*;
use proptest::prelude::*;

/// Reproducible numbers from a seed (splitmix64), so that a failing case shrinks to (dim, seed).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
    fn int8(&mut self, n: usize) -> Vec<i8> {
        self.bytes(n).into_iter().map(|x| x as i8).collect()
    }
}

fn close(found: f32, exact: f64, magnitude: f64) -> bool {
    (f64::from(found) - exact).abs() <= 1e-5 * magnitude + 1e-12
}

/// `<±1 code of the row, query>` by the definition, with the table's own 8-bit rounding allowed for.
fn sign_dot(signs: &[u8], query: &[f32]) -> f64 {
    let signed = query
        .iter()
        .enumerate()
        .map(|(i, q)| if signs[i / 8] >> (i % 8) & 1 == 1 { f64::from(*q) } else { -f64::from(*q) });
    signed.sum()
}

/// A finite half-precision number by the definition of IEEE 754.
fn half_precision(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction / 1024.0 * 2f64.powi(-14),
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn float_kernels_agree_with_f64_sums(dim in 2usize..=4096, seed: u64) {
        let mut numbers = Numbers(seed);
        let (a, b) = (numbers.floats(dim), numbers.floats(dim));
        let pairs = || a.iter().zip(&b).map(|(x, y)| (f64::from(*x), f64::from(*y)));
        let dot: f64 = pairs().map(|(x, y)| x * y).sum();
        let dot_size: f64 = pairs().map(|(x, y)| (x * y).abs()).sum();
        let l2: f64 = pairs().map(|(x, y)| (x - y) * (x - y)).sum();
        for level in Level::supported() {
            prop_assert!(close(dot_on(level, &a, &b), dot, dot_size), "dot on {level}");
            prop_assert!(close(l2_squared_on(level, &a, &b), l2, l2), "l2_squared on {level}");
        }
    }

    #[test]
    fn half_precision_kernels_agree_with_f64_sums(dim in 2usize..=4096, seed: u64) {
        let mut numbers = Numbers(seed);
        // Magnitudes from the smallest subnormal to 2: exponents 0 to 15, any fraction.
        let row: Vec<u16> = (0..dim).map(|_| numbers.next() as u16 & 0xBFFF).collect();
        let query = numbers.floats(dim);
        let pairs = || row.iter().zip(&query).map(|(x, y)| (half_precision(*x), f64::from(*y)));
        let dot: f64 = pairs().map(|(x, y)| x * y).sum();
        let dot_size: f64 = pairs().map(|(x, y)| (x * y).abs()).sum();
        let l2: f64 = pairs().map(|(x, y)| (x - y) * (x - y)).sum();
        for level in Level::supported() {
            prop_assert!(close(dot_f16_on(level, &row, &query), dot, dot_size), "dot_f16 on {level}");
            prop_assert!(close(l2_squared_f16_on(level, &row, &query), l2, l2), "l2_squared_f16 on {level}");
        }
    }

    #[test]
    fn int8_kernels_are_exact_on_every_level(dim in 2usize..=4096, misaligned in 0usize..8, seed: u64) {
        let mut numbers = Numbers(seed);
        let (a, b) = (numbers.int8(misaligned + dim), numbers.int8(dim));
        let a = &a[misaligned..];
        let query: Vec<i16> = (0..dim).map(|_| (numbers.next() % 32769) as i16 as i32 - 16384).map(|x| x as i16).collect();
        let pairs = || a.iter().zip(&b).map(|(x, y)| (i64::from(*x), i64::from(*y)));
        let dot: i64 = pairs().map(|(x, y)| x * y).sum();
        let l2: i64 = pairs().map(|(x, y)| (x - y) * (x - y)).sum();
        let finer: i64 = a.iter().zip(&query).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum();
        for level in Level::supported() {
            prop_assert_eq!(i64::from(dot_i8_on(level, a, &b)), dot, "dot_i8 on {}", level);
            prop_assert_eq!(i64::from(l2_squared_i8_on(level, a, &b)), l2, "l2_squared_i8 on {}", level);
            prop_assert_eq!(dot_i8_i16_on(level, a, &query), finer, "dot_i8_i16 on {}", level);
        }
    }

    #[test]
    fn many_nibble_dot_products_are_those_of_each_row(chunks in 1usize..=20, rows in 0usize..=11, seed: u64) {
        let dim = chunks * 64;
        let mut numbers = Numbers(seed);
        let (query, rows) = (numbers.int8(dim), (0..rows).map(|_| numbers.bytes(dim / 2)).collect::<Vec<_>>());
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let each: Vec<i32> = rows.iter().map(|row| dot_u4_i8_on(Level::supported()[0], row, &query)).collect();
        for level in Level::supported() {
            let mut out = vec![0; rows.len()];
            dot_u4_i8_many_on(level, &query, &rows, &mut out);
            prop_assert_eq!(&out, &each, "{}", level);
        }
    }

    #[test]
    fn uint8_kernels_are_exact_on_every_level(dim in 2usize..=4096, misaligned in 0usize..8, seed: u64) {
        let mut numbers = Numbers(seed);
        let (a, b) = (numbers.bytes(misaligned + dim), numbers.bytes(dim));
        let a = &a[misaligned..];
        let pairs = || a.iter().zip(&b).map(|(x, y)| (i64::from(*x), i64::from(*y)));
        let dot: i64 = pairs().map(|(x, y)| x * y).sum();
        let l2: i64 = pairs().map(|(x, y)| (x - y) * (x - y)).sum();
        let bits: u32 = a.iter().zip(&b).map(|(x, y)| (x ^ y).count_ones()).sum();
        for level in Level::supported() {
            prop_assert_eq!(i64::from(dot_u8_on(level, a, &b)), dot, "dot_u8 on {}", level);
            prop_assert_eq!(i64::from(l2_squared_u8_on(level, a, &b)), l2, "l2_squared_u8 on {}", level);
            prop_assert_eq!(hamming_on(level, a, &b), bits, "hamming on {}", level);
        }
    }

    #[test]
    fn words_of_many_rows_are_counted_alike_on_every_level(rows in 0usize..200, words in 1usize..=16, seed: u64) {
        let mut numbers = Numbers(seed);
        let mut word = || numbers.next();
        let query: Vec<u64> = (0..words).map(|_| word()).collect();
        let planes: Vec<Vec<u64>> = (0..words).map(|_| (0..rows).map(|_| word()).collect()).collect();
        let each = |row: usize| query.iter().zip(&planes).map(|(a, plane)| (a ^ plane[row]).count_ones() as u16).sum();
        let wanted: Vec<u16> = (0..rows).map(each).collect();
        for level in Level::supported() {
            let mut counts = vec![0; rows];
            query.iter().zip(&planes).for_each(|(word, plane)| add_hamming_on(level, *word, plane, &mut counts));
            prop_assert_eq!(&counts, &wanted, "{}", level);
        }
    }

    #[test]
    fn nibble_kernel_is_exact_on_every_level(chunks in 1usize..=64, seed: u64) {
        let dim = chunks * 64;
        let mut numbers = Numbers(seed);
        let (codes, query) = (numbers.bytes(dim / 2), numbers.int8(dim));
        let code = |i: usize| {
            let byte = codes[i / 64 * 32 + i % 32];
            if i % 64 < 32 { byte & 15 } else { byte >> 4 }
        };
        let by_definition: i32 = (0..dim).map(|i| i32::from(code(i)) * i32::from(query[i])).sum();
        for level in Level::supported() {
            prop_assert_eq!(dot_u4_i8_on(level, &codes, &query), by_definition, "dot_u4_i8 on {}", level);
        }
    }

    #[test]
    fn fast_scan_estimates_are_right_and_the_same_bits_on_every_level(
        chunks in 1usize..=256, rows in 1usize..=32, seed: u64
    ) {
        let dim = chunks * 16;
        let mut numbers = Numbers(seed);
        let query = numbers.floats(dim);
        let signs = numbers.bytes(rows * dim / 8);
        let (add, scale) = (numbers.floats(32), numbers.floats(32));
        let factors: Vec<u8> = add.iter().chain(&scale).flat_map(|x| x.to_le_bytes()).collect();
        let mut codes = vec![0; dim * 4];
        pack_block(&signs, dim, &mut codes);
        let table = LookupTable::new(&query);
        let threshold = numbers.floats(1)[0];
        let mut reference = [0.0; 32];
        let above = scan_block_on(Level::supported()[0], &codes, &factors, &table, threshold, &mut reference);
        // Half a step of rounding per group, a step being at most 8 / 255.
        let rounding = dim as f64 / 4.0 * 0.5 * 8.0 / 255.0 * 1.01;
        for row in 0..rows {
            let exact = sign_dot(&signs[row * dim / 8..(row + 1) * dim / 8], &query);
            let expected = f64::from(add[row]) + f64::from(scale[row]) * exact;
            prop_assert!((f64::from(reference[row]) - expected).abs() <= rounding + 1e-3, "row {row}");
            prop_assert_eq!(above >> row & 1 == 1, reference[row] > threshold);
        }
        for level in Level::supported() {
            let mut out = [0.0; 32];
            prop_assert_eq!(scan_block_on(level, &codes, &factors, &table, threshold, &mut out), above, "{}", level);
            prop_assert_eq!(out.map(f32::to_bits), reference.map(f32::to_bits), "{}", level);
        }
    }

    #[test]
    fn edge_estimates_are_right_and_the_same_bits_on_every_level(
        chunks in 1usize..=256, planes in 1usize..=2, rows in 1usize..=32, misaligned in 0usize..8, seed: u64
    ) {
        let dim = chunks * 16;
        let mut numbers = Numbers(seed);
        let query = numbers.floats(dim);
        let (add, scale) = (numbers.floats(32), numbers.floats(32));
        // Both at any address, as in a record of a graph.
        let mut factors = vec![0; misaligned];
        factors.extend(add.iter().chain(&scale).flat_map(|x| x.to_le_bytes()));
        let mut codes = vec![0; misaligned + planes * dim * 4];
        let signs: Vec<_> = (0..planes).map(|_| numbers.bytes(rows * dim / 8)).collect();
        for (signs, block) in signs.iter().zip(codes[misaligned..].chunks_exact_mut(dim * 4)) {
            pack_block(signs, dim, block);
        }
        let table = LookupTable::new(&query);
        let (base, threshold) = (numbers.floats(1)[0], numbers.floats(1)[0]);
        let scan = |level| {
            let mut out = [0.0; 32];
            let bounds = (base, threshold);
            let above = scan_edges_on(level, &codes[misaligned..], planes, &factors[misaligned..], &table, bounds, &mut out);
            (out, above)
        };
        let (reference, above) = scan(Level::supported()[0]);
        let rounding = dim as f64 / 4.0 * 0.5 * 8.0 / 255.0 * 1.01;
        for row in 0..rows {
            let of_plane = |signs: &Vec<u8>| sign_dot(&signs[row * dim / 8..(row + 1) * dim / 8], &query);
            let exact = of_plane(&signs[0]) + signs.get(1).map_or(0.0, of_plane) / 2.0;
            let expected = f64::from(base) + f64::from(add[row]) + f64::from(scale[row]) * exact;
            prop_assert!((f64::from(reference[row]) - expected).abs() <= 1.5 * rounding + 1e-3, "row {row}");
            prop_assert_eq!(above >> row & 1 == 1, reference[row] > threshold);
        }
        for level in Level::supported() {
            let (out, mask) = scan(level);
            prop_assert_eq!((out.map(f32::to_bits), mask), (reference.map(f32::to_bits), above), "{}", level);
        }
    }
}

#[test]
fn a_transform_is_the_definition_and_the_same_bits_on_every_level() {
    for log2 in 0..=12 {
        let mut numbers = Numbers(log2);
        let (values, flips) = (numbers.floats(1 << log2), numbers.bytes(1 << log2));
        let flips: Vec<u32> = flips.into_iter().map(|byte| u32::from(byte & 1) << 31).collect();
        let transform = |level| {
            let mut out = values.clone();
            hadamard_on(level, &mut out, &flips, 0.3);
            out
        };
        let reference = transform(Level::supported()[0]);
        let flipped = |i: usize| if flips[i] == 0 { f64::from(values[i]) } else { -f64::from(values[i]) };
        for at in [0, 1, 5, 63, 64, 100, 2047, (1 << log2) - 1].into_iter().filter(|at| *at < 1 << log2) {
            let sign = |i: usize| if (i & at).count_ones().is_multiple_of(2) { 0.3 } else { -0.3 };
            let exact: f64 = (0..1 << log2).map(|i| sign(i) * flipped(i)).sum();
            assert!(close(reference[at], exact, f64::from(1 << log2)), "{at} of 2^{log2}");
        }
        for level in Level::supported() {
            let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
            assert_eq!(bits(transform(level)), bits(reference.clone()), "2^{log2} on {level}");
        }
    }
}

#[test]
fn a_table_is_the_same_on_every_level() {
    // A block whose rows are the sixteen patterns of one group: what they look up is that group's part of the table.
    let looked_up = |level, query: &[f32]| {
        let table = LookupTable::new_on(level, query);
        let factors: Vec<u8> = (0..64).flat_map(|i| (if i < 32 { 0.0f32 } else { 1.0 }).to_le_bytes()).collect();
        let (dim, mut bits) = (query.len(), Vec::new());
        for group in 0..dim / 4 {
            let mut signs = vec![0; 16 * dim / 8];
            for (pattern, signs) in signs.chunks_exact_mut(dim / 8).enumerate() {
                signs[group / 2] = (pattern << (group % 2 * 4)) as u8;
            }
            let (mut codes, mut out) = (vec![0; dim * 4], [0.0; 32]);
            pack_block(&signs, dim, &mut codes);
            scan_block_on(Level::supported()[0], &codes, &factors, &table, 0.0, &mut out);
            bits.extend(out.map(f32::to_bits));
        }
        bits
    };
    for dim in [16, 32, 48, 128, 352, 784, 4096] {
        let mut query = Numbers(dim as u64).floats(dim);
        query[3] = 0.0;
        query[4] = -0.0;
        for scale in [1.0, 1e18, 1e-20, 1e-39, 0.0] {
            let query: Vec<f32> = query.iter().map(|x| x * scale).collect();
            let reference = looked_up(Level::supported()[0], &query);
            for level in Level::supported() {
                assert_eq!(looked_up(level, &query), reference, "{dim} dimensions times {scale} on {level}");
            }
        }
    }
}

#[test]
fn every_half_precision_number_is_read_exactly() {
    let finite = (0..=u16::MAX).filter(|bits| bits & 0x7C00 != 0x7C00);
    for level in Level::supported() {
        // In the vector registers and, at 64, in what is left over.
        for (bits, at) in finite.clone().zip((0..65).cycle()) {
            let (mut row, query) = ([0; 65], [1.0; 65]);
            row[at] = bits;
            assert_eq!(f64::from(dot_f16_on(level, &row, &query)), half_precision(bits), "{bits:#06x} on {level}");
        }
        for at in [0, 64] {
            let mut row = [0; 65];
            row[at] = 0x7C00;
            assert_eq!(dot_f16_on(level, &row, &[1.0; 65]), f32::INFINITY, "{level}");
            row[at] = 0xFE00;
            assert!(dot_f16_on(level, &row, &[1.0; 65]).is_nan(), "{level}");
        }
    }
}

#[test]
fn integer_sums_do_not_overflow_at_their_extremes() {
    for dim in [64, 1024, 2048, 4096] {
        for level in Level::supported() {
            let low = vec![i8::MIN; dim];
            assert_eq!(dot_i8_on(level, &low, &low), 128 * 128 * dim as i32, "{level}");
            let high = vec![i8::MAX; dim];
            assert_eq!(dot_i8_on(level, &high, &low), -127 * 128 * dim as i32, "{level}");
            assert_eq!(l2_squared_i8_on(level, &high, &low), 255 * 255 * dim as i32, "{level}");
            let (zero, most) = (vec![0; dim], vec![u8::MAX; dim]);
            assert_eq!(dot_u8_on(level, &most, &most), 255 * 255 * dim as i32, "{level}");
            assert_eq!(l2_squared_u8_on(level, &zero, &most), 255 * 255 * dim as i32, "{level}");
            assert_eq!(hamming_on(level, &zero, &most), 8 * dim as u32, "{level}");
            let query = vec![-I16_QUERY_MAX; dim];
            assert_eq!(dot_i8_i16_on(level, &low, &query), 128 * 16384 * dim as i64, "{level}");
            let full = vec![0xFF; dim / 2];
            assert_eq!(dot_u4_i8_on(level, &full, &low), -15 * 128 * dim as i32, "{level}");
            let mut out = [0; 5];
            dot_u4_i8_many_on(level, &low, &[full.as_slice(); 5], &mut out);
            assert_eq!(out, [-15 * 128 * dim as i32; 5], "{level}");
        }
    }
}

#[test]
fn fast_scan_sums_do_not_overflow_at_their_extremes() {
    for dim in [16, 1024, 1040, 4096] {
        // All entries that are looked up are 255: the largest sum that there is.
        let mut codes = vec![0; dim * 4];
        pack_block(&vec![0xFF; 32 * dim / 8], dim, &mut codes);
        let factors: Vec<u8> = (0..64).flat_map(|i| (if i < 32 { 0.0f32 } else { 1.0 }).to_le_bytes()).collect();
        let table = LookupTable::new(&vec![1.0; dim]);
        for level in Level::supported() {
            let mut out = [0.0; 32];
            assert_eq!(scan_block_on(level, &codes, &factors, &table, 0.0, &mut out), u32::MAX, "{level}");
            assert!(out.iter().all(|x| (x - dim as f32).abs() < dim as f32 * 1e-5), "{level}: {out:?}");
            let planes = [&codes[..], &codes].concat();
            assert_eq!(scan_edges_on(level, &planes, 2, &factors, &table, (0.0, 0.0), &mut out), u32::MAX, "{level}");
            assert!(out.iter().all(|x| (x - 1.5 * dim as f32).abs() < dim as f32 * 2e-5), "{level}: {out:?}");
        }
    }
}

#[test]
fn a_zero_query_estimates_only_what_is_added() {
    let table = LookupTable::new(&[0.0; 64]);
    let factors = [0u8; BLOCK_FACTOR_BYTES];
    let mut out = [1.0; 32];
    assert_eq!(scan_block(&[0xAB; 256], &factors, &table, 0.0, &mut out), 0);
    assert_eq!(out, [0.0; 32]);
}
