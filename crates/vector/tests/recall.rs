//! Search quality, pinned: recall@10 after exact comparison of the candidates, and how many there are.

mod data;

use data::{Matrix, clusters, folder, read_npy};
use nuthatch_segment::BlockCache;
use nuthatch_vector::*;

const LIMIT: usize = 10;

/// (recall, mean number of candidates). A row counts as found when its exact similarity reaches that of the tenth best.
fn recall(rows: &Matrix, queries: &Matrix, metric: Metric) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let mut centroid = Centroid::new(rows.dim, metric).unwrap();
    rows.rows().step_by(16).for_each(|row| centroid.add(row).unwrap());
    let mut writer = CodesWriter::create(folder.path(), rows.dim, metric, 42, &centroid.mean()).unwrap();
    rows.rows().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap();
    let codes = Codes::open(folder.path(), &BlockCache::new(64 << 20)).unwrap();
    let (mut hits, mut candidates) = (0, 0);
    for query in queries.rows() {
        let mut exact: Vec<f32> = rows.rows().map(|row| metric.similarity(query, row)).collect();
        let reach = *exact.select_nth_unstable_by(LIMIT - 1, |a, b| b.total_cmp(a)).1;
        let found = codes.search(query, Rows::All, LIMIT).unwrap();
        let similarities = found.iter().map(|found| metric.similarity(query, rows.row(found.slot as usize)));
        hits += similarities.filter(|similarity| *similarity >= reach).count().min(LIMIT);
        candidates += found.len();
    }
    let asked = queries.len() as f64;
    let answer = (hits as f64 / (asked * LIMIT as f64), candidates as f64 / asked);
    println!("{} x {} {metric}: recall@10 {:.4}, {:.1} candidates", rows.len(), rows.dim, answer.0, answer.1);
    answer
}

#[test]
fn clustered_data_of_every_dimension_and_metric() {
    for dim in [2, 16, 100, 384, 768] {
        for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
            let (rows, queries) = clusters(dim, 4000, 40, 20, 0.5, 7);
            assert!(recall(&rows, &queries, metric).0 >= 0.99, "{dim} {metric}");
        }
    }
}

#[test]
fn near_duplicates_by_the_hundred_are_told_apart_by_exact_comparison() {
    let (rows, queries) = clusters(128, 6000, 40, 20, 0.05, 7);
    let (recall, candidates) = recall(&rows, &queries, Metric::Cosine);
    assert!(recall >= 0.99 && candidates <= 600.0);
}

#[test]
fn data_far_from_the_origin_is_as_easy_as_any() {
    let (mut rows, mut queries) = clusters(96, 4000, 40, 20, 0.5, 7);
    rows.values.iter_mut().chain(&mut queries.values).for_each(|x| *x += 30.0);
    assert!(recall(&rows, &queries, Metric::L2).0 >= 0.99);
}

#[test]
fn fifty_thousand_sentence_embeddings() {
    let Some(folder) = folder() else { return };
    let rows = read_npy(&folder.join("text/docs50k_vec_f16.npy"), usize::MAX);
    let queries = read_npy(&folder.join("text/queries1k_vec_f16.npy"), 300);
    let (recall, candidates) = recall(&rows, &queries, Metric::Cosine);
    assert!(recall >= 0.998 && candidates <= 25.0);
}

#[test]
fn two_hundred_thousand_image_descriptors() {
    let Some(folder) = folder() else { return };
    let rows = read_npy(&folder.join("sift/base_0.npy"), 200_000);
    let queries = read_npy(&folder.join("sift/query.npy"), 100);
    let (recall, candidates) = recall(&rows, &queries, Metric::L2);
    assert!(recall >= 0.998 && candidates <= 60.0);
}
