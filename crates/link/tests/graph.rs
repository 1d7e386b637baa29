//! The guarantees of large collections, whose segments have a graph.

mod support;

use std::collections::{HashMap, HashSet};

use nuthatch_link::*;
use support::quiet;

const DIM: usize = 16;
/// Enough for a graph.
const ROWS: usize = 70_000;
const LIMIT: usize = 10;

/// Vectors in clusters, by id, and the collection that holds them.
struct Large {
    db: Database,
    rows: Collection,
    vectors: HashMap<String, Vec<f32>>,
    dice: fastrand::Rng,
}

fn options(metric: Metric) -> CollectionOptions {
    CollectionOptions {
        dim: Some(DIM),
        metric: Some(metric),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    }
}

/// Where reading a record costs least, a graph is worth its while soonest.
fn mapped() -> Options {
    Options { mapped: Some(true), ..quiet() }
}

fn large(db: Database, metric: Metric) -> Large {
    let rows = db.collection("rows", options(metric)).unwrap();
    let mut large = Large { db, rows, vectors: HashMap::new(), dice: fastrand::Rng::with_seed(11) };
    large.write(0..ROWS);
    large.rows.optimize(None).unwrap();
    let info = large.rows.info().unwrap();
    assert_eq!((info.segments, info.vector_graphs, info.fresh_rows), (1, 1, 0));
    large
}

impl Large {
    fn vector(&mut self) -> Vec<f32> {
        let mut centre = fastrand::Rng::with_seed(self.dice.u64(0..200));
        (0..DIM).map(|_| centre.f32() * 2.0 - 1.0 + 0.4 * (self.dice.f32() + self.dice.f32() - 1.0)).collect()
    }

    fn write(&mut self, ids: impl Iterator<Item = usize>) {
        let ids: Vec<usize> = ids.collect();
        for ids in ids.chunks(5_000) {
            let mut records = Vec::with_capacity(ids.len());
            for id in ids {
                let vector = self.vector();
                let payload =
                    [("n".to_string(), Value::Int(*id as i64)), ("half".to_string(), Value::Bool(vector[0] > 0.0))];
                records.push(Record::new(id.to_string()).vector(vector.clone()).payload(payload.into()));
                self.vectors.insert(id.to_string(), vector);
            }
            self.rows.upsert(records).unwrap();
        }
    }

    fn delete(&mut self, ids: impl Iterator<Item = usize>) {
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        let expected = ids.iter().filter(|id| self.vectors.remove(*id).is_some()).count() as u64;
        assert_eq!(self.rows.delete(&ids).unwrap().deleted, expected);
    }

    /// Share of the true best rows that searches find, over some queries, among rows that pass; every answer is full.
    fn recall(&mut self, search: &dyn Fn(Vec<f32>) -> Search, passes: &dyn Fn(&str, &[f32]) -> bool) -> f64 {
        let (mut found, mut wanted) = (0, 0);
        for _ in 0..40 {
            let query = self.vector();
            let metric = self.rows.metric();
            let mut best: Vec<(f32, &str)> = self
                .vectors
                .iter()
                .filter(|(id, vector)| passes(id, vector))
                .map(|(id, vector)| (metric.similarity(&query, vector), id.as_str()))
                .collect();
            best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            best.truncate(LIMIT);
            let best: HashSet<&str> = best.into_iter().map(|(_, id)| id).collect();
            let answer = self.rows.search(&search(query)).unwrap();
            assert_eq!(answer.hits.len(), best.len(), "the limit is filled");
            found += answer.hits.iter().filter(|hit| best.contains(hit.id.as_str())).count();
            wanted += best.len();
        }
        found as f64 / wanted as f64
    }
}

fn plan(answer: &Answer) -> String {
    answer.explain.vector.as_ref().unwrap().plan.clone()
}

#[test]
fn a_large_collection_is_found_in_through_churn_filters_and_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let mut large = large(Database::open(folder.path(), mapped()).unwrap(), Metric::L2);
    let query = large.vector();
    let answer = large.rows.search(&Search::vector(query.clone()).accuracy(Accuracy::Ef(40))).unwrap();
    assert_eq!(plan(&answer), "graph walk");
    let explained = answer.explain.vector.unwrap();
    assert!(explained.records_read > 10 && explained.ef == 40 && !explained.exact, "{explained:?}");

    let everything = |_: &str, _: &[f32]| true;
    let fresh_recall = large.recall(&|query| Search::vector(query).accuracy(Accuracy::Recall(0.98)), &everything);
    assert!(fresh_recall >= 0.97, "{fresh_recall}");
    let exact = large.recall(&|query| Search::vector(query).accuracy(Accuracy::Exact), &everything);
    assert_eq!(exact, 1.0);

    // Filters of every selectivity, also ones that go along with the vectors or against them.
    for (condition, passes) in [
        (
            "n < 35000",
            Box::new(|id: &str, _: &[f32]| id.parse::<i64>().unwrap() < 35_000) as Box<dyn Fn(&str, &[f32]) -> bool>,
        ),
        ("n < 7000", Box::new(|id: &str, _: &[f32]| id.parse::<i64>().unwrap() < 7_000)),
        ("n < 700", Box::new(|id: &str, _: &[f32]| id.parse::<i64>().unwrap() < 700)),
        ("n < 7", Box::new(|id: &str, _: &[f32]| id.parse::<i64>().unwrap() < 7)),
        ("half = true", Box::new(|_: &str, vector: &[f32]| vector[0] > 0.0)),
        (
            "half = false and n >= 35000",
            Box::new(|id: &str, vector: &[f32]| vector[0] <= 0.0 && id.parse::<i64>().unwrap() >= 35_000),
        ),
    ] {
        let recall = large.recall(&|query| Search::vector(query).filter(condition).unwrap(), &*passes);
        assert!(recall >= 0.98, "{condition}: {recall}");
    }

    // Everything replaced, in part deleted and added again under the same ids, while the graph is there.
    large.delete(0..9_000);
    large.write(0..3_000);
    large.write(60_000..80_000);
    let dirty = large.recall(&|query| Search::vector(query).accuracy(Accuracy::Recall(0.98)), &everything);
    assert!(dirty >= 0.96, "{dirty}");
    large.rows.optimize(None).unwrap();
    assert_eq!(large.rows.info().unwrap().vector_graphs, 1);
    let merged = large.recall(&|query| Search::vector(query).accuracy(Accuracy::Recall(0.98)), &everything);
    assert!(merged >= 0.96, "{merged}");

    large.db.close().unwrap();
    large.db = Database::open(folder.path(), mapped()).unwrap();
    large.rows = large.db.collection("rows", CollectionOptions::default()).unwrap();
    assert_eq!(large.rows.info().unwrap().vector_graphs, 1);
    let reopened = large.recall(&|query| Search::vector(query).accuracy(Accuracy::Recall(0.98)), &everything);
    assert!(reopened >= 0.96, "{reopened}");
    assert!(large.db.doctor().unwrap().findings.is_empty());
}

#[test]
fn a_damaged_graph_is_named_and_passed_by_and_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let large = large(Database::open(folder.path(), mapped()).unwrap(), Metric::Dot);
    let query = vec![0.3; DIM];
    let search = Search::vector(query).accuracy(Accuracy::Ef(30));
    let ids = |answer: &Answer| answer.hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>();
    let exact = ids(&large.rows.search(&search.clone().accuracy(Accuracy::Exact)).unwrap());
    large.db.close().unwrap();

    let graph = find(folder.path(), "graph").expect("it is there");
    let mut bytes = std::fs::read(&graph).unwrap();
    let records = bytes.len() - 100_000;
    for at in (0..records).step_by(700) {
        bytes[at] ^= 1;
    }
    std::fs::write(&graph, bytes).unwrap();

    let db = Database::open(folder.path(), mapped()).unwrap();
    let rows = db.collection("rows", CollectionOptions::default()).unwrap();
    let answer = rows.search(&search).unwrap();
    assert_eq!(ids(&answer), exact);
    assert!(answer.degraded[0].contains("graph"), "{:?}", answer.degraded);
    assert!(rows.wait_until_indexed(None).unwrap());
    let answer = rows.search(&search).unwrap();
    assert!(answer.degraded.is_empty() && plan(&answer) == "graph walk");
}

#[test]
fn searches_end_when_their_time_is_up_or_they_are_cancelled() {
    let db = Database::in_memory(quiet()).unwrap();
    let rows = db.collection("rows", options(Metric::Cosine)).unwrap();
    rows.upsert(vec![Record::new("a").vector(vec![1.0; DIM])]).unwrap();
    let search = Search::vector(vec![1.0; DIM]);
    let late = rows.search(&search.clone().time_limit(std::time::Duration::ZERO)).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Unavailable, "{late}");
    let cancelled = Search { cancel: Some(std::sync::Arc::new(true.into())), ..search.clone() };
    assert_eq!(rows.search(&cancelled).unwrap_err().kind, ErrorKind::Unavailable);
    let patient = search.time_limit(std::time::Duration::from_secs(3600));
    assert_eq!(rows.search(&patient).unwrap().hits.len(), 1);
}

#[test]
fn a_search_like_a_record_finds_its_neighbours_and_not_itself() {
    let db = Database::in_memory(quiet()).unwrap();
    let rows = db.collection("rows", options(Metric::L2)).unwrap();
    let at = |x: f32| [vec![x], vec![0.0; DIM - 1]].concat();
    let records = (0..50).map(|id| Record::new(id.to_string()).vector(at(id as f32))).collect();
    rows.upsert(records).unwrap();
    rows.upsert(vec![Record::new("words").text("no vector")]).unwrap();
    for _ in 0..2 {
        let answer = rows.search(&Search::like("20").limit(2)).unwrap();
        let found: HashSet<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
        assert_eq!(found, HashSet::from(["19", "21"]));
        assert_eq!(rows.search(&Search::like("20").limit(100)).unwrap().hits.len(), 49);
        rows.wait_until_indexed(None).unwrap();
    }
    assert_eq!(rows.search(&Search::like("none")).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(rows.search(&Search::like("words")).unwrap_err().kind, ErrorKind::Invalid);
    let both = Search { vector: Some(at(1.0)), ..Search::like("20") };
    assert_eq!(rows.search(&both).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn every_element_type_keeps_what_it_can_hold_and_refuses_the_rest() {
    let cases = [
        (Element::F16, Metric::Cosine, vec![0.5, -1.25], vec![1e6, 0.0]),
        (Element::Int8, Metric::Dot, vec![-128.0, 127.0], vec![0.5, 1.0]),
        (Element::Uint8, Metric::L2, vec![0.0, 255.0], vec![-1.0, 1.0]),
        (Element::Binary, Metric::Hamming, vec![1.0, 0.0], vec![2.0, 0.0]),
    ];
    for (element, metric, good, bad) in cases {
        let db = Database::in_memory(quiet()).unwrap();
        let options =
            CollectionOptions { element: Some(element), metric: Some(metric), dim: Some(2), ..options(metric) };
        let rows = db.collection("rows", options).unwrap();
        rows.upsert(vec![Record::new("a").vector(good.clone()), Record::new("b").vector(vec![1.0, 1.0])]).unwrap();
        let error = rows.upsert(vec![Record::new("c").vector(bad)]).unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains(element.as_str()), "{error}");
        for _ in 0..2 {
            assert_eq!(rows.get(&["a".to_string()], true).unwrap()[0].as_ref().unwrap().vector, Some(good.clone()));
            let answer = rows.search(&Search::vector(good.clone())).unwrap();
            assert_eq!(answer.hits.len(), 2);
            let expected = metric.score(metric.similarity(&good, &good));
            assert_eq!((answer.hits[0].id.as_str(), answer.hits[0].score), ("a", expected), "{element}");
            rows.wait_until_indexed(None).unwrap();
        }
    }
    let db = Database::in_memory(quiet()).unwrap();
    let wrong = CollectionOptions { element: Some(Element::F32), ..options(Metric::Hamming) };
    assert_eq!(db.collection("rows", wrong).err().unwrap().kind, ErrorKind::Invalid);
}

#[test]
fn many_searches_at_once_give_what_each_gives_alone() {
    let db = Database::in_memory(quiet()).unwrap();
    let rows = db.collection("rows", options(Metric::Cosine)).unwrap();
    let vector = |id: usize| (0..DIM).map(|i| ((id * 31 + i * 7) % 97) as f32 - 48.0).collect::<Vec<f32>>();
    rows.upsert((0..500).map(|id| Record::new(id.to_string()).vector(vector(id))).collect()).unwrap();
    let searches: Vec<Search> = (0..40).map(|id| Search::vector(vector(id * 3)).limit(5)).collect();
    let together = rows.search_many(&searches).unwrap();
    for (search, answer) in searches.iter().zip(together) {
        assert_eq!(rows.search(search).unwrap().hits, answer.hits);
    }
    let wrong = [searches[0].clone(), Search::vector(vec![1.0])];
    assert_eq!(rows.search_many(&wrong).unwrap_err().kind, ErrorKind::Invalid);
    assert!(rows.search_many(&[]).unwrap().is_empty());
}

/// The first file of that name below a folder.
fn find(folder: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(folder).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => find(&path, name),
            false => (path.file_name().unwrap() == name).then_some(path),
        }
    })
}
