//! Which files a walk finds.

use std::fs;
use std::path::Path;

use nuthatch_extract::{ExtractError, WalkOptions, walk};

/// Names relative to the root, errors as `! message`.
fn names(root: &Path, options: &WalkOptions) -> Vec<String> {
    let root = root.canonicalize().unwrap();
    walk(&root, options)
        .map(|entry| match entry {
            Ok(file) => file.path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(),
            Err(error) => format!("! {error}"),
        })
        .collect()
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

#[test]
fn files_come_in_byte_order_of_their_names() {
    let folder = tree(&[("b/z", "1"), ("b/Z", "1"), ("a", "1"), ("b.txt", "1"), ("c/x", "1")]);
    assert_eq!(names(folder.path(), &WalkOptions::default()), ["a", "b/Z", "b/z", "b.txt", "c/x"]);
}

#[test]
fn gitignore_counts_outside_a_repository_too() {
    let folder = tree(&[(".gitignore", "build/\n*.tmp\n"), ("build/x", "1"), ("a.tmp", "1"), ("a.md", "1")]);
    assert_eq!(names(folder.path(), &WalkOptions::default()), ["a.md"]);
    let all = WalkOptions { respect_ignore: false, ..WalkOptions::default() };
    assert_eq!(names(folder.path(), &all), ["a.md", "a.tmp", "build/x"]);
}

#[test]
fn hidden_files_are_an_option_and_git_never_is() {
    let folder = tree(&[(".git/config", "1"), (".notes/a", "1"), ("b", "1")]);
    assert_eq!(names(folder.path(), &WalkOptions::default()), ["b"]);
    let hidden = WalkOptions { hidden: true, ..WalkOptions::default() };
    assert_eq!(names(folder.path(), &hidden), [".notes/a", "b"]);
}

#[test]
fn a_file_as_root_yields_itself_even_when_ignored() {
    let folder = tree(&[(".gitignore", "*"), ("a.md", "12345")]);
    let found: Vec<_> = walk(&folder.path().join("./a.md"), &WalkOptions::default()).map(Result::unwrap).collect();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.clone(), found[0].bytes), (folder.path().canonicalize().unwrap().join("a.md"), 5));
    assert!(found[0].mtime_ns > 1_500_000_000_000_000_000);
}

#[test]
fn a_missing_path_is_one_error_that_names_it() {
    let errors: Vec<_> = walk(Path::new("no/such/folder"), &WalkOptions::default()).collect();
    assert_eq!(errors.len(), 1);
    let message = errors[0].as_ref().unwrap_err().to_string();
    assert!(message.contains("no/such/folder"), "{message}");
}

#[test]
fn a_large_file_is_an_error_and_the_walk_goes_on() {
    let folder = tree(&[("a", "123456"), ("b", "1")]);
    let options = WalkOptions { max_file_bytes: 5, ..WalkOptions::default() };
    let found: Vec<_> = walk(folder.path(), &options).collect();
    assert!(matches!(found[0], Err(ExtractError::TooLarge { bytes: 6, limit: 5, .. })), "{found:?}");
    assert!(found[1].is_ok());
}

#[cfg(unix)]
#[test]
fn loops_of_links_end() {
    let folder = tree(&[("a/x", "1")]);
    std::os::unix::fs::symlink("..", folder.path().join("a/up")).unwrap();
    assert_eq!(names(folder.path(), &WalkOptions::default()), ["a/x"]);
    let follow = WalkOptions { follow_links: true, ..WalkOptions::default() };
    let found = names(folder.path(), &follow);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|n| n.starts_with("! ") && n.contains("link back")), "{found:?}");
}
