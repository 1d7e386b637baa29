//! Posting lists against comparing every vector.

use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::BlockCache;
use nuthatch_sparse::{Found, FreshVectors, Postings, PostingsWriter, Rows, SparseVector};
use roaring::RoaringBitmap;

fn vector(random: &mut fastrand::Rng, terms: usize, vocabulary: u32) -> SparseVector {
    let mut indices: Vec<u32> = (0..terms)
        .map(|_| {
            // As in texts: few terms are in most vectors, most in few.
            let share = random.f32();
            (share * share * share * vocabulary as f32) as u32
        })
        .collect();
    indices.sort_unstable();
    indices.dedup();
    let values = indices.iter().map(|_| random.f32() * 3.0 + 1e-3).collect();
    SparseVector::new(indices, values).unwrap()
}

fn written(path: &Path, vectors: &[SparseVector]) -> Postings {
    let mut writer = PostingsWriter::create(path).unwrap();
    vectors.iter().for_each(|vector| writer.push(vector).unwrap());
    assert_eq!(writer.slots() as usize, vectors.len());
    writer.finish().unwrap();
    Postings::open(path, &BlockCache::new(8 << 20)).unwrap()
}

fn by_comparing(
    vectors: &[SparseVector],
    query: &SparseVector,
    keep: impl Fn(u32) -> bool,
    limit: usize,
) -> Vec<Found> {
    let scored = vectors.iter().zip(0..).filter(|(_, slot)| keep(*slot));
    let mut found: Vec<Found> =
        scored.filter_map(|(vector, slot)| Some(Found { slot, score: query.dot(vector)? })).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
    found.truncate(limit);
    found
}

#[test]
fn posting_lists_find_what_comparing_every_vector_finds_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    // Three containers, the last one short, with empty vectors among them.
    let vectors: Vec<SparseVector> = (0..40_000)
        .map(|at| if at % 97 == 0 { SparseVector::default() } else { vector(&mut random, 20, 3_000) })
        .collect();
    let postings = written(&folder.path().join("postings"), &vectors);
    let some: RoaringBitmap = (0..40_000).filter(|_| random.u8(..) < 20).collect();
    for round in 0..60 {
        let query = vector(&mut random, 1 + round % 30, 3_200);
        let limit = [1, 10, 700][round % 3];
        let search = |slots| postings.search(&query, slots, limit, &|| false).unwrap();
        assert_eq!(search(Rows::All), by_comparing(&vectors, &query, |_| true, limit));
        assert_eq!(search(Rows::Only(&some)), by_comparing(&vectors, &query, |slot| some.contains(slot), limit));
        assert_eq!(search(Rows::Except(&some)), by_comparing(&vectors, &query, |slot| !some.contains(slot), limit));
    }
}

#[test]
fn fresh_vectors_score_as_posting_lists_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let vectors: Vec<SparseVector> = (0..700).map(|_| vector(&mut random, 60, 90_000)).collect();
    let postings = written(&folder.path().join("postings"), &vectors);
    let (mut first, mut later) = (FreshVectors::default(), FreshVectors::default());
    for (vector, row) in vectors.iter().zip(0..) {
        if row < 300 { first.push(row, vector) } else { later.push(row, vector) }
    }
    first.append(&later);
    first.retain(|row| row % 7 != 3);
    let gone: RoaringBitmap = (0..700).filter(|row| row % 7 == 3).collect();
    for _ in 0..50 {
        let query = vector(&mut random, 40, 90_000);
        let mut fresh = Vec::new();
        first.search(&query, &mut |row, score| fresh.push(Found { slot: row as u32, score }));
        fresh.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        assert_eq!(fresh, postings.search(&query, Rows::Except(&gone), 700, &|| false).unwrap());
    }
}

#[test]
fn any_term_and_any_weight_comes_back_as_it_was() {
    let extreme = SparseVector::new(vec![u32::MAX, 0, 1 << 31], vec![f32::MAX, f32::MIN_POSITIVE, 0.1]).unwrap();
    assert_eq!(extreme.indices(), [0, 1 << 31, u32::MAX]);
    assert_eq!(SparseVector::decode(&extreme.encode()).unwrap(), extreme);
    let empty = SparseVector::default();
    assert_eq!(SparseVector::decode(&empty.encode()).unwrap(), empty);
    for cut in 0..extreme.encode().len() {
        assert!(SparseVector::decode(&extreme.encode()[..cut]).is_err(), "cut at {cut}");
    }
    let folder = tempfile::tempdir().unwrap();
    let postings = written(&folder.path().join("postings"), &[empty, extreme]);
    let query = SparseVector::new(vec![u32::MAX], vec![1.0]).unwrap();
    let found = postings.search(&query, Rows::All, 10, &|| false).unwrap();
    assert_eq!(found, [Found { slot: 1, score: f32::MAX }]);
}

#[test]
fn what_is_no_sparse_vector_is_refused_with_a_reason() {
    for (indices, values, says) in [
        (vec![1], vec![1.0, 2.0], "1 indices and 2 values"),
        (vec![4, 4], vec![1.0, 2.0], "index 4 of a sparse vector occurs twice"),
        (vec![4], vec![0.0], "finite numbers above 0"),
        (vec![4], vec![-1.0], "finite numbers above 0"),
        (vec![4], vec![f32::NAN], "finite numbers above 0"),
        ((0..20_000).collect(), vec![1.0; 20_000], "the limit is 16384"),
    ] {
        let error = SparseVector::new(indices, values).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_flipped_byte_anywhere_is_damage_and_never_another_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("postings");
    let mut random = fastrand::Rng::with_seed(5);
    let vectors: Vec<SparseVector> = (0..50).map(|_| vector(&mut random, 5, 60)).collect();
    let query = vector(&mut random, 30, 60);
    let right = written(&path, &vectors).search(&query, Rows::All, 50, &|| false).unwrap();
    let sound = std::fs::read(&path).unwrap();
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let cache: Arc<BlockCache> = BlockCache::new(1 << 20);
        let answer =
            Postings::open(&path, &cache).and_then(|postings| postings.search(&query, Rows::All, 50, &|| false));
        assert!(answer.as_ref().is_err() || answer.is_ok_and(|found| found == right), "byte {at}");
        let is_seen = Postings::open(&path, &cache).and_then(|postings| postings.verify()).is_err();
        assert!(is_seen, "byte {at} is not seen by verify");
    }
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = vec![SparseVector::new(vec![1], vec![1.0]).unwrap(); 10];
    let postings = written(&folder.path().join("postings"), &vectors);
    let stopped = postings.search(&vectors[0], Rows::All, 10, &|| true).unwrap_err();
    assert_eq!(stopped.to_string(), "the search was stopped");
}
