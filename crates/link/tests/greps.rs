//! Searches with the index of grams: they print what a search of every file prints, read less, and nothing of what was erased is left.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nuthatch_grep::{BlockBuilder, GramSet};
use nuthatch_link::*;
use support::*;

const WORDS: [&str; 16] = [
    "needle",
    "Haystack",
    "lock",
    "unlock",
    "key",
    "KELVIN\u{212a}",
    "stra\u{df}e",
    "gr\u{f6}\u{df}e",
    "a.b",
    "x*y",
    "mutex_lock",
    "foo",
    "bar",
    "foobar",
    "one two",
    "ss",
];
const PATTERNS: [&str; 30] = [
    "needle",
    "NEEDLE",
    "lock",
    "mutex_lock\\(",
    "key|foobar",
    "(foo|bar)+",
    "un?lock",
    "k",
    "kelvin",
    "stra(ss|\u{df})e",
    "gr\u{f6}\u{df}e",
    "a\\.b",
    "x\\*y",
    "ha.*ck",
    "^needle",
    "lock$",
    "\\bkey\\b",
    "[kK]ey",
    "foo.{2,4}bar",
    "needle\\s+lock",
    "nee(?:dle){1,2}",
    "(?i)NeEdLe",
    "zzzz_nowhere",
    "\\w+lock",
    "one two",
    "(?-u:\\xff)lo",
    "lock\\r",
    "[^a]eedle",
    "ss",
    "haystack|zzz",
];

fn file(path: &str, bytes: Vec<u8>) -> PutFile {
    PutFile { path: path.into(), mode: 0o644, modified_ns: 5, what: PutWhat::File(bytes) }
}

fn put(tree: &Tree, files: Vec<PutFile>) {
    tree.put(PutFiles { files, ..PutFiles::default() }).unwrap();
}

/// Lines of words, some of them odd.
fn text(dice: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    match dice.u8(..40) {
        0 => bytes.extend(b"\xef\xbb\xbf"),
        1 => return "needle lock\nkey".encode_utf16().flat_map(|unit| unit.to_le_bytes()).collect(),
        2 => {
            return [
                &b"\xff\xfe"[..],
                &"needle lock\nkey".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
            ]
            .concat();
        }
        3 => return Vec::new(),
        _ => {}
    }
    let line_end: &[u8] = if dice.u8(..5) == 0 { b"\r\n" } else { b"\n" };
    for _ in 0..dice.usize(1..20) {
        for _ in 0..dice.usize(0..5) {
            let word = WORDS[dice.usize(..WORDS.len())];
            let word = if dice.bool() { word.to_uppercase() } else { word.to_string() };
            match dice.u8(..30) {
                0 => bytes.extend([0xff, b'l', b'o', 0xc3]),
                1 if dice.u8(..4) == 0 => bytes.push(0),
                2 => bytes.extend(std::iter::repeat_with(|| dice.u8(b' '..0x7f)).take(9)),
                _ => bytes.extend(word.as_bytes()),
            }
            bytes.extend(if dice.u8(..3) == 0 { &b" "[..] } else { b"" });
        }
        bytes.extend(line_end);
    }
    bytes
}

fn flags(dice: &mut fastrand::Rng) -> GrepRequest {
    let mut request =
        GrepRequest { patterns: vec![PATTERNS[dice.usize(..PATTERNS.len())].into()], ..GrepRequest::default() };
    for _ in 0..dice.usize(..4) {
        match dice.u8(..26) {
            0 => request.ignore_case = true,
            1 => request.smart_case = true,
            2 => request.word = true,
            3 => request.line_regexp = true,
            4 => request.fixed_strings = true,
            5 => request.invert = true,
            6 => request.multiline = true,
            // As flags of ripgrep, each of the two takes the other back.
            7 => request.crlf = !request.null_data,
            8 => request.null_data = !request.crlf,
            9 => request.no_unicode = true,
            10 => request.max_count = Some(dice.u64(..3)),
            11 => request.text = true,
            12 => request.binary = true,
            13 => request.encoding = Some(["none", "utf-16le", "latin1"][dice.usize(..3)].into()),
            14 => request.globs = vec!["*1*".into()],
            15 => request.output = GrepOutput::Count,
            16 => request.output = GrepOutput::FilesWithMatches,
            17 => request.output = GrepOutput::FilesWithoutMatch,
            18 | 19 => request.output = GrepOutput::Json,
            20 => request.only_matching = true,
            21 => (request.before_context, request.after_context) = (1, 2),
            22 => request.passthru = true,
            23 => request.include_zero = true,
            24 => request.stats = true,
            _ => request.patterns.push(PATTERNS[dice.usize(..PATTERNS.len())].into()),
        }
    }
    request
}

/// Returns the output of a search, without the times that ripgrep prints.
fn printed(tree: &Files, ask: &GrepTree) -> (Result<Vec<String>>, GrepReport) {
    let mut out = Vec::new();
    let report = tree.grep(ask.clone(), |page| {
        out.extend_from_slice(page);
        Ok::<(), Error>(())
    });
    let is_told = |line: &&str| !line.contains(" seconds ");
    let untimed = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut message) if message["type"].is_string() => {
            message["data"]["elapsed_total"] = serde_json::Value::Null;
            message["data"]["stats"]["elapsed"] = serde_json::Value::Null;
            message.to_string()
        }
        _ => line.to_string(),
    };
    let text = String::from_utf8_lossy(&out).into_owned();
    match report {
        Ok(report) => (Ok(text.lines().filter(is_told).map(untimed).collect()), report),
        Err(error) => (Err(error), GrepReport::default()),
    }
}

fn ask(tree: &Files, request: GrepRequest, index: GrepIndex) -> GrepTree {
    GrepTree {
        at: tree.at(None),
        below: String::new(),
        request,
        history: false,
        cursor: None,
        bytes_max: GREP_BYTES_MAX,
        index,
        filter: None,
    }
}

/// Three versions of some hundred files in two trees, of which many share contents.
fn filled(db: &Database, dice: &mut fastrand::Rng) -> Tree {
    let (tree, other) = (db.tree("t").unwrap(), db.tree("other").unwrap());
    tree.set_retention(Retention::ALL).unwrap();
    let pool: Vec<Vec<u8>> = (0..500).map(|_| text(dice)).collect();
    for version in 0..3 {
        let files = (0..200).filter(|_| version == 0 || dice.u8(..4) == 0).collect::<Vec<u32>>();
        let files = files.into_iter().map(|number| {
            let path = format!("d{}/{}f{number}", number % 7, ["", "-", "/"][number as usize % 3]).replace("//", "/");
            file(&path, pool[dice.usize(..pool.len())].clone())
        });
        put(&tree, files.collect());
        tree.name_snapshot(&format!("v{version}")).unwrap();
    }
    put(&other, (0..100).map(|number| file(&format!("o{number}"), pool[dice.usize(..pool.len())].clone())).collect());
    tree
}

#[test]
fn a_search_with_the_index_prints_what_one_of_every_file_prints() {
    let seed =
        std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = Database::in_memory(quiet()).unwrap();
    let tree = filled(&db, &mut dice);
    let (mut indexed, mut passed_over) = (0, 0);
    for round in 0..600 {
        match round {
            100 => assert!(tree.index(true).unwrap().pending == 0),
            // Some wait again, and others are new.
            300 => {
                tree.erase("d3").unwrap();
                put(&tree, (0..40).map(|number| file(&format!("new/{number}"), text(&mut dice))).collect());
                assert!(tree.index(false).unwrap().pending > 0);
            }
            _ => {}
        }
        let request = flags(&mut dice);
        let scan = GrepTree {
            history: dice.u8(..4) == 0,
            below: ["", "", "", "d2", "d1/f1"][dice.usize(..5)].into(),
            bytes_max: [1, 2_000, 2_000, 2_000][..].get(dice.usize(..20)).copied().unwrap_or(GREP_BYTES_MAX),
            at: tree.at([None, Some("v0"), Some("v1")][dice.usize(..3)]),
            ..ask(&tree, request, GrepIndex::Never)
        };
        let with_index = GrepTree { index: GrepIndex::Always, ..scan.clone() };
        let ((expected, of_scan), (found, of_index)) = (printed(&tree, &scan), printed(&tree, &with_index));
        match (&expected, &found) {
            (Ok(expected), Ok(found)) => assert_eq!(found, expected, "seed {seed}, round {round}: {scan:?}"),
            (Err(expected), Err(found)) => assert_eq!(found.message, expected.message),
            _ => panic!("seed {seed}, round {round}: {scan:?}: {expected:?}, {found:?}"),
        }
        assert_eq!(
            (of_index.matched, &of_index.cut),
            (of_scan.matched, &of_scan.cut),
            "seed {seed}, round {round}: {scan:?}"
        );
        if of_index.read.scanned.is_none() && expected.is_ok() {
            indexed += 1;
            passed_over += of_scan.searched.saturating_sub(of_index.searched);
        }
    }
    println!("proof: {indexed} of 600 searches asked the index, and passed over {passed_over} files");
    assert!(indexed > 100 && passed_over > 1_000, "{indexed} {passed_over}");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_search_for_what_few_files_have_reads_few_and_says_so() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    let lines = |number: usize| format!("line {number} of a file\n").repeat(300).into_bytes();
    let mut files: Vec<PutFile> = (0..400).map(|number| file(&format!("f{number:03}"), lines(number))).collect();
    files.push(file("z", b"A Rare_Word stands here\n".to_vec()));
    put(&tree, files);
    let rare = GrepRequest { patterns: vec!["rare_word".into()], ignore_case: true, ..GrepRequest::default() };
    let search = |index| printed(&tree, &ask(&tree, rare.clone(), index));
    let (before, read) = search(GrepIndex::Auto);
    assert_eq!(read.searched, 401);
    let state = tree.index(true).unwrap();
    assert_eq!((state.indexed, state.pending), (401, 0));
    assert!(state.index_bytes > 0 && state.indexed_bytes > 400 * 5_000, "{state:?}");
    let (after, report) = search(GrepIndex::Auto);
    assert_eq!(after.unwrap(), before.unwrap());
    let GrepRead { scanned, files, bytes, contents, candidates, pending, .. } = report.read;
    assert_eq!((scanned, files, bytes, contents, candidates, pending), (None, 1, 24, 401, 1, 0));
    let (_, report) = search(GrepIndex::Never);
    assert!(report.read.scanned.is_some() && report.read.files == 401);
    let common = GrepRequest { patterns: vec!["of a file".into()], ..GrepRequest::default() };
    let (_, report) = printed(&tree, &ask(&tree, common, GrepIndex::Auto));
    assert_eq!(report.read.scanned.as_deref(), Some("too many contents may match"));
}

#[test]
fn the_index_follows_writes_in_the_background() {
    let db = Database::in_memory(Options { background: true, ..quiet() }).unwrap();
    let tree = db.tree("t").unwrap();
    let files = (0..300).map(|number| file(&format!("f{number}"), format!("text {number}\n").into_bytes()));
    put(&tree, files.collect());
    let began = Instant::now();
    while tree.index(false).unwrap().indexed < 256 {
        assert!(began.elapsed() < Duration::from_secs(60), "a full block is indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(tree.index(false).unwrap().pending, 44, "the block that is not full waits");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_block_of_few_contents_is_joined_with_others() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, (0..600).map(|number| file(&format!("d{}/f{number}", number / 256), vec![b'a'; number + 1])).collect());
    tree.index(true).unwrap();
    for number in 0..250 {
        tree.erase(&format!("d0/f{number}")).unwrap();
    }
    let state = tree.index(true).unwrap();
    assert_eq!((state.indexed, state.pending), (350, 0));
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
    let six = GrepRequest { patterns: vec!["^a{251}$".into()], ..GrepRequest::default() };
    let (found, report) = printed(&tree, &ask(&tree, six, GrepIndex::Always));
    assert_eq!(found.unwrap(), [format!("d0/f250:{}", "a".repeat(251))]);
    assert_eq!(report.read.scanned, None);
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Files of the folder that hold one of the needles.
fn holding(folder: &Path, needles: &[Vec<u8>]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        needles.iter().any(|needle| bytes.windows(needle.len()).any(|window| window == needle))
    };
    files_below(folder).into_iter().filter(holds).collect()
}

#[test]
fn nothing_of_what_was_erased_is_left_of_its_grams() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    let mut dice = fastrand::Rng::with_seed(7);
    let secret: Vec<u8> = std::iter::repeat_with(|| dice.u8(b'!'..0x7f)).take(6_000).collect();
    put(&tree, vec![file("secret", secret.clone())]);
    assert_eq!(tree.index(true).unwrap().indexed, 1);
    // It is alone in its block, so its grams are the rows of the block.
    let (mut set, mut block) = (GramSet::default(), BlockBuilder::default());
    assert!(set.add(&secret) && block.add(0, set.grams()));
    let rows = block.finish(1 << 20).into_iter().flat_map(|(_, pieces)| pieces);
    let windows: Vec<Vec<u8>> =
        rows.flat_map(|row| row.chunks_exact(16).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect();
    assert!(windows.len() > 100);
    assert!(!holding(folder.path(), &windows).is_empty(), "what is looked for can be found");
    put(&tree, (0..30).map(|number| file(&format!("f{number}"), format!("words {number}\n").into_bytes())).collect());
    tree.index(true).unwrap();
    tree.erase("secret").unwrap();
    assert!(tree.index(false).unwrap().pending > 20, "its neighbours wait again");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
    assert!(db.reclaim(None).unwrap().is_genuine());
    assert_eq!(holding(folder.path(), &windows), Vec::<PathBuf>::new());
    tree.index(true).unwrap();
    let request = GrepRequest {
        patterns: vec![String::from_utf8(secret[..40].to_vec()).unwrap()],
        fixed_strings: true,
        ..GrepRequest::default()
    };
    let (found, report) = printed(&tree, &ask(&tree, request, GrepIndex::Always));
    assert_eq!((found.unwrap(), report.read.scanned), (vec![], None));
    assert_eq!(report.read.candidates, 0);
}

#[test]
fn large_contents_are_indexed_part_by_part() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    // Distinct lines, so that chunks are, and a word across each end of a MiB.
    let mut log: Vec<u8> = (0..600_000).flat_map(|line| format!("line {line:06}\n").into_bytes()).collect();
    let words: Vec<String> = (1..6).map(|part| format!("xq{part}zw")).collect();
    for (part, word) in (1..).zip(&words) {
        log[(part << 20) - 3..][..word.len()].copy_from_slice(word.as_bytes());
    }
    assert!(log.len() > 6 << 20);
    let binary = [&log[..], b"\0"].concat();
    put(&tree, vec![file("log", log), file("binary", binary)]);
    tree.index(true).unwrap();
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
    let read = |pattern: &str| {
        let request = || GrepRequest { patterns: vec![pattern.into()], ..GrepRequest::default() };
        let (expected, _) = printed(&tree, &ask(&tree, request(), GrepIndex::Never));
        let (found, report) = printed(&tree, &ask(&tree, request(), GrepIndex::Always));
        assert_eq!(found.as_ref().unwrap(), expected.as_ref().unwrap(), "{pattern}");
        (found.unwrap().is_empty(), report.read.files)
    };
    for word in &words {
        assert_eq!(read(word), (false, 2), "{word}");
    }
    assert_eq!(read("nowhere_at_all"), (true, 1), "a binary content is read always, a large one is not");
}

#[test]
fn tenants_have_indexes_of_their_own_and_snapshots_the_index_of_then() {
    let db = Database::in_memory(quiet()).unwrap();
    db.create_tenant("acme").unwrap();
    let acme = db.tenant("acme").unwrap();
    let mut dice = fastrand::Rng::with_seed(3);
    let (own, theirs) = (filled(&db, &mut dice), filled(&acme, &mut dice));
    own.index(true).unwrap();
    assert_eq!(theirs.index(false).unwrap().indexed, 0);
    theirs.index(true).unwrap();
    let then = db.snapshot().unwrap();
    own.erase("").unwrap();
    put(&own, vec![file("a", b"needle\n".to_vec())]);
    for files in [&*own, &*theirs, &then.tree("t").unwrap()] {
        let request = || GrepRequest { patterns: vec!["mutex_lock".into()], ..GrepRequest::default() };
        let (expected, _) = printed(files, &ask(files, request(), GrepIndex::Never));
        let (found, report) = printed(files, &ask(files, request(), GrepIndex::Always));
        assert_eq!((found.unwrap(), report.read.scanned), (expected.unwrap(), None));
    }
    for tree in [own, theirs] {
        assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
    }
}
