//! The promises of the delta: bounds that always hold, and so an exact search.

mod data;

use std::collections::BTreeMap;

use data::{Numbers, clusters};
use nuthatch_vector::*;
use proptest::prelude::*;

fn metrics() -> impl Strategy<Value = Metric> {
    prop_oneof![Just(Metric::Cosine), Just(Metric::Dot), Just(Metric::L2)]
}

/// Vectors of very different lengths, some sparse, some far from the origin: what int8 codes like least.
fn nasty(numbers: &mut Numbers, dim: usize) -> Vec<f32> {
    let kind = numbers.next() % 4;
    let size = [1e-15, 1e-3, 1.0, 1e10][(numbers.next() % 4) as usize];
    let offset = if kind == 1 { 100.0 } else { 0.0 };
    let mut vector: Vec<f32> = (0..dim)
        .map(|_| match kind {
            2 if !numbers.next().is_multiple_of(8) => 0.0,
            _ => (numbers.gaussian() + offset) * size,
        })
        .collect();
    vector[(numbers.next() % dim as u64) as usize] = size * 3.0;
    vector
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bounds_always_contain_the_exact_similarity(dim in 2usize..=4096, seed: u64, metric in metrics()) {
        let mut numbers = Numbers(seed);
        let mut memtable = VectorMemtable::new(dim, metric).unwrap();
        let rows: Vec<Vec<f32>> = (0..20).map(|_| nasty(&mut numbers, dim)).collect();
        for (row_id, row) in rows.iter().enumerate() {
            memtable.push(row_id as u64, row).unwrap();
        }
        for query in [nasty(&mut numbers, dim), rows[3].clone()] {
            let found = memtable.search(&query, |_| true, rows.len()).unwrap();
            prop_assert_eq!(found.len(), rows.len());
            for found in found {
                let exact = metric.similarity(&query, &rows[found.row_id as usize]);
                prop_assert!(found.lower <= exact && exact <= found.upper, "{exact} outside {found:?}");
            }
        }
    }

    #[test]
    fn a_memtable_behaves_like_a_map_of_rows(
        steps in proptest::collection::vec((0u8..4, 0u64..60), 1..400), seed: u64, metric in metrics(), limit in 1usize..12
    ) {
        let dim = 24;
        let mut numbers = Numbers(seed);
        let mut memtable = VectorMemtable::new(dim, metric).unwrap();
        let mut model: BTreeMap<u64, Vec<f32>> = BTreeMap::new();
        for (step, row_id) in steps {
            if step < 3 {
                let row: Vec<f32> = (0..dim).map(|_| numbers.gaussian()).collect();
                memtable.push(row_id, &row).unwrap();
                model.insert(row_id, row);
            } else {
                prop_assert_eq!(memtable.remove(row_id), model.remove(&row_id).is_some());
            }
        }
        prop_assert_eq!(memtable.len(), model.len());
        prop_assert_eq!(memtable.is_empty(), model.is_empty());
        prop_assert_eq!(memtable.rows().collect::<Vec<_>>(), model.keys().copied().collect::<Vec<_>>());
        let query: Vec<f32> = (0..dim).map(|_| numbers.gaussian()).collect();
        let found = memtable.search(&query, |row_id| row_id % 3 != 0, limit).unwrap();
        let mut exact: Vec<(f32, u64)> = model
            .iter()
            .filter(|(row_id, _)| **row_id % 3 != 0)
            .map(|(row_id, row)| (metric.similarity(&query, row), *row_id))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, row_id) in exact.iter().take(limit) {
            prop_assert!(found.iter().any(|found| found.row_id == *row_id), "row {row_id} is missing");
        }
        prop_assert!(found.iter().all(|found| found.row_id % 3 != 0 && model.contains_key(&found.row_id)));
    }
}

#[test]
fn few_rows_are_left_to_compare_exactly() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let (rows, queries) = clusters(384, 4000, 20, 40, 1.0, 1);
        let mut memtable = VectorMemtable::new(384, metric).unwrap();
        (0..rows.len()).for_each(|row| memtable.push(row as u64, rows.row(row)).unwrap());
        let found: usize = queries.rows().map(|query| memtable.search(query, |_| true, 10).unwrap().len()).sum();
        assert!(found <= 40 * queries.len(), "{metric}: {} a query", found / queries.len());
    }
}

#[test]
fn a_memtable_costs_little_more_than_its_codes_and_gives_memory_back() {
    let mut memtable = VectorMemtable::new(384, Metric::L2).unwrap();
    (0..10_000).for_each(|row_id| memtable.push(row_id, &[row_id as f32; 384]).unwrap());
    assert!((3_840_000..2 * 4_100_000).contains(&memtable.bytes()), "{}", memtable.bytes());
    (0..9_990).for_each(|row_id| assert!(memtable.remove(row_id)));
    assert!(memtable.bytes() < 100_000, "{}", memtable.bytes());
    assert_eq!(memtable.rows().collect::<Vec<_>>(), Vec::from_iter(9_990..10_000));
}

#[test]
fn wrong_vectors_are_refused_and_change_nothing() {
    let mut memtable = VectorMemtable::new(2, Metric::Cosine).unwrap();
    assert!(matches!(memtable.push(1, &[1.0, f32::INFINITY]), Err(VectorError::NotFinite { position: 1, .. })));
    assert!(matches!(memtable.push(1, &[0.0, 0.0]), Err(VectorError::Zero)));
    assert!(matches!(memtable.search(&[1.0], |_| true, 1), Err(VectorError::WrongDimension { .. })));
    assert!(memtable.is_empty() && !memtable.remove(1));
    assert!(memtable.search(&[1.0, 1.0], |_| true, 5).unwrap().is_empty());
    memtable.push(1, &[1.0, 1.0]).unwrap();
    assert!(memtable.search(&[1.0, 1.0], |_| true, 0).unwrap().is_empty());
    assert!(matches!(VectorMemtable::new(1, Metric::L2), Err(VectorError::UnsupportedDimension { dim: 1 })));
}

#[test]
fn several_memtables_are_searched_as_if_they_were_one() {
    const DIM: usize = 24;
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let mut numbers = Numbers(11);
        let (mut whole, mut parts) = (VectorMemtable::new(DIM, metric).unwrap(), Vec::new());
        for part in 0..5u64 {
            let mut memtable = VectorMemtable::new(DIM, metric).unwrap();
            for row_id in part * 100..part * 100 + 60 {
                let row = nasty(&mut numbers, DIM);
                memtable.push(row_id, &row).unwrap();
                whole.push(row_id, &row).unwrap();
            }
            parts.push(memtable);
        }
        let gone = |row_id: u64| row_id.is_multiple_of(7);
        parts[3].retain(|row_id| !gone(row_id));
        whole.retain(|row_id| row_id / 100 != 3 || !gone(row_id));
        // Two of them as one: what was removed does not come back.
        assert!(parts[4].remove(401) && whole.remove(401));
        let last = parts.pop().unwrap();
        parts[3].append(&last);
        assert!(parts[3].rows().eq(whole.rows().filter(|row_id| *row_id >= 300)));
        let odd = |row_id: u64| row_id % 2 == 1;
        for limit in [0, 1, 10, 1000] {
            let query = nasty(&mut numbers, DIM);
            let mut search = MemtableSearch::new(&query, DIM, metric, limit).unwrap();
            parts.iter().for_each(|memtable| search.look_at(memtable, odd));
            assert_eq!(search.finish(), whole.search(&query, odd, limit).unwrap());
        }
    }
}
