//! The list of all operations, by which one that comes over the socket is found.

use serde::de::DeserializeOwned;

use crate::call::Outcome;
use crate::database::Database;
use crate::ops::{
    Op, Repeat, Scope, View, caches, collections, facts, files, graph, keys, keyspaces, maintenance, read_point,
    records, search, tenants, trees,
};
use crate::{Error, ErrorKind, Result};

/// An operation whose type is known by its name alone. Operations and answers are encoded with postcard.
pub struct Entry {
    /// [`Op::NAME`].
    pub name: &'static str,
    /// The permission that a key needs to request it.
    pub scope: Scope,
    /// The handling of a repeated request.
    pub repeat: Repeat,
    /// Decodes it, runs it on the view, and encodes its answer.
    pub run: fn(&View<'_>, &[u8]) -> Result<Vec<u8>>,
    /// The encoded answer of one that was found done.
    pub again: fn(&Database, &[u8], Outcome) -> Result<Vec<u8>>,
}

static ALL: &[Entry] = &[
    // Of records.
    entry::<records::Get>(),
    entry::<records::Count>(),
    entry::<records::Facets>(),
    entry::<records::Duplicates>(),
    entry::<crate::Scan>(),
    entry::<crate::Search>(),
    entry::<search::SearchMany>(),
    entry::<records::Info>(),
    entry::<records::Upsert>(),
    entry::<records::Update>(),
    entry::<records::UpdateWhere>(),
    entry::<records::Delete>(),
    entry::<records::DeleteWhere>(),
    entry::<records::DeletePrefix>(),
    entry::<records::Optimize>(),
    entry::<records::WaitUntilIndexed>(),
    entry::<records::WaitUntilEmbedded>(),
    entry::<files::Files>(),
    entry::<files::RemoveFiles>(),
    entry::<files::UpdateFiles>(),
    entry::<files::Apply>(),
    entry::<files::PassageEmbedder>(),
    entry::<files::Embed>(),
    entry::<files::VectorsOf>(),
    entry::<files::WaitForVectors>(),
    entry::<files::EntryOf>(),
    entry::<files::EntriesOf>(),
    // Of keys.
    entry::<keys::Get>(),
    entry::<keys::MultiGet>(),
    entry::<keys::Entries>(),
    entry::<keys::Contains>(),
    entry::<keys::ExpiresIn>(),
    entry::<crate::KeyScan>(),
    entry::<keys::CountEstimate>(),
    entry::<keys::MultiPut>(),
    entry::<keys::Delete>(),
    entry::<keys::DeletePrefix>(),
    entry::<keys::CompareAndSet>(),
    entry::<keys::WriteIf>(),
    entry::<keys::Increment>(),
    entry::<keys::Append>(),
    entry::<keys::Expire>(),
    // Of nodes and edges.
    entry::<graph::GetNodes>(),
    entry::<graph::GetEdge>(),
    entry::<graph::NeighborsOf>(),
    entry::<crate::ListNodes>(),
    entry::<crate::Traverse>(),
    entry::<graph::Counts>(),
    entry::<graph::Paths>(),
    entry::<graph::Ranks>(),
    entry::<graph::Groups>(),
    entry::<graph::PutNodes>(),
    entry::<graph::PutEdges>(),
    entry::<graph::DeleteNodes>(),
    entry::<graph::DeleteEdges>(),
    // Of trees.
    entry::<trees::Names>(),
    entry::<trees::Info>(),
    entry::<crate::tree::ListFiles>(),
    entry::<trees::Entry>(),
    entry::<trees::Versions>(),
    entry::<trees::Read>(),
    entry::<crate::tree::DiffTrees>(),
    entry::<crate::tree::GrepTree>(),
    entry::<trees::Index>(),
    entry::<crate::tree::AskCode>(),
    entry::<crate::tree::ImportSymbols>(),
    entry::<crate::tree::MakePassages>(),
    entry::<crate::tree::SearchTree>(),
    entry::<trees::SweepPassages>(),
    entry::<trees::Snapshots>(),
    entry::<trees::Roots>(),
    entry::<crate::tree::VerifyTree>(),
    entry::<crate::tree::CountTree>(),
    entry::<trees::Check>(),
    entry::<crate::tree::PutFiles>(),
    entry::<crate::tree::UpdateTree>(),
    entry::<crate::tree::BeginImport>(),
    entry::<crate::tree::ImportVersions>(),
    entry::<crate::tree::EndImport>(),
    entry::<trees::EndImportOf>(),
    entry::<trees::BeginUpload>(),
    entry::<trees::Upload>(),
    entry::<trees::EndUpload>(),
    entry::<trees::Remove>(),
    entry::<trees::Erase>(),
    entry::<trees::Drop>(),
    entry::<trees::NameSnapshot>(),
    entry::<trees::DropSnapshot>(),
    entry::<trees::SetRetention>(),
    // Of caches.
    entry::<crate::cache::AskCache>(),
    entry::<crate::cache::StoreAnswer>(),
    entry::<crate::cache::Verdict>(),
    entry::<crate::cache::LeaseAnswer>(),
    entry::<crate::cache::EndLease>(),
    entry::<caches::Invalidate>(),
    entry::<crate::cache::CacheChange>(),
    entry::<caches::Stats>(),
    entry::<caches::Explain>(),
    entry::<caches::Audits>(),
    entry::<crate::cache::ListAnswers>(),
    entry::<crate::cache::ImportAnswers>(),
    entry::<crate::cache::Reembed>(),
    // Of facts.
    entry::<crate::facts::AskFacts>(),
    entry::<facts::Why>(),
    entry::<crate::facts::ListEntities>(),
    entry::<facts::Predicates>(),
    entry::<facts::Stats>(),
    entry::<facts::Trace>(),
    entry::<facts::Failures>(),
    entry::<facts::Paths>(),
    entry::<facts::Ranks>(),
    entry::<facts::Groups>(),
    entry::<facts::Record>(),
    entry::<facts::Import>(),
    entry::<facts::Retract>(),
    entry::<facts::End>(),
    entry::<facts::Declare>(),
    entry::<facts::Alias>(),
    entry::<facts::RemoveAlias>(),
    entry::<crate::facts::Work>(),
    entry::<crate::facts::Learn>(),
    entry::<crate::facts::ExtractBuiltIn>(),
    entry::<facts::Settle>(),
    entry::<facts::Erase>(),
    // Of everything.
    entry::<collections::Open>(),
    entry::<collections::Make>(),
    entry::<collections::Names>(),
    entry::<collections::Infos>(),
    entry::<collections::Drop>(),
    entry::<keyspaces::Open>(),
    entry::<keyspaces::Names>(),
    entry::<keyspaces::Drop>(),
    entry::<crate::WriteBatch>(),
    entry::<maintenance::Stats>(),
    entry::<maintenance::Doctor>(),
    entry::<maintenance::Optimize>(),
    entry::<maintenance::Reclaim>(),
    entry::<maintenance::EraseIn>(),
    entry::<maintenance::Receipts>(),
    entry::<maintenance::Sync>(),
    entry::<maintenance::Migration>(),
    entry::<maintenance::Migrate>(),
    entry::<tenants::Create>(),
    entry::<tenants::Find>(),
    entry::<tenants::Names>(),
    entry::<tenants::Infos>(),
    entry::<tenants::Info>(),
    entry::<tenants::SetLimits>(),
    entry::<tenants::Drop>(),
    entry::<tenants::Limits>(),
    entry::<tenants::Usage>(),
    // Of a snapshot.
    entry::<read_point::CollectionShard>(),
    entry::<read_point::KeyspaceShard>(),
    entry::<read_point::Commit>(),
];

/// The operation of that name.
///
/// # Errors
/// `Unavailable` for a name that another version has given.
pub fn find(name: &str) -> Result<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let message = format!("this process does not know operation {name:?}; run the same version in all processes");
        Error::new(ErrorKind::Unavailable, message)
    })
}

const fn entry<O: Op>() -> Entry {
    assert!(
        !matches!(O::SCOPE, Scope::Read) || matches!(O::REPEAT, Repeat::Read),
        "an operation that changes data needs more than read permission"
    );
    Entry { name: O::NAME, scope: O::SCOPE, repeat: O::REPEAT, run: run::<O>, again: again::<O> }
}

fn run<O: Op>(view: &View<'_>, body: &[u8]) -> Result<Vec<u8>> {
    encoded(&decoded::<O>(body)?.run(view)?)
}

fn again<O: Op>(db: &Database, body: &[u8], outcome: Outcome) -> Result<Vec<u8>> {
    encoded(&decoded::<O>(body)?.again(db, outcome)?)
}

fn decoded<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    postcard::from_bytes(body).map_err(|error| Error::invalid(format!("an operation cannot be decoded: {error}")))
}

fn encoded(answer: &impl serde::Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(answer).map_err(|error| Error::internal(format!("an answer cannot be encoded: {error}")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;
    use crate::codec::Bytes;
    use crate::kv::Kind;
    use crate::ops::{Keys, Records};

    /// Reads that a snapshot refuses, and why.
    const OF_NOW: &[(&str, &str)] = &[
        ("records.wait_until_embedded", "it waits for what is still to come"),
        ("files.wait_for_vectors", "the same"),
        ("files.passage_embedder", "a step of adding files, which writes"),
        ("files.embed", "the same"),
        ("files.vectors_of", "the same"),
        ("files.entry", "the same"),
        ("files.entries", "the same"),
        ("trees.check", "it counts what the store holds now"),
    ];

    /// One of each operation that reads records, keys, or nodes and edges; without one, the operation's line comes without a proof.
    fn sample(name: &str) -> Option<Vec<u8>> {
        use crate::tree::{DiffTrees, GrepRequest, GrepTree, ListFiles, TreeAt};
        use crate::{EdgeId, KeyScan, ListNodes, Neighbors, Scan, Search, Traverse};
        let (id, key) = (|| "a".to_string(), || Bytes::from(&b"k"[..]));
        let scan = Scan { limit: 10, ..Scan::default() };
        let encoded = match name {
            "records.get" => encoded(&records::Get { ids: vec![id()], vectors: true }),
            "records.count" => encoded(&records::Count(Some("n = 1".into()))),
            "records.facets" => encoded(&records::Facets { fields: vec!["n".into()], filter: None, limit: 10 }),
            "records.duplicates" => {
                encoded(&records::Duplicates { threshold: 0.9, neighbors: 5, limit: 10, filter: None, cursor: None })
            }
            "records.scan" => encoded(&scan),
            "records.search" => encoded(&Search::text("words")),
            "records.search_many" => encoded(&search::SearchMany(vec![Search::text("words")])),
            "records.info" => encoded(&records::Info),
            "records.wait_until_embedded" => encoded(&records::WaitUntilEmbedded(None)),
            "files.list" => encoded(&files::Files(String::new())),
            "files.passage_embedder" => encoded(&files::PassageEmbedder),
            "files.embed" => encoded(&files::Embed(vec![id()])),
            "files.vectors_of" => encoded(&files::VectorsOf(vec![id()])),
            "files.wait_for_vectors" => encoded(&files::WaitForVectors(Duration::ZERO)),
            "files.entry" => encoded(&files::EntryOf(id())),
            "files.entries" => encoded(&files::EntriesOf(id())),
            "keys.get" => encoded(&keys::Get(key())),
            "keys.multi_get" => encoded(&keys::MultiGet(vec![key()])),
            "keys.entries" => encoded(&keys::Entries(vec![key()])),
            "keys.contains" => encoded(&keys::Contains(key())),
            "keys.expires_in" => encoded(&keys::ExpiresIn(key())),
            "keys.scan" => encoded(&KeyScan::default()),
            "keys.count_estimate" => encoded(&keys::CountEstimate(key())),
            "nodes.get" => encoded(&graph::GetNodes(vec![id()])),
            "nodes.edge" => encoded(&graph::GetEdge(EdgeId::new("a", "to", "b"))),
            "nodes.neighbors" => encoded(&graph::NeighborsOf(id(), Neighbors::default())),
            "nodes.list" => encoded(&ListNodes::default()),
            "nodes.traverse" => encoded(&Traverse::from(["a"])),
            "nodes.counts" => encoded(&graph::Counts),
            "nodes.paths" => encoded(&graph::Paths(crate::network::FindPaths::between("a", "b"))),
            "nodes.rank" => encoded(&graph::Ranks(crate::network::RankNodes::default())),
            "nodes.groups" => encoded(&graph::Groups(crate::network::GroupNodes::default())),
            "facts.list" => encoded(&crate::facts::AskFacts::default()),
            "facts.why" => encoded(&facts::Why(1)),
            "facts.entities" => encoded(&crate::facts::ListEntities::default()),
            "facts.predicates" => encoded(&facts::Predicates),
            "facts.stats" => encoded(&facts::Stats),
            "facts.trace" => {
                encoded(&facts::Trace(vec![crate::facts::TracedPassage { collection: "notes".into(), id: id() }]))
            }
            "facts.failures" => encoded(&facts::Failures { extractor: id(), limit: 10 }),
            "facts.paths" => encoded(&facts::Paths::of(crate::network::FindPaths::between("a", "b"))),
            "facts.rank" => encoded(&facts::Ranks::of(crate::network::RankNodes::default())),
            "facts.groups" => encoded(&facts::Groups::of(crate::network::GroupNodes::default())),
            "trees.names" => encoded(&trees::Names),
            "trees.info" => encoded(&trees::Info(id())),
            "trees.list" => encoded(&ListFiles::of(TreeAt::now("a"))),
            "trees.entry" => encoded(&trees::Entry(TreeAt::now("a"), id())),
            "trees.versions" => encoded(&trees::Versions { tree: id(), path: id() }),
            "trees.read" => encoded(&trees::Read { at: TreeAt::now("a"), path: id(), offset: 0, limit: 10 }),
            "trees.diff" => {
                encoded(&DiffTrees { from: TreeAt::now("a"), to: TreeAt::now("a"), ..DiffTrees::default() })
            }
            "trees.grep" => {
                let request = GrepRequest { patterns: vec!["b".into()], ..GrepRequest::default() };
                let (at, below) = (TreeAt::now("a"), String::new());
                let index = crate::tree::GrepIndex::Auto;
                encoded(&GrepTree {
                    at,
                    below,
                    request,
                    history: false,
                    cursor: None,
                    bytes_max: 1_000,
                    index,
                    filter: None,
                })
            }
            "trees.code" => {
                let question = crate::tree::CodeQuestion::Definitions("b".into());
                let (at, below) = (TreeAt::now("a"), String::new());
                encoded(&crate::tree::AskCode { at, below, question, limit: 10 })
            }
            "trees.index" => encoded(&trees::Index { wait: false }),
            "trees.snapshots" => encoded(&trees::Snapshots(id())),
            "trees.roots" => encoded(&trees::Roots { tree: id(), below: String::new(), moments: vec![None] }),
            "trees.verify" => {
                encoded(&crate::tree::VerifyTree { at: TreeAt::now("a"), below: String::new(), after: None })
            }
            "trees.facets" => {
                let fields = vec!["name".into()];
                encoded(&crate::tree::CountTree { at: TreeAt::now("a"), fields, limit: 10, ..Default::default() })
            }
            "trees.check" => encoded(&trees::Check { hash: true }),
            "caches.stats" => encoded(&caches::Stats),
            "caches.explain" => {
                encoded(&caches::Explain(crate::cache::AskCache { prompt: id(), ..Default::default() }))
            }
            "caches.audits" => encoded(&caches::Audits(10)),
            "caches.answers" => {
                encoded(&crate::cache::ListAnswers { after: None, limit: 10, scope: None, tag: None, vectors: true })
            }
            _ => return None,
        };
        Some(encoded.unwrap())
    }

    #[test]
    fn whatever_reads_records_keys_or_nodes_reads_them_in_a_snapshot() {
        let db = Database::in_memory(crate::Options { background: false, ..crate::Options::default() }).unwrap();
        let options = crate::CollectionOptions { embedder: crate::EmbedderChoice::None, ..Default::default() };
        let notes = db.collection("notes", options).unwrap();
        let payload = [("n".to_string(), 1.into())].into();
        notes.upsert(vec![crate::Record::new("a").text("words").payload(payload)]).unwrap();
        let (keys, nodes) =
            (db.keyspace("keys", Kind::Plain, false).unwrap(), db.keyspace("links", Kind::Graph, false).unwrap());
        keys.increment("k", 1).unwrap();
        let trees = db.trees().unwrap();
        let what = crate::tree::PutWhat::File(b"bytes".to_vec());
        let file = crate::tree::PutFile { path: "a".into(), mode: 0o644, modified_ns: 0, what };
        let put = crate::tree::PutFiles { tree: "a".into(), files: vec![file], ..Default::default() };
        Op::run(put, &View::Keys(Keys::Live(&trees))).unwrap();
        let cached = db.keyspace("answers", Kind::Cache, false).unwrap();
        let answer = crate::cache::StoreAnswer { prompt: "a".into(), response: "1".into(), ..Default::default() };
        Op::run(answer, &View::Keys(Keys::Live(&cached))).unwrap();
        let stated = db.keyspace("known", Kind::Facts, false).unwrap();
        let mut fact = crate::facts::NewFact::new("a", "knows", crate::facts::Object::Entity("b".into()));
        fact.sources.push(crate::facts::PassageRef { collection: "notes".into(), id: "a".into(), start: 0, end: 0 });
        Op::run(facts::Record(vec![fact]), &View::Keys(Keys::Live(&stated))).unwrap();
        let snapshot = db.snapshot().unwrap();
        let stated_then = snapshot.keyspace("known", Kind::Facts).unwrap();
        let cached_then = snapshot.keyspace("answers", Kind::Cache).unwrap();
        let trees_then = snapshot.keyspace(crate::tree::TREES, Kind::Trees).unwrap();
        let then = snapshot.collection("notes").unwrap();
        let (keys_then, nodes_then) =
            (snapshot.keyspace("keys", Kind::Plain).unwrap(), snapshot.keyspace("links", Kind::Graph).unwrap());
        for entry in ALL.iter().filter(|entry| (entry.scope, entry.repeat) == (Scope::Read, Repeat::Read)) {
            let (now, then) = match entry.name.split_once('.').unwrap().0 {
                "records" | "files" => (View::Records(Records::Live(&notes)), View::Records(Records::At(&then))),
                "keys" => (View::Keys(Keys::Live(&keys)), View::Keys(Keys::At(&keys_then))),
                "nodes" => (View::Keys(Keys::Live(&nodes)), View::Keys(Keys::At(&nodes_then))),
                "trees" => (View::Keys(Keys::Live(&trees)), View::Keys(Keys::At(&trees_then))),
                "caches" => (View::Keys(Keys::Live(&cached)), View::Keys(Keys::At(&cached_then))),
                "facts" => (View::Keys(Keys::Live(&stated)), View::Keys(Keys::At(&stated_then))),
                _ => continue, // of everything: a snapshot gives its collections, keyspaces and graphs by name
            };
            let body = sample(entry.name).unwrap_or_else(|| panic!("{} has no sample", entry.name));
            if let Some((_, why)) = OF_NOW.iter().find(|(name, _)| *name == entry.name) {
                let error = (entry.run)(&then, &body).expect_err(why);
                assert!(error.message.contains("works on the current"), "{}: {error}", entry.name);
                continue;
            }
            let (now, then) = ((entry.run)(&now, &body), (entry.run)(&then, &body));
            assert_eq!(now.unwrap(), then.unwrap(), "{}: nothing has changed since", entry.name);
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let names: HashSet<&str> = ALL.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(find("of no version").is_err());
    }
}
