//! `rm` and `ls`.

use crate::support::Place;

#[test]
fn a_file_goes_with_its_passages_and_can_be_added_again() {
    let place = Place::with_documents();
    let ran = place.run(&["rm", "alpha.md"]).succeeds();
    assert!(ran.out.starts_with("Removed 1 file, "), "{}", ran.out);
    place.run(&["search", "osprey"]).ends(1);
    assert!(place.path().join("alpha.md").exists());
    assert!(place.run(&["add", ".", "--embedder", "none"]).succeeds().out.contains("1 added, 0 changed, 2 unchanged"));
}

#[test]
fn a_folder_goes_with_everything_below_also_when_it_is_gone_from_the_disk() {
    let place = Place::with_documents();
    std::fs::remove_dir_all(place.path().join("sub")).unwrap();
    assert_eq!(place.json(&["rm", "sub", "--json"])["files"], 1);
    assert_eq!(place.files().len(), 2);
}

#[test]
fn a_record_goes_by_its_id() {
    let place = Place::with_documents();
    let rows = place.rows();
    assert_eq!(place.json(&["rm", "sub/note.txt#0", "--json"])["records"], 1);
    assert_eq!(place.rows(), rows - 1);
}

#[test]
fn files_that_pass_a_filter_whole_are_forgotten_so_that_add_takes_them_again() {
    let place = Place::with_documents();
    let removed = place.json(&["rm", "--where", "lang = 'rust' or kind = 'markdown'", "--json"]);
    assert_eq!(removed["files"], 2);
    assert_eq!(place.files(), [("sub/note.txt".to_string(), 1)]);
    assert_eq!(place.rows(), 1);
    place.run(&["rm", "--where", "lang = "]).ends(2);
    assert!(place.run(&["add", ".", "--embedder", "none"]).succeeds().out.contains("2 added, 0 changed, 1 unchanged"));
}

#[test]
fn what_is_not_there_is_named() {
    let place = Place::with_documents();
    let ran = place.run(&["rm", "ghost.md", "code.rs"]).ends(1);
    assert!(ran.err.contains("ghost.md") && ran.out.contains("1 file"), "{}{}", ran.err, ran.out);
}

#[test]
fn a_collection_is_dropped_only_with_yes() {
    let place = Place::with_documents();
    let ran = place.run(&["rm", "--all"]).ends(2);
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(place.files().len(), 3);
    assert!(place.run(&["rm", "--all", "--yes"]).succeeds().out.contains("collection documents, 3 files"));
    assert!(place.run(&["ls"]).ends(3).err.contains("documents"));
    place.run(&["ls", "--collections"]).ends(1);
}

#[test]
fn ls_shows_a_folder_or_the_collections() {
    let place = Place::with_documents();
    let out = place.run(&["ls", "sub"]).succeeds().out;
    assert!(out.contains("sub/note.txt") && !out.contains("alpha.md"), "{out}");
    place.run(&["ls", "nowhere"]).ends(1);
    let collections = place.json(&["ls", "--collections", "--json"]);
    assert_eq!(collections[0]["name"], "documents");
    assert_eq!(collections[0]["rows"], place.rows());
}

#[test]
fn what_was_removed_is_in_no_file_after_a_reclaim_and_the_receipt_says_which_went() {
    let place = Place::with_documents();
    let holds = || {
        let files = crate::support::files_below(&place.data());
        let held = files.iter().filter(|file| {
            let bytes = std::fs::read(place.data().join(file)).unwrap();
            bytes.windows(8).any(|at| at == b"note.txt")
        });
        held.count()
    };
    assert!(holds() > 0);
    place.run(&["rm", "sub/note.txt"]).succeeds();
    place.run(&["reclaim", "--list"]).ends(1);
    let receipt = place.json(&["reclaim", "--json"]);
    assert_eq!(holds(), 0);
    assert!(!receipt["removed"].as_array().unwrap().is_empty());
    assert_eq!(place.json(&["reclaim", "--list", "--json"])[0], receipt);
    let shown = place.run(&["reclaim", "--list"]).succeeds().out;
    assert!(shown.contains(receipt["checksum"].as_str().unwrap()), "{shown}");
    place.run(&["reclaim", "--collection", "nothing"]).ends(3);
}

#[test]
fn records_are_removed_by_the_beginning_of_their_ids_and_reclaimed_with_them() {
    let place = Place::with_documents();
    let rows = place.rows();
    let prefix = place.path().join("alpha.md").to_string_lossy().into_owned();
    let removed = place.json(&["rm", "--prefix", &prefix, "--reclaim", "--json"]);
    let records = removed["records"].as_u64().unwrap();
    assert!(records > 0 && place.rows() == rows - records, "{removed}");
    assert_eq!(removed["receipt"]["collection"], "documents");
}
