//! Roots of trees, and reading every file to compare it with its hash: on a store in memory whose bytes a test may turn.

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;

use nuthatch_link::*;
use nuthatch_store::{Batch, Direction, MemoryStore, Reader, Store, Table};
use support::quiet;

struct Shed {
    db: Database,
    store: Arc<MemoryStore>,
}

impl Shed {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self { db: Database::with_store(store.clone(), quiet()).unwrap(), store }
    }

    fn tree(&self, name: &str) -> Tree {
        self.db.tree(name).unwrap()
    }

    /// Keys and values of the stored chunks that lie in these bytes, in the order in which they lie there.
    fn chunks_of(&self, bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            if let Some(at) = bytes.windows(value.len().max(1)).position(|window| window == value) {
                found.push((at, key.to_vec(), value.to_vec()));
            }
            ControlFlow::Continue(())
        };
        self.store.scan(Table::Blobs, &[], &[], Direction::Forward, &mut visit).unwrap();
        found.sort();
        found.into_iter().map(|(_, key, value)| (key, value)).collect()
    }

    fn write(&self, change: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::new();
        change(&mut batch);
        self.store.write(batch).unwrap();
    }
}

fn file(path: &str, bytes: &[u8]) -> PutFile {
    PutFile { path: path.into(), mode: 0o644, modified_ns: 5, what: PutWhat::File(bytes.to_vec()) }
}

fn put(tree: &Tree, files: &[(&str, &[u8])]) {
    let files = files.iter().map(|(path, bytes)| file(path, bytes)).collect();
    tree.put_all(PutFiles { files, ..PutFiles::default() }).unwrap();
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut dice = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| dice.u8(..)).take(bytes).collect()
}

#[test]
fn states_have_the_same_root_exactly_when_they_do_not_differ() {
    let shed = Shed::new();
    let seed = fastrand::u64(..);
    let mut dice = fastrand::Rng::with_seed(seed);
    let paths = ["a", "a-b", "a/x", "a/y/z", "a0", "b/c", "b/c/d"];
    for name in ["t", "u"] {
        for _ in 0..60 {
            let path = paths[dice.usize(..paths.len())];
            let what = match dice.u8(..4) {
                0 => PutWhat::Folder,
                1 => PutWhat::Link(dice.u8(..2).to_string()),
                _ => PutWhat::File(vec![dice.u8(..2)]),
            };
            // Times do not count, and neither do the modes of folders.
            let (mode, modified_ns) = (0o600 + dice.u32(..2), dice.i64(..));
            let files = vec![PutFile { path: path.into(), mode, modified_ns, what }];
            let gone: Vec<String> =
                (0..dice.usize(..3)).map(|_| paths[dice.usize(..paths.len())].to_string()).collect();
            let gone = gone.into_iter().filter(|gone| gone != path).take(1).collect();
            shed.tree(name).put(PutFiles { files, gone, ..PutFiles::default() }).unwrap();
        }
    }
    let newest: u64 = shed.tree("t").verify_page(None, "", None).unwrap().as_of.parse().unwrap();
    let moments: Vec<Option<String>> = (1..=newest).map(|at| Some(at.to_string())).collect();
    let at = |name: &str, as_of: &Option<String>| TreeAt { tree: name.into(), as_of: as_of.clone() };
    let all: Vec<(TreeAt, TreeRoot)> = ["t", "u"]
        .iter()
        .flat_map(|name| {
            let roots = shed.tree(name).roots(&moments, "").unwrap();
            moments.iter().map(|as_of| at(name, as_of)).zip(roots).collect::<Vec<_>>()
        })
        .collect();
    let mut same = 0;
    for (number, (to, root)) in all.iter().enumerate() {
        // One moment of many has the root that it has alone.
        assert_eq!(shed.tree(&to.tree).root(to.as_of.as_deref(), "").unwrap(), *root);
        for (from, other) in all[..number].iter().step_by(5) {
            let ask = DiffTrees { from: from.clone(), to: to.clone(), ..DiffTrees::default() };
            let differ = !shed.tree("t").diff(ask).unwrap().is_empty();
            assert_eq!(root.root != other.root, differ, "seed {seed}: {from:?} and {to:?}");
            same += u32::from(!differ);
        }
    }
    assert!(same > 10, "seed {seed}: {same} pairs are the same");
}

#[test]
fn a_folder_has_the_root_of_a_tree_that_holds_the_same() {
    let shed = Shed::new();
    put(&shed.tree("t"), &[("sub/a", b"1"), ("sub/b/c", b"2"), ("sub-x", b"3")]);
    put(&shed.tree("u"), &[("a", b"1"), ("b/c", b"2")]);
    assert_eq!(shed.tree("t").root(None, "sub").unwrap(), shed.tree("u").root(None, "").unwrap());
    assert_eq!(shed.tree("u").root(None, "none").unwrap().root, ContentId::of(ROOT_HEADER));
    let root = shed.tree("t").root(None, "").unwrap();
    assert_eq!((root.files, root.folders, root.links, root.bytes), (3, 0, 0, 3));
    shed.tree("t").erase("sub-x").unwrap();
    assert_ne!(shed.tree("t").root(Some("1"), "").unwrap().root, root.root, "what is erased is in no root");
}

#[test]
fn damage_is_named_by_the_paths_and_the_bytes_that_have_it() {
    let shed = Shed::new();
    let tree = shed.tree("t");
    // The large one fills a page, so that what comes behind it is on the next.
    let (one, many, large) = (noise(1, 3_000), noise(2, 200_000), noise(3, 64 << 20));
    put(&tree, &[("one", &one), ("many", &many), ("copy/of it", &many), ("inline", b"x")]);
    tree.name_snapshot("v1").unwrap();
    put(&tree, &[("one", b"another"), ("large", &large)]);
    let verified = |as_of| {
        let mut pages = 1;
        let found = tree.verify(as_of, "", |_| pages += 1).unwrap();
        assert_eq!(found.root, Some(tree.root(as_of, "").unwrap()));
        (pages, found.files, found.damaged)
    };
    assert_eq!(verified(None), (2, 5, vec![]));
    assert_eq!(verified(Some("v1")), (1, 4, vec![]));

    // A bit of the second chunk turns before the store makes its own checksum.
    let chunks = shed.chunks_of(&many);
    let (first, (key, mut second)) = (chunks[0].1.len(), chunks[1].clone());
    let why = format!("its bytes from {first} to {} have another hash than those that were put", first + second.len());
    second[17] ^= 1;
    shed.write(|batch| batch.put(Table::Blobs, key, second));
    let of = |path: &str, why: &str| DamagedFile { path: path.into(), why: why.into() };
    let twice = vec![of("copy/of it", &why), of("many", &why)];
    assert_eq!(verified(None), (2, 5, twice.clone()));
    assert_eq!(verified(Some("v1")), (1, 4, twice.clone()));
    assert_eq!(tree.verify(None, "copy", |_| ()).unwrap().damaged, [of("copy/of it", &why)]);

    // The bytes of an older version are lost: only a moment that shows it tells.
    let [(key, _)] = &shed.chunks_of(&one)[..] else { panic!("3,000 bytes are one chunk") };
    shed.write(|batch| batch.delete(Table::Blobs, key.clone()));
    assert_eq!(verified(None).2, twice);
    assert_eq!(verified(Some("v1")).2, [twice, vec![of("one", "its bytes are lost")]].concat());
}
