//! Ranking quality against human judgements. The baselines are pinned: a change of them is a change of behaviour.

mod support;

use std::collections::HashMap;

use nuthatch_segment::BlockCache;
use nuthatch_text::{RowFilter, TextIndex, TextRow};
use serde_json::Value;

#[test]
fn scifact_ranks_as_pinned() {
    check("scifact", 0.6838);
}

#[test]
fn cranfield_ranks_as_pinned() {
    check("cranfield", 0.3580);
}

fn check(set: &str, pinned: f64) {
    let Some(found) = ndcg_at_10(set) else { return };
    println!("{set}: nDCG@10 {found:.4}, pinned {pinned:.4}");
    assert!((found - pinned).abs() < 0.0005, "{set}: nDCG@10 {found:.4}, pinned {pinned:.4}");
}

fn ndcg_at_10(set: &str) -> Option<f64> {
    let corpus = support::data(&format!("beir/{set}/corpus.jsonl.gz"))?;
    let queries = support::data(&format!("beir/{set}/queries_test.jsonl"))?;
    let judgements = support::data(&format!("beir/{set}/qrels_test.tsv"))?;

    let documents: Vec<Value> = lines(&corpus);
    let folder = tempfile::tempdir().unwrap();
    let index = TextIndex::open_or_create(folder.path(), &BlockCache::new(16 << 20), "english").unwrap();
    let mut adds = documents.iter().zip(0..).map(|(document, row_id)| {
        Ok(TextRow { row_id, text: format!("{} {}", text(document, "title"), text(document, "text")), code: false })
    });
    index.commit(&mut adds, &[], 1, 32 << 20).unwrap();

    let mut gains: HashMap<&str, HashMap<&str, f64>> = HashMap::new();
    for line in judgements.lines().skip(1) {
        let mut columns = line.split('\t');
        let (query, document) = (columns.next()?, columns.next()?);
        let gain: f64 = columns.next()?.trim().parse().unwrap();
        gains.entry(query).or_default().insert(document, gain);
    }
    let (mut sum, mut judged) = (0.0, 0);
    for query in lines(&queries) {
        let Some(gains) = gains.get(text(&query, "_id")) else {
            continue;
        };
        let hits = index.search(text(&query, "text"), 10, RowFilter::All, None).unwrap();
        let found = hits.iter().map(|hit| {
            let id = text(&documents[hit.row_id as usize], "_id");
            gains.get(id).copied().unwrap_or(0.0)
        });
        let mut ideal: Vec<f64> = gains.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best = discounted(ideal.into_iter().take(10));
        judged += 1;
        if best > 0.0 {
            sum += discounted(found) / best;
        }
    }
    Some(sum / f64::from(judged))
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.enumerate().map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
}

fn lines(jsonl: &str) -> Vec<Value> {
    jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
