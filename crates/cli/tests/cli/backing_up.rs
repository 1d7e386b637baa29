//! `backup`, `restore`, `export`, `import`, `migrate`.

use serde_json::json;

use crate::support::{Place, files_below};

#[test]
fn a_backup_is_listed_checked_restored_and_deleted() {
    let place = Place::with_documents();
    place.run(&["backup", "backups", "--list"]).ends(3);
    let first = place.run(&["backup", "backups"]).succeeds();
    assert!(first.out.starts_with("backed up  000001-"), "{}", first.out);
    place.write("more.md", "# More\n\nA heron waits.\n");
    place.run(&["add", ".", "--embedder", "none"]).succeeds();
    let second = place.json(&["backup", "backups", "--json"]);
    assert_eq!(second["backup"]["left_out"], json!([]));
    let listed = place.json(&["backup", "backups", "--list", "--json"]);
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert!(place.run(&["backup", "backups", "--list"]).succeeds().out.contains(ids[0]));
    assert!(place.run(&["backup", "backups", "--verify"]).succeeds().out.starts_with("well  2 backups"));

    place.run(&["restore", "backups", "again"]).succeeds();
    let again = |arguments: &[&str]| place.run(&[arguments, &["--data-dir", "again"]].concat());
    assert_eq!(again(&["search", "heron waits"]).succeeds().out, place.run(&["search", "heron waits"]).succeeds().out);
    again(&["doctor"]).succeeds();
    place.run(&["restore", "backups", "old", "--backup", ids[0]]).succeeds();
    place.run(&["search", "heron waits", "--data-dir", "old"]).ends(0);
    assert_eq!(place.json(&["ls", "--json", "--data-dir", "old"]).as_array().unwrap().len(), 3);
    assert!(place.run(&["restore", "backups", "again"]).ends(2).err.contains("not empty"));
    place.run(&["restore", "backups", "new", "--backup", "000009-x"]).ends(3);

    let deleted = place.json(&["backup", "backups", "--delete", ids[0], "--json"]);
    assert_eq!(deleted["backups"], json!([ids[0]]));
    place.run(&["backup", "backups", "--keep", "1"]).succeeds();
    assert_eq!(place.json(&["backup", "backups", "--list", "--json"]).as_array().unwrap().len(), 1);
    place.run(&["backup", "backups", "--verify", "--quiet"]).succeeds();
}

#[test]
fn a_damaged_object_is_named_with_exit_code_6() {
    let place = Place::with_documents();
    place.run(&["backup", "backups", "--quiet"]).succeeds();
    let root = place.path().join("backups");
    let largest = files_below(&root.join("objects"))
        .into_iter()
        .max_by_key(|path| std::fs::metadata(root.join("objects").join(path)).unwrap().len());
    let object = root.join("objects").join(largest.unwrap());
    let mut bytes = std::fs::read(&object).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&object, bytes).unwrap();
    let named = object.strip_prefix(place.path()).unwrap().to_str().unwrap();
    let checked = place.run(&["backup", "backups", "--verify"]).ends(6);
    assert!(checked.out.contains(named), "{}", checked.out);
    let refused = place.run(&["restore", "backups", "again"]).ends(6);
    assert!(refused.err.contains(named), "{}", refused.err);
    assert!(!place.path().join("again").exists());
}

#[test]
fn an_export_is_imported_elsewhere() {
    let place = Place::with_vectors();
    let report = place.json(&["export", "out", "--json"]);
    assert_eq!((&report["records"], &report["collections"]), (&json!(5), &json!(1)));
    assert!(place.path().join("out/collections/000-documents/records.jsonl").exists());
    let imported = place.run(&["import", "out", "--data-dir", "other"]).succeeds();
    assert!(imported.out.contains("documents  5 records"), "{}", imported.out);
    let ask = ["search", "--like", "a", "-n", "2", "--json"];
    let there = place.json(&[&ask[..], &["--data-dir", "other"]].concat());
    assert_eq!(there["hits"], place.json(&ask)["hits"]);
    assert!(place.run(&["import", "out", "--data-dir", "other"]).ends(2).err.contains("already exists"));
    place.run(&["import", "out", "--data-dir", "other", "--merge"]).succeeds();
    assert!(place.run(&["export", "out"]).ends(2).err.contains("not empty"));
    assert!(place.run(&["export", "p", "--format", "parquet"]).ends(2).err.contains("export_to"));
    place.run(&["import", "nowhere", "--data-dir", "other"]).ends(3);
}

#[test]
fn a_folder_of_this_format_has_nothing_to_migrate() {
    let place = Place::with_documents();
    assert!(place.run(&["migrate", "--dry-run"]).succeeds().out.starts_with("nothing to do"));
    let done = place.json(&["migrate", "--json"]);
    assert_eq!((&done["steps"], &done["format"]), (&json!([]), &json!(1)));
    Place::new().run(&["migrate"]).ends(3);
}
