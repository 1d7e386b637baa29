//! The guarantees of trees, tested on an engine in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::database::Database;
use crate::kv::Rows;
use crate::{Clock, ErrorKind, Options};

struct Shed {
    db: Database,
    now_ms: Arc<AtomicU64>,
}

const DAY_MS: u64 = 24 * 3_600_000;

impl Shed {
    fn new() -> Self {
        let now_ms = Arc::new(AtomicU64::new(1_000 * DAY_MS));
        let read = now_ms.clone();
        let clock = Clock::from_fn(move || read.load(Ordering::SeqCst));
        let db = Database::in_memory(Options { background: false, clock, ..Options::default() }).unwrap();
        Self { db, now_ms }
    }

    fn trees(&self) -> Trees {
        Trees::of(&self.db.trees().unwrap()).unwrap()
    }

    fn put(&self, files: &[(&str, &[u8])]) -> PutReport {
        self.trees().put(files_of("t", files)).unwrap()
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Rows) -> Result<T>) -> Result<T> {
        self.trees().keyspace.at_once(read)
    }

    fn listed(&self, as_of: Option<&str>) -> Vec<(String, Option<ContentId>)> {
        let page = self.read(|rows| list(rows, &ListFiles::of(at(as_of)))).unwrap();
        page.entries.into_iter().map(|entry| (entry.path, entry.content)).collect()
    }

    fn content(&self, path: &str, as_of: Option<&str>) -> Option<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let found = self.read(|rows| part(rows, &at(as_of), path, whole.len() as u64, READ_BYTES_MAX)).unwrap()?;
            whole.extend_from_slice(&found.bytes);
            if found.bytes.is_empty() || whole.len() as u64 == found.entry.bytes {
                assert_eq!(found.entry.content, Some(ContentId::of(&whole)), "{path}: the bytes have their hash");
                return Some(whole);
            }
        }
    }

    /// Counts are those of a recount, and every content has its hash.
    fn check(&self) {
        let check = self.trees().check(true).unwrap();
        assert_eq!(check.findings, Vec::<String>::new());
    }

    fn totals(&self) -> Totals {
        self.read(|rows| info(rows, "t")).unwrap().together
    }
}

fn at(as_of: Option<&str>) -> TreeAt {
    TreeAt { tree: "t".into(), as_of: as_of.map(Into::into) }
}

fn file(path: &str, bytes: &[u8]) -> PutFile {
    PutFile { path: path.into(), mode: 0o644, modified_ns: bytes.len() as i64, what: PutWhat::File(bytes.to_vec()) }
}

fn files_of(tree: &str, files: &[(&str, &[u8])]) -> PutFiles {
    let files = files.iter().map(|(path, bytes)| file(path, bytes)).collect();
    PutFiles { tree: tree.into(), files, ..PutFiles::default() }
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(bytes).collect()
}

#[test]
fn bytes_come_back_as_they_were_given_whatever_their_size() {
    let shed = Shed::new();
    for bytes in [0, 1, 256, 257, 5_000, 70_000, 5 << 20] {
        let data = noise(bytes as u64, bytes);
        shed.put(&[("a", &data)]);
        assert_eq!(shed.content("a", None).unwrap(), data);
        let inner = shed.read(|rows| part(rows, &at(None), "a", 100, 200)).unwrap().unwrap();
        assert_eq!(
            inner.bytes,
            data.get(100..).unwrap_or_default().get(..200).unwrap_or(data.get(100..).unwrap_or_default())
        );
    }
    shed.check();
}

#[test]
fn what_is_put_again_unchanged_writes_nothing() {
    let shed = Shed::new();
    assert_eq!(shed.put(&[("a", b"one"), ("b", b"two")]).added, 2);
    let before = shed.totals();
    let again = shed.put(&[("a", b"one"), ("b", b"three")]);
    assert_eq!((again.unchanged, again.changed, again.sequence), (1, 1, 2));
    assert_eq!(shed.put(&[("a", b"one")]).sequence, 2);
    assert_eq!(shed.totals().contents, before.contents + 1);
}

#[test]
fn a_content_is_stored_once_in_all_trees_and_goes_with_its_last_version() {
    let shed = Shed::new();
    let data = noise(1, 300_000);
    shed.put(&[("a", &data), ("copy", &data)]);
    let one = shed.totals();
    shed.trees().put(files_of("other", &[("deep/b", &data)])).unwrap();
    assert_eq!(shed.totals(), one);
    // An insertion stores the chunks around it alone.
    let edited = [&data[..1_000], b"x", &data[1_000..]].concat();
    shed.put(&[("edited", &edited)]);
    assert!(shed.totals().chunk_bytes < one.chunk_bytes + 140_000, "{:?} after {one:?}", shed.totals());
    shed.check();
    shed.trees().erase("t", "").unwrap();
    assert_eq!(shed.totals().content_bytes, 300_000);
    assert!(shed.trees().drop_tree("other").unwrap());
    assert_eq!(shed.totals(), Totals::default());
    shed.check();
}

#[test]
fn a_named_snapshot_shows_the_tree_as_it_was_for_ever() {
    let shed = Shed::new();
    shed.trees().set_retention("t", Retention { versions: Some(1), seconds: Some(0) }).unwrap();
    shed.put(&[("a", b"first"), ("b", b"stays")]);
    let named = shed.trees().name_snapshot("t", "v1").unwrap();
    for text in [&b"second"[..], b"third", b"fourth"] {
        shed.put(&[("a", text)]);
    }
    shed.trees().remove("t", "b").unwrap();
    assert_eq!(shed.content("a", Some("v1")).unwrap(), b"first");
    assert_eq!(shed.content("b", Some("v1")).unwrap(), b"stays");
    assert_eq!(shed.content("b", None), None);
    assert_eq!(shed.listed(Some("v1")).len(), 2);
    assert_eq!(shed.listed(Some(&named.sequence.to_string())), shed.listed(Some("v1")));
    let of_a = shed.read(|rows| versions(rows, "t", "a")).unwrap();
    assert_eq!(of_a.len(), 2, "the two between are kept by nothing");
    let taken = shed.trees().name_snapshot("t", "v1").unwrap_err();
    assert_eq!(taken.kind, ErrorKind::Conflict);
    assert!(shed.trees().drop_snapshot("t", "v1").unwrap());
    assert!(!shed.trees().drop_snapshot("t", "v1").unwrap());
    let of_a = shed.read(|rows| versions(rows, "t", "a")).unwrap();
    assert_eq!(of_a.len(), 1, "the snapshot alone kept the first");
    let unknown = shed.read(|rows| list(rows, &ListFiles::of(at(Some("v1"))))).unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
    shed.check();
}

#[test]
fn a_moment_is_a_time_too() {
    let shed = Shed::new();
    shed.put(&[("a", b"old")]);
    shed.now_ms.fetch_add(10 * DAY_MS, Ordering::SeqCst);
    shed.put(&[("a", b"new")]);
    let then = "1972-10-01T00:00:00Z"; // day 1,004
    assert_eq!(shed.content("a", Some(then)).unwrap(), b"old");
    assert_eq!(shed.content("a", Some("1972-09-01T00:00:00Z")), None);
}

#[test]
fn versions_are_kept_by_number_and_by_age() {
    let shed = Shed::new();
    for version in 0..20 {
        shed.put(&[("a", format!("version {version}").as_bytes())]);
        shed.now_ms.fetch_add(DAY_MS, Ordering::SeqCst);
    }
    assert_eq!(shed.read(|rows| versions(rows, "t", "a")).unwrap().len(), 20, "all are of the last 30 days");
    shed.now_ms.fetch_add(60 * DAY_MS, Ordering::SeqCst);
    shed.put(&[("a", b"last")]);
    assert_eq!(shed.read(|rows| versions(rows, "t", "a")).unwrap().len(), 10, "the last ten");
    shed.check();
}

#[test]
fn erasing_removes_every_version_and_leaves_what_others_share() {
    let shed = Shed::new();
    let (shared, secret) = (noise(1, 50_000), noise(2, 50_000));
    let mixed = [&shared[..], &secret].concat();
    shed.put(&[("keep", &shared), ("dir/secret", &mixed)]);
    shed.trees().name_snapshot("t", "v1").unwrap();
    shed.put(&[("dir/secret", &secret)]);
    let erased = shed.trees().erase("t", "dir").unwrap();
    assert_eq!((erased.paths, erased.versions), (1, 2));
    assert_eq!(shed.content("dir/secret", Some("v1")), None);
    assert_eq!(shed.content("keep", None).unwrap(), shared);
    assert_eq!(shed.totals().content_bytes, 50_000);
    shed.check();
}

#[test]
fn differences_name_what_was_added_removed_changed_and_moved() {
    let shed = Shed::new();
    shed.put(&[("changed", b"1"), ("gone", b"2"), ("moved", b"33"), ("same", b"4")]);
    shed.trees().name_snapshot("t", "v1").unwrap();
    let mut put = files_of("t", &[("changed", b"one"), ("new", b"5"), ("to/moved", b"33")]);
    put.files.push(PutFile { mode: 0o755, ..file("same", b"4") });
    put.gone = vec!["gone".into(), "moved".into()];
    shed.trees().put(put).unwrap();
    shed.trees().name_snapshot("t", "v2").unwrap();
    shed.put(&[("later", b"6")]);
    let ask = DiffTrees { from: at(Some("v1")), to: at(Some("v2")), ..DiffTrees::default() };
    let told = |ask: &DiffTrees| -> Vec<(ChangeKind, String)> {
        shed.read(|rows| diff(rows, ask)).unwrap().into_iter().map(|change| (change.kind, change.path)).collect()
    };
    let expected = [
        (ChangeKind::Modified, "changed"),
        (ChangeKind::Removed, "gone"),
        (ChangeKind::Added, "new"),
        (ChangeKind::Mode, "same"),
        (ChangeKind::Renamed, "to/moved"),
    ];
    let expected: Vec<_> = expected.into_iter().map(|(kind, path)| (kind, path.to_string())).collect();
    assert_eq!(told(&ask), expected);
    // Backwards, and against a tree of its own, both are listed instead of read from the log.
    let back = told(&DiffTrees { from: at(Some("v2")), to: at(Some("v1")), ..DiffTrees::default() });
    assert!(
        back.contains(&(ChangeKind::Renamed, "moved".into())) && back.contains(&(ChangeKind::Added, "gone".into()))
    );
    assert_eq!(told(&DiffTrees { below: "to".into(), ..ask.clone() }), [(ChangeKind::Added, "to/moved".to_string())]);
    assert!(told(&DiffTrees { from: at(None), to: at(None), ..DiffTrees::default() }).is_empty());
}

#[test]
fn a_file_may_come_in_parts() {
    let shed = Shed::new();
    let data = noise(3, 9 << 20);
    let trees = shed.trees();
    let upload = trees.begin_upload().unwrap();
    let mut offset = 0;
    for part in data.chunks(2_500_000) {
        let is_last = offset + part.len() == data.len();
        for _ in 0..2 {
            trees.upload(upload, offset as u64, part, is_last).unwrap(); // asked for again, it changes nothing
        }
        offset += part.len();
        shed.trees().keyspace.at_once(|_| Ok(())).unwrap();
    }
    assert!(trees.upload(upload, 1, b"gap", false).is_err());
    let what = PutWhat::Uploaded(upload);
    let put = |path: &str| PutFiles {
        tree: "t".into(),
        files: vec![PutFile { path: path.into(), mode: 0o600, modified_ns: 0, what: what.clone() }],
        ..PutFiles::default()
    };
    trees.put(put("big")).unwrap();
    assert_eq!(trees.put(put("big again")).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(shed.content("big", None).unwrap(), data);
    shed.check();
    // Given at once, it is the same content.
    let one = shed.totals();
    shed.put(&[("twin", &data)]);
    assert_eq!(shed.totals(), one);
    // The same file once more changes nothing, and leaves nothing of its upload.
    let upload = trees.begin_upload().unwrap();
    trees.upload(upload, 0, &data, true).unwrap();
    let what = PutWhat::Uploaded(upload);
    let again = PutFile { path: "big".into(), mode: 0o600, modified_ns: 0, what };
    let report = trees.put(PutFiles { tree: "t".into(), files: vec![again], ..PutFiles::default() }).unwrap();
    assert_eq!((report.unchanged, report.changed), (1, 0));
    // Data derived from contents lies behind all uploads.
    let to = std::ops::Bound::Excluded(key::grams());
    let uploads = crate::kv::KeyScan { to, ..crate::kv::KeyScan::prefix(key::uploads()) };
    let left = shed.read(|rows| rows.page(&uploads)).unwrap();
    assert_eq!(left.entries.len(), 0);
    assert_eq!(trees.upload(upload, 0, &data, true).unwrap_err().kind, ErrorKind::NotFound);
    shed.check();
    // One that is given up, and one whose process ended, leave nothing.
    let upload = trees.begin_upload().unwrap();
    trees.upload(upload, 0, &noise(4, 3 << 20), false).unwrap();
    trees.end_upload(upload).unwrap();
    let upload = trees.begin_upload().unwrap();
    trees.upload(upload, 0, &noise(4, 3 << 20), false).unwrap();
    assert_ne!(shed.totals(), one);
    super::upload::remove_left(&trees.keyspace.space, key::uploads()).unwrap();
    assert_eq!(shed.totals(), one);
    shed.check();
}

#[test]
fn a_put_with_anything_wrong_changes_nothing() {
    let shed = Shed::new();
    shed.put(&[("a", b"1")]);
    let wrong = [
        files_of("t", &[("b", b"2"), ("../c", b"3")]),
        files_of("t", &[("b", b"2"), ("b", b"3")]),
        files_of("t/x", &[("b", b"2")]),
        PutFiles { gone: vec!["b".into()], ..files_of("t", &[("b", b"2")]) },
    ];
    for put in wrong {
        assert_eq!(shed.trees().put(put).unwrap_err().kind, ErrorKind::Invalid);
    }
    let unknown = shed.read(|rows| info(rows, "nowhere")).unwrap_err();
    assert!(unknown.message.contains("nowhere"), "{unknown}");
    assert_eq!(shed.listed(None).len(), 1);
}

/// Random histories against a model: what a snapshot shows stays, and counts are those of a recount.
#[test]
fn counts_and_snapshots_survive_random_histories() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let shed = Shed::new();
        let contents: Vec<Vec<u8>> = (0..8).map(|at| noise(at, [10, 300, 20_000, 150_000][at as usize % 4])).collect();
        let mut now: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut named: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
        shed.trees().set_retention("t", Retention { versions: Some(2), seconds: Some(3 * 24 * 3600) }).unwrap();
        for step in 0..60 {
            let path = format!("d{}/f{}", random.u8(..3), random.u8(..4));
            match random.u8(..10) {
                0..6 => {
                    let data = random.choice(&contents).unwrap();
                    shed.put(&[(&path, data)]);
                    now.insert(path, data.clone());
                }
                6 => {
                    shed.trees().remove("t", &path).unwrap();
                    now.remove(&path);
                }
                7 => {
                    let name = format!("s{step}");
                    shed.trees().name_snapshot("t", &name).unwrap();
                    named.insert(name, now.clone());
                }
                8 => {
                    if let Some(name) = named.keys().next().cloned() {
                        assert!(shed.trees().drop_snapshot("t", &name).unwrap());
                        named.remove(&name);
                    }
                }
                _ => {
                    shed.trees().erase("t", &path).unwrap();
                    now.remove(&path);
                    named.values_mut().for_each(|shown| drop(shown.remove(&path)));
                }
            }
            shed.now_ms.fetch_add(DAY_MS, Ordering::SeqCst);
        }
        for (as_of, shown) in named.iter().map(|(name, shown)| (Some(&**name), shown)).chain([(None, &now)]) {
            let listed: Vec<String> = shed.listed(as_of).into_iter().map(|(path, _)| path).collect();
            assert_eq!(listed, shown.keys().cloned().collect::<Vec<_>>(), "seed {seed}, {as_of:?}");
            for (path, data) in shown {
                assert_eq!(shed.content(path, as_of).as_ref(), Some(data), "seed {seed}, {as_of:?}, {path}");
            }
        }
        let info = shed.read(|rows| info(rows, "t")).unwrap();
        assert_eq!(info.files as usize, now.len());
        assert_eq!(info.bytes as usize, now.values().map(Vec::len).sum::<usize>());
        shed.check();
    }
}

#[test]
fn after_a_loss_what_is_whole_stays_and_is_counted_again() {
    use nuthatch_store::{Batch, Table};
    let shed = Shed::new();
    let (one, many) = (noise(1, 3_000), noise(2, 200_000));
    shed.put(&[("one", &one), ("many", &many), ("copy", &many), ("inline", b"x")]);
    let trees = shed.trees();
    let space = &trees.keyspace.space;
    let lost = |row: Vec<u8>| {
        let mut batch = Batch::new();
        batch.delete(Table::Kv, space.shard.key(&row));
        space.shared.write(batch).unwrap();
    };
    // Counters and the row of a chunk can be made again.
    lost(key::totals());
    lost(key::SIGNATURE.to_vec());
    lost(key::tree("t"));
    assert!(!trees.check(false).unwrap().findings.is_empty());
    assert_eq!(mend_trees(&space.shared, space.shard).unwrap(), 0);
    shed.check();
    assert_eq!(shed.content("many", None).unwrap(), many);
    // The bytes of a chunk cannot.
    let mut batch = Batch::new();
    batch.delete(Table::Blobs, space.shard.number_key(0));
    space.shared.write(batch).unwrap();
    assert!(!trees.check(false).unwrap().findings.is_empty());
    assert_eq!(mend_trees(&space.shared, space.shard).unwrap(), 1);
    shed.check();
    assert_eq!(shed.content("one", None), None);
    assert_eq!(shed.content("copy", None).unwrap(), many);
}

fn grep_of(pattern: &str, as_of: Option<&str>) -> GrepTree {
    let request = GrepRequest { patterns: vec![pattern.into()], ..GrepRequest::default() };
    GrepTree {
        at: at(as_of),
        below: String::new(),
        request,
        history: false,
        cursor: None,
        bytes_max: GREP_BYTES_MAX,
        index: GrepIndex::Auto,
        filter: None,
    }
}

impl Shed {
    /// Returns the output of a search, over as many pages as it takes.
    fn grep(&self, ask: GrepTree) -> (String, bool) {
        let (mut ask, mut output) = (ask, Vec::new());
        loop {
            let page = self.read(|rows| grep(rows, &ask)).unwrap();
            output.extend_from_slice(&page.output);
            assert_eq!(page.cut, []);
            ask.cursor = page.cursor;
            if ask.cursor.is_none() {
                return (String::from_utf8(output).unwrap(), page.matched);
            }
        }
    }
}

#[test]
fn a_search_prints_the_lines_of_every_file_in_the_order_of_the_paths() {
    let shed = Shed::new();
    let large = [vec![b'x'; 17 << 20], b"\nfound here\n".to_vec()].concat();
    shed.put(&[
        ("b/one", b"not\nfound it\n"),
        ("a", b"found\n"),
        ("c", b"nothing"),
        ("deep/in/side.txt", b"found, too"),
    ]);
    shed.put(&[("large", &large)]);
    let expected = "a:found\nb/one:found it\ndeep/in/side.txt:found, too\nlarge:found here\n";
    assert_eq!(shed.grep(grep_of("found", None)), (expected.into(), true));
    assert_eq!(shed.grep(GrepTree { below: "b".into(), ..grep_of("found", None) }).0, "b/one:found it\n");
    assert_eq!(shed.grep(grep_of("nowhere", None)), (String::new(), false));
    let mut globbed = grep_of("found", None);
    globbed.request.globs = vec!["*.txt".into()];
    assert_eq!(shed.grep(globbed).0, "deep/in/side.txt:found, too\n");
}

#[test]
fn pages_of_a_search_join_to_what_one_page_prints() {
    let shed = Shed::new();
    let files: Vec<(String, Vec<u8>)> = (0..700)
        .map(|number| (format!("f{number:03}"), format!("{}word {number}\n", "line\n".repeat(number % 7)).into_bytes()))
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    shed.put(&files);
    let mut ask = grep_of("word", None);
    ask.request.before_context = 1;
    ask.request.line_number = Some(true);
    let whole = shed.grep(ask.clone());
    assert_eq!(whole.0.matches("word").count(), 700);
    for bytes_max in [1, 100, 5_000] {
        assert_eq!(shed.grep(GrepTree { bytes_max, ..ask.clone() }), whole, "pages of {bytes_max} bytes");
    }
    ask.request.output = GrepOutput::Json;
    let untimed = |text: String| {
        text.lines()
            .filter(|line| !line.contains("\"end\"") && !line.contains("summary"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (whole, paged) = (shed.grep(ask.clone()).0, shed.grep(GrepTree { bytes_max: 1, ..ask }).0);
    assert!(paged.contains("\"searches\":700,") && whole.contains("\"searches\":700,"), "the summary counts all pages");
    assert_eq!(untimed(paged), untimed(whole));
}

#[test]
fn a_content_may_print_more_than_a_page_holds() {
    let shed = Shed::new();
    let lines: String = (0..20_000).map(|line| format!("word {line}\n")).collect();
    let long = format!("{}word{}", "x".repeat(100_000), "y".repeat(100_000));
    shed.put(&[("a", lines.as_bytes()), ("b", long.as_bytes()), ("c", b"a word\n")]);
    shed.put(&[("large", &[vec![b'z'; 17 << 20], b"\n".to_vec(), lines.clone().into_bytes()].concat())]);
    let mut ask = grep_of("word", None);
    ask.request.stats = true;
    let untimed = |(text, _): (String, bool)| {
        text.lines().filter(|line| !line.contains(" seconds ")).map(str::to_string).collect::<Vec<_>>()
    };
    let whole = shed.grep(ask.clone());
    assert_eq!(whole.0.matches("large:").count(), 20_000);
    for bytes_max in [4_000, 100_000] {
        let paged = shed.grep(GrepTree { bytes_max, ..ask.clone() });
        assert!(untimed(paged) == untimed(whole.clone()), "pages of {bytes_max} bytes");
    }
}

#[test]
fn a_search_sees_the_tree_as_it_was_and_every_version_when_asked() {
    let shed = Shed::new();
    shed.put(&[("a", b"first word\n"), ("b", b"a word\n")]);
    shed.trees().name_snapshot("t", "v1").unwrap();
    shed.put(&[("a", b"second word\n")]);
    shed.trees().put(PutFiles { tree: "t".into(), gone: vec!["b".into()], ..PutFiles::default() }).unwrap();
    shed.put(&[("a", b"first word\n")]);
    assert_eq!(shed.grep(grep_of("word", None)).0, "a:first word\n");
    assert_eq!(shed.grep(grep_of("word", Some("v1"))).0, "a:first word\nb:a word\n");
    for bytes_max in [1, GREP_BYTES_MAX] {
        let all = GrepTree { history: true, bytes_max, ..grep_of("word", None) };
        assert_eq!(shed.grep(all).0, "a@4:first word\na@2:second word\nb@1:a word\n", "each content of a path once");
    }
}
