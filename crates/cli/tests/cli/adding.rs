//! `add`: incremental, honest about what it leaves out.

use crate::support::{Place, Ran};

fn counts(ran: &Ran) -> [u64; 4] {
    let files = &ran.json()["files"];
    ["added", "changed", "unchanged", "pruned"].map(|name| files[name].as_u64().unwrap())
}

fn add(place: &Place, more: &[&str]) -> Ran {
    let arguments = [&["add", ".", "--embedder", "none", "--json"], more].concat();
    place.run(&arguments).succeeds()
}

#[test]
fn adding_twice_reads_nothing_the_second_time() {
    let place = Place::with_documents();
    let rows = place.rows();
    let second = add(&place, &[]);
    assert_eq!(counts(&second), [0, 0, 3, 0]);
    assert_eq!(second.json()["bytes_read"], 0);
    assert_eq!(place.rows(), rows);
}

#[test]
fn a_changed_file_replaces_its_passages() {
    let place = Place::with_documents();
    place.write("sub/note.txt", "Now it is about a cormorant that dries its wings.\n");
    let second = add(&place, &[]);
    assert_eq!(counts(&second), [0, 1, 2, 0]);
    assert_eq!(second.json()["passages"]["removed"], 1);
    place.run(&["search", "kingfisher"]).ends(1);
    assert!(place.run(&["search", "cormorant"]).succeeds().out.contains("sub/note.txt:1"));
}

#[test]
fn a_touched_file_is_not_a_changed_one() {
    let place = Place::with_documents();
    let text = std::fs::read(place.path().join("alpha.md")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.write("alpha.md", text);
    assert_eq!(counts(&add(&place, &[])), [0, 0, 3, 0]);
}

#[test]
fn vanished_files_stay_until_they_are_pruned() {
    let place = Place::with_documents();
    std::fs::remove_file(place.path().join("code.rs")).unwrap();
    assert_eq!(counts(&add(&place, &[])), [0, 0, 2, 0]);
    place.run(&["search", "herons"]).succeeds();
    assert_eq!(counts(&add(&place, &["--prune"])), [0, 0, 2, 1]);
    place.run(&["search", "herons"]).ends(1);
    assert_eq!(place.files().len(), 2);
}

#[test]
fn what_cannot_be_read_is_named_with_a_reason_and_does_not_stop_the_rest() {
    let place = Place::new();
    place.write("good.md", "# Good\n\nA plain file.\n");
    place.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01");
    place.write("latin.txt", b"Gr\xfc\xdfe aus dem alten Jahrhundert, ohne UTF-8 geschrieben.\n");
    place.write("broken.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog");
    place.write("large.txt", "word ".repeat(40_000));
    let ran = place.run(&["add", ".", "--embedder", "none", "--max-file-bytes", "100KiB"]).succeeds();
    for (file, word) in [
        ("picture.png", "binary"),
        ("latin.txt", "not UTF-8"),
        ("broken.pdf", "broken"),
        ("large.txt", "over the limit"),
    ] {
        let line = ran.out.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{file} in\n{}", ran.out));
        assert!(line.contains(word), "{line}");
        // A binary is left out by design; the others should have been readable.
        assert_eq!(line.starts_with("skipped"), file == "picture.png", "{line}");
    }
    assert!(ran.out.contains("1 added, 0 changed, 0 unchanged, 4 skipped"), "{}", ran.out);
}

#[test]
fn a_file_that_becomes_unreadable_takes_its_old_passages_along() {
    let place = Place::with_documents();
    place.write("sub/note.txt", b"kingfisher \xff\xfe\xfa not text any more");
    add(&place, &[]);
    place.run(&["search", "kingfisher"]).ends(1);
}

#[test]
fn a_lone_file_that_cannot_be_taken_is_no_success() {
    let place = Place::new();
    place.write("broken.pdf", b"%PDF-1.7\nnothing");
    place.run(&["add", "broken.pdf", "--embedder", "none"]).ends(1);
}

#[test]
fn ignored_and_hidden_files_stay_out_until_asked_for() {
    let place = Place::new();
    place.write(".gitignore", "secret/\n");
    place.write("secret/a.txt", "An ignored text.\n");
    place.write(".hidden.txt", "A hidden text.\n");
    place.write("open.txt", "An open text.\n");
    let names = |place: &Place| place.files().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    add(&place, &[]);
    assert_eq!(names(&place), ["open.txt"]);
    add(&place, &["--hidden"]);
    assert!(names(&place).contains(&".hidden.txt".to_string()), "{:?}", names(&place));
    assert!(names(&place).iter().all(|name| !name.starts_with(".nuthatch/")), "{:?}", names(&place));
    add(&place, &["--no-ignore"]);
    assert!(names(&place).contains(&"secret/a.txt".to_string()), "{:?}", names(&place));
}

#[test]
fn a_path_that_does_not_exist_creates_nothing() {
    let place = Place::new();
    let ran = place.run(&["add", "nowhere", "--embedder", "none"]).ends(3);
    assert!(ran.err.contains("nowhere does not exist"), "{}", ran.err);
    assert!(!place.data().exists());
}

#[test]
fn the_report_has_files_passages_seconds_and_memory() {
    let place = Place::new();
    place.write("a.md", "# A\n\nText.\n");
    let ran = add(&place, &[]);
    let report = ran.json();
    assert!(
        report["seconds"].as_f64().unwrap() > 0.0 && report["passages_per_second"].as_f64().unwrap() > 0.0,
        "{report}"
    );
    if cfg!(target_os = "linux") {
        let memory = &report["memory"];
        assert!(
            memory["anonymous_bytes_max"].as_u64().unwrap() >= memory["anonymous_bytes"].as_u64().unwrap(),
            "{report}"
        );
        assert!(memory["anonymous_bytes"].as_u64().unwrap() > 0, "{report}");
    }
}

#[test]
fn tags_and_fields_are_given_and_taken_away_without_reading_files_again() {
    let place = Place::with_documents();
    let count = |condition: &str| {
        let found = place.run(&["count", condition, "--json"]).succeeds().json();
        found["count"].as_u64().unwrap()
    };
    place
        .run(&["add", ".", "--embedder", "none", "--tag", "birds", "--meta", "year=2026", "--meta", "by=anna"])
        .succeeds();
    assert_eq!(count("tags contains 'birds' and year = 2026 and by = 'anna'"), place.rows());
    let said = place.run(&["tag", "sub", "--add", "wet", "--remove", "birds", "--unset", "by"]).succeeds();
    assert_eq!(said.out, "Changed 2 records.\n", "a change to add, and one to remove");
    assert_eq!((count("tags contains 'wet'"), count("exists(by)")), (1, place.rows() - 1));
    let by_condition = place.json(&["tag", "--where", "year = 2026", "--meta", "year=2027", "--json"]);
    assert_eq!(by_condition["updated"], place.rows());
    place.write("sub/note.txt", "A kingfisher needs clear water, and patience.\n");
    place.run(&["add", ".", "--embedder", "none"]).succeeds();
    assert_eq!(count("tags contains 'wet' and year = 2027"), 1, "a file that changes keeps them");

    assert!(place.run(&["tag", "sub", "--add", "x", "--remove", "x"]).ends(2).err.contains("name it once"));
    assert!(place.run(&["tag", "sub"]).ends(2).err.contains("at least one"));
    assert!(place.run(&["tag", "sub", "--meta", "path=x"]).ends(2).err.contains("path"));
    assert!(place.run(&["tag", "nowhere.md", "--add", "x"]).ends(1).err.contains("neither a file nor a record"));
    assert!(place.run(&["add", ".", "--meta", "=x"]).ends(2).err.contains("FIELD=VALUE"));
}
