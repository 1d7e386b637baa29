//! Contents stored from a folder can be restored into one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use nuthatch_link::{
    ChangeKind, Database, DiffTrees, ErrorKind, Options, PutFile, PutFiles, PutWhat, Tree, TreeChange,
};
use nuthatch_worktree::{AddOptions, Added, RestoreOptions, Side, Walk, add, compare, patch, restore, with_similar};

fn database() -> Database {
    Database::in_memory(Options::default()).unwrap()
}

/// Everything, hidden or ignored.
fn all() -> Walk {
    Walk { hidden: true, respect_ignore: false, leave_out: Vec::new() }
}

fn store(tree: &Tree, folder: &Path) -> Added {
    add(tree, folder, AddOptions { walk: all(), ..AddOptions::default() }).unwrap()
}

/// A folder with whatever a folder may have.
fn filled(folder: &Path) {
    let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(9 << 20).collect();
    fs::create_dir_all(folder.join("deep/er/empty")).unwrap();
    fs::write(folder.join("empty"), b"").unwrap();
    fs::write(folder.join("small.txt"), b"one\ntwo\nthree\n").unwrap();
    fs::write(folder.join("deep/er/large.bin"), &noise).unwrap();
    fs::write(folder.join("deep/Ünïcode name"), b"a").unwrap();
    fs::write(folder.join(".hidden"), b"h").unwrap();
    fs::write(folder.join(".gitignore"), b"ignored\n").unwrap();
    fs::write(folder.join("ignored"), b"i").unwrap();
    fs::write(folder.join("run.sh"), b"#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("empty"), fs::Permissions::from_mode(0o400)).unwrap();
    symlink("small.txt", folder.join("link")).unwrap();
    symlink("/nowhere/at all", folder.join("deep/dangling")).unwrap();
    fs::set_permissions(folder.join("deep/er/empty"), fs::Permissions::from_mode(0o500)).unwrap();
}

type Seen = BTreeMap<String, (u32, i64, i64, Vec<u8>)>;

/// Modes, times and bytes by path.
fn seen(folder: &Path) -> Seen {
    let mut found = Seen::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = match metadata.file_type() {
                kind if kind.is_symlink() => path.read_link().unwrap().into_os_string().into_encoded_bytes(),
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                _ => fs::read(&path).unwrap(),
            };
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_string();
            found.insert(name, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), bytes));
        }
    }
    found
}

#[test]
fn a_restored_folder_equals_the_one_that_was_stored() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let (from, to) = (home.path().join("from"), home.path().join("a/b/to"));
    filled(&from);
    let tree = db.tree("t").unwrap();
    let added = store(&tree, &from);
    assert_eq!((added.added, added.skipped.len()), (13, 0), "{added:?}");
    let restored = restore(&tree, None, &to, &RestoreOptions::default()).unwrap();
    assert_eq!((restored.files, restored.folders, restored.links, restored.skipped.len()), (8, 3, 2, 0));
    assert_eq!(seen(&from), seen(&to));
    let beside: Vec<_> = fs::read_dir(home.path().join("a/b")).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing is left beside it");
}

#[test]
fn every_snapshot_is_restored_as_the_folder_was() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    filled(&folder);
    let tree = db.tree("t").unwrap();
    let mut states = Vec::new();
    for round in 0..4 {
        fs::write(folder.join("small.txt"), format!("round {round}\n")).unwrap();
        fs::write(folder.join(format!("new {round}")), [round; 5_000]).unwrap();
        if round > 0 {
            fs::remove_file(folder.join(format!("new {}", round - 1))).unwrap();
        }
        store(&tree, &folder);
        let name = format!("v{round}");
        tree.name_snapshot(&name).unwrap();
        states.push((name, seen(&folder)));
    }
    for (name, state) in states {
        let to = home.path().join(&name);
        restore(&tree, Some(&name), &to, &RestoreOptions::default()).unwrap();
        assert_eq!(seen(&to), state, "{name}");
    }
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_folder_that_did_not_change_is_not_read_again() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    filled(&folder);
    let tree = db.tree("t").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for name in ["small.txt", "deep/er/large.bin", "run.sh", "ignored", ".gitignore", ".hidden", "deep/Ünïcode name"]
    {
        fs::File::open(folder.join(name)).unwrap().set_modified(old).unwrap();
    }
    fs::File::open(folder.join("empty")).unwrap().set_modified(old).unwrap();
    store(&tree, &folder);
    let (before, again) = (tree.info().unwrap(), store(&tree, &folder));
    assert_eq!((again.unchanged, again.bytes_read, again.changed), (13, 0, 0));
    assert_eq!(tree.info().unwrap(), before, "nothing was written");
    // Bytes that changed without a change of the size are seen by the time; so soon after it was stored, even without.
    fs::write(folder.join("small.txt"), b"one\ntwo\nthreE\n").unwrap();
    assert_eq!(store(&tree, &folder).changed, 1);
}

#[test]
fn what_the_folder_has_no_longer_goes_and_keeps_its_versions() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/a"), b"a").unwrap();
    fs::write(folder.join("b"), b"b").unwrap();
    let tree = db.tree("t").unwrap();
    store(&tree, &folder);
    fs::remove_dir_all(folder.join("sub")).unwrap();
    let kept = add(&tree, &folder, AddOptions { keep_missing: true, ..AddOptions::default() }).unwrap();
    assert_eq!(kept.gone, 0);
    assert_eq!(store(&tree, &folder).gone, 2);
    assert_eq!(tree.entry(None, "sub/a").unwrap(), None);
    assert_eq!(tree.versions("sub/a").unwrap().len(), 2, "one that was there, one that says it is gone");
    // Below a path of the tree, the rest of the tree is nobody's business.
    add(&tree, &folder, AddOptions { below: "copy".into(), ..AddOptions::default() }).unwrap();
    assert!(tree.entry(None, "b").unwrap().is_some() && tree.entry(None, "copy/b").unwrap().is_some());
    let file =
        add(&tree, &folder.join("b"), AddOptions { below: "copy/deep".into(), ..AddOptions::default() }).unwrap();
    assert_eq!((file.added, file.gone), (1, 0));
    assert!(tree.entry(None, "copy/deep/b").unwrap().is_some());
}

#[test]
fn ignored_and_hidden_files_stay_out_unless_asked_for() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    filled(&folder);
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), b"").unwrap();
    let tree = db.tree("t").unwrap();
    let names = |walk: Walk| {
        add(&tree, &folder, AddOptions { walk, ..AddOptions::default() }).unwrap();
        let page = tree.list(None, "", None, 100).unwrap();
        page.entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>()
    };
    let shy = names(Walk::default());
    assert!(!shy.iter().any(|name| name.starts_with('.') || name == "ignored"), "{shy:?}");
    let hidden = names(Walk { hidden: true, ..Walk::default() });
    assert!(hidden.contains(&".hidden".into()) && !hidden.contains(&"ignored".into()), "{hidden:?}");
    assert!(!hidden.iter().any(|name| name.starts_with(".git/")));
    let whole = names(all());
    assert!(whole.contains(&".git/config".into()) && whole.contains(&"ignored".into()), "{whole:?}");
    let without = names(Walk { leave_out: vec![folder.join("deep")], ..all() });
    assert!(!without.iter().any(|name| name.starts_with("deep")), "{without:?}");
}

#[test]
fn a_folder_that_has_something_is_left_alone_unless_overwriting_is_allowed() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let (from, to) = (home.path().join("from"), home.path().join("to"));
    filled(&from);
    fs::create_dir(&to).unwrap();
    fs::write(to.join("mine"), b"mine").unwrap();
    fs::write(to.join("small.txt"), b"mine").unwrap();
    let tree = db.tree("t").unwrap();
    store(&tree, &from);
    let refused = restore(&tree, None, &to, &RestoreOptions::default()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert_eq!(seen(&to).len(), 2);
    let listed = restore(&tree, None, &to, &RestoreOptions { dry_run: true, ..RestoreOptions::default() }).unwrap();
    assert_eq!((listed.paths.len(), seen(&to).len()), (13, 2), "a dry run writes nothing");
    restore(&tree, None, &to, &RestoreOptions { overwrite: true, ..RestoreOptions::default() }).unwrap();
    assert_eq!(fs::read(to.join("mine")).unwrap(), b"mine");
    assert_eq!(fs::read(to.join("small.txt")).unwrap(), b"one\ntwo\nthree\n");
}

#[test]
fn globs_and_a_place_choose_what_is_restored() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let from = home.path().join("from");
    filled(&from);
    let tree = db.tree("t").unwrap();
    store(&tree, &from);
    let names = |to: &str, options: RestoreOptions<'_>| {
        let to = home.path().join(to);
        restore(&tree, None, &to, &options).unwrap();
        seen(&to).into_keys().collect::<Vec<_>>()
    };
    let globs = |globs: &[&str]| RestoreOptions {
        globs: globs.iter().map(ToString::to_string).collect(),
        ..RestoreOptions::default()
    };
    assert_eq!(names("one", globs(&["*.bin"])), ["deep", "deep/er", "deep/er/large.bin"]);
    assert_eq!(names("two", globs(&["*.txt", "run.sh"])), ["run.sh", "small.txt"]);
    let below = RestoreOptions { below: "deep/er".into(), ..RestoreOptions::default() };
    assert_eq!(names("three", below), ["empty", "large.bin"]);
    let file = RestoreOptions { below: "small.txt".into(), ..RestoreOptions::default() };
    assert_eq!(names("four", file), ["small.txt"]);
}

#[test]
fn nothing_is_written_outside_of_the_target() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let (outside, to) = (home.path().join("outside"), home.path().join("to"));
    fs::create_dir(&outside).unwrap();
    let tree = db.tree("t").unwrap();
    // A tree that no folder can hold: a link, and a file behind it.
    let link = PutWhat::Link(outside.to_str().unwrap().into());
    let put = |path: &str, what| PutFile { path: path.into(), mode: 0o644, modified_ns: 0, what };
    let files =
        vec![put("a", link), put("a/planted", PutWhat::File(b"x".to_vec())), put("b", PutWhat::File(b"b".to_vec()))];
    tree.put(PutFiles { files, ..PutFiles::default() }).unwrap();
    let restored = restore(&tree, None, &to, &RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(restored.skipped.len(), 1, "the link has no place: {restored:?}");
    // A link that is there already is not followed either.
    let trap = home.path().join("trap");
    fs::create_dir(&trap).unwrap();
    symlink(&outside, trap.join("a")).unwrap();
    let over = restore(&tree, None, &trap, &RestoreOptions { overwrite: true, ..RestoreOptions::default() }).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(over.skipped.iter().any(|skipped| skipped.path.ends_with("a/planted")), "{over:?}");
    assert_eq!(fs::read(trap.join("b")).unwrap(), b"b");
}

fn changes(tree: &Tree, from: &str, to: &str) -> Vec<TreeChange> {
    let ask = DiffTrees { from: tree.at(Some(from)), to: tree.at(Some(to)), ..DiffTrees::default() };
    with_similar(tree.diff(ask).unwrap(), Side::Tree(tree), Side::Tree(tree)).unwrap()
}

#[test]
fn patches_are_what_git_applies() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    fs::create_dir_all(folder.join("sub")).unwrap();
    let long: String = (0..200).map(|line| format!("line {line}\n")).collect();
    fs::write(folder.join("long.txt"), &long).unwrap();
    fs::write(folder.join("moved.txt"), &long[..1_000]).unwrap();
    fs::write(folder.join("no-end"), "no line end").unwrap();
    fs::write(folder.join("gone.txt"), "gone\n").unwrap();
    fs::write(folder.join("script"), "x\n").unwrap();
    symlink("long.txt", folder.join("link")).unwrap();
    let tree = db.tree("t").unwrap();
    store(&tree, &folder);
    tree.name_snapshot("v1").unwrap();
    fs::write(folder.join("long.txt"), long.replace("line 100\n", "LINE 100\n").replace("line 5\n", "")).unwrap();
    fs::write(folder.join("sub/moved and changed.txt"), long[..1_000].replace("line 7\n", "other\n")).unwrap();
    fs::remove_file(folder.join("moved.txt")).unwrap();
    fs::write(folder.join("no-end"), "still none").unwrap();
    fs::remove_file(folder.join("gone.txt")).unwrap();
    fs::write(folder.join("new \"quoted\"\tname"), "new\n").unwrap();
    fs::set_permissions(folder.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(folder.join("link")).unwrap();
    symlink("no-end", folder.join("link")).unwrap();
    store(&tree, &folder);
    tree.name_snapshot("v2").unwrap();

    let found = changes(&tree, "v1", "v2");
    let kinds: Vec<(ChangeKind, &str)> =
        found.iter().filter(|change| change.path != "sub").map(|change| (change.kind, change.path.as_str())).collect();
    assert_eq!(
        kinds,
        [
            (ChangeKind::Removed, "gone.txt"),
            (ChangeKind::Modified, "link"),
            (ChangeKind::Modified, "long.txt"),
            (ChangeKind::Added, "new \"quoted\"\tname"),
            (ChangeKind::Modified, "no-end"),
            (ChangeKind::Mode, "script"),
            (ChangeKind::Renamed, "sub/moved and changed.txt"),
        ]
    );
    let texts = found.iter().map(|change| patch(change, Side::Tree(&tree), Side::Tree(&tree), 3).unwrap());
    let whole: Vec<u8> = texts.flat_map(|patch| patch.text).collect();
    let target = home.path().join("target");
    restore(&tree, Some("v1"), &target, &RestoreOptions::default()).unwrap();
    let file = home.path().join("changes.patch");
    fs::write(&file, &whole).unwrap();
    let run = |arguments: &[&str]| {
        let ran = std::process::Command::new("git").args(arguments).current_dir(&target).output().unwrap();
        assert!(ran.status.success(), "{}\n{}", String::from_utf8_lossy(&ran.stderr), String::from_utf8_lossy(&whole));
    };
    run(&["init", "-q"]);
    run(&["apply", file.to_str().unwrap()]);
    fs::remove_dir_all(target.join(".git")).unwrap();
    let bytes = |folder: &Path| -> BTreeMap<String, Vec<u8>> {
        seen(folder).into_iter().filter(|(name, _)| name != "sub").map(|(name, (.., bytes))| (name, bytes)).collect()
    };
    assert_eq!(bytes(&target), bytes(&folder));
}

#[test]
fn patches_of_random_texts_are_what_git_applies() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    // Few different lines, so that many stand for each other; some texts are empty, some end without a line's end.
    let mut text = |lines: usize| -> Vec<u8> {
        let mut text: String = (0..lines).map(|_| format!("{}\n", dice.u8(0..6))).collect();
        if dice.bool() {
            text.pop();
        }
        text.into_bytes()
    };
    let (old, new): (Vec<_>, Vec<_>) = (0..60).map(|lines| (text(lines / 2), text(lines / 3))).unzip();
    fs::create_dir_all(&folder).unwrap();
    let tree = db.tree("t").unwrap();
    for (name, texts) in [("v1", &old), ("v2", &new)] {
        texts.iter().enumerate().for_each(|(at, text)| fs::write(folder.join(at.to_string()), text).unwrap());
        store(&tree, &folder);
        tree.name_snapshot(name).unwrap();
    }
    // Without context, git may take another line than the one that a hunk names.
    for context in [1, 3] {
        let changes = tree
            .diff(DiffTrees { from: tree.at(Some("v1")), to: tree.at(Some("v2")), ..DiffTrees::default() })
            .unwrap();
        let whole: Vec<u8> = changes
            .iter()
            .flat_map(|change| patch(change, Side::Tree(&tree), Side::Tree(&tree), context).unwrap().text)
            .collect();
        let target = home.path().join(format!("target{context}"));
        fs::create_dir_all(&target).unwrap();
        old.iter().enumerate().for_each(|(at, text)| fs::write(target.join(at.to_string()), text).unwrap());
        let file = home.path().join("changes.patch");
        fs::write(&file, &whole).unwrap();
        for arguments in [&["init", "-q"][..], &["apply", file.to_str().unwrap()]] {
            let ran = std::process::Command::new("git").args(arguments).current_dir(&target).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
        for (at, text) in new.iter().enumerate() {
            let made = fs::read(target.join(at.to_string())).unwrap();
            assert_eq!(&made, text, "context {context}, file {at}: {}", String::from_utf8_lossy(&whole));
        }
    }
}

#[test]
fn a_tree_and_a_folder_are_compared_by_their_bytes() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    filled(&folder);
    let tree = db.tree("t").unwrap();
    store(&tree, &folder);
    let differing = |renames| compare(&tree, None, "", &folder, &all(), renames).unwrap().0;
    assert_eq!(differing(true), []);
    // Another time alone is no difference, other bytes of the same size are.
    fs::File::open(folder.join("run.sh")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    fs::write(folder.join("small.txt"), b"one\ntwo\nthreE\n").unwrap();
    fs::rename(folder.join("deep/er/large.bin"), folder.join("large.bin")).unwrap();
    let kinds =
        |changes: &[TreeChange]| changes.iter().map(|change| (change.kind, change.path.clone())).collect::<Vec<_>>();
    let (renamed, modified) = ((ChangeKind::Renamed, "large.bin".into()), (ChangeKind::Modified, "small.txt".into()));
    assert_eq!(kinds(&differing(true)), [renamed, modified.clone()]);
    assert_eq!(differing(false).len(), 3);
    let text = patch(&differing(true)[1], Side::Tree(&tree), Side::Folder(&folder, ""), 1).unwrap();
    assert!(String::from_utf8(text.text).unwrap().ends_with("@@ -2,2 +2,2 @@\n two\n-three\n+threE\n"));
    assert_eq!((text.added, text.removed), (1, 1));
}

#[test]
fn what_cannot_be_read_is_named_and_keeps_what_the_tree_has() {
    let (db, home) = (database(), tempfile::tempdir().unwrap());
    let folder = home.path().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a"), b"a").unwrap();
    let tree = db.tree("t").unwrap();
    store(&tree, &folder);
    fs::remove_file(folder.join("a")).unwrap();
    // A socket has the name now.
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("a")).unwrap();
    let added = store(&tree, &folder);
    assert_eq!((added.skipped.len(), added.gone), (1, 0), "{added:?}");
    assert!(added.skipped[0].path.ends_with("a") && added.skipped[0].why.contains("neither"));
    assert!(tree.entry(None, "a").unwrap().is_some());
}
