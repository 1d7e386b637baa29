//! `doctor`: every damaged file is named, with a remedy.

use std::path::{Path, PathBuf};

use crate::support::{Place, files_below};

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

/// Enough passages for segments and a text index on disk.
fn indexed() -> Place {
    let place = Place::with_many(600);
    place.run(&["add", "many", "--embedder", "none", "-q"]).succeeds();
    place
}

#[test]
fn a_sound_folder_is_well() {
    let place = indexed();
    assert!(place.run(&["doctor"]).succeeds().out.starts_with("well"));
    let doctor = place.json(&["doctor", "--json"]);
    assert_eq!((&doctor["well"], &doctor["records"]), (&true.into(), &600.into()));
}

/// Calls `check` once for each file whose bytes matter, with a copy of the store in which a byte of it is flipped. A copy each,
/// because opening a store begins new files and drops old ones.
fn with_each_file_damaged(place: &Place, check: impl Fn(&Path, &str)) {
    let data = place.data();
    let sound: Vec<(PathBuf, Vec<u8>)> =
        files_below(&data).into_iter().map(|path| (path.clone(), std::fs::read(data.join(path)).unwrap())).collect();
    // LOCK names the holder, LOG is RocksDB's diary: neither holds anything that is read back.
    let is_read =
        |path: &Path| !["LOCK", "LOG"].iter().any(|name| path.file_name().unwrap().to_string_lossy().starts_with(name));
    let damaged: Vec<&Path> = sound
        .iter()
        .filter(|(path, bytes)| is_read(path) && !bytes.is_empty())
        .map(|(path, _)| path.as_path())
        .collect();
    assert!(damaged.iter().any(|path| path.starts_with("indexes")), "{damaged:?}");
    assert!(
        damaged.iter().any(|path| path.starts_with("truth") && path.extension().is_some_and(|e| e == "sst")),
        "{damaged:?}"
    );
    for (number, file) in damaged.into_iter().enumerate() {
        let copy = place.path().join(format!("copy{number}"));
        for (path, bytes) in &sound {
            place.write(copy.join(path).to_str().unwrap(), bytes);
        }
        flip(&copy.join(file));
        check(file, copy.to_str().unwrap());
        std::fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn a_flipped_byte_in_any_file_is_found_and_the_file_is_named() {
    let place = indexed();
    with_each_file_damaged(&place, |file, copy| {
        let ran = place.run(&["doctor", "--json", "--data-dir", copy]);
        assert_eq!(ran.code, 6, "{}: {}{}", file.display(), ran.out, ran.err);
        let doctor = ran.json();
        let told = format!("{}{}", doctor["findings"], doctor["degraded"]);
        assert!(told.contains(file.file_name().unwrap().to_str().unwrap()), "{} in {told}", file.display());
        for finding in doctor["findings"].as_array().unwrap() {
            assert!(!finding["remedy"].as_str().unwrap().is_empty(), "{finding}");
        }
    });
}

#[test]
fn repair_and_add_bring_every_file_back_whatever_was_damaged() {
    let place = indexed();
    with_each_file_damaged(&place, |file, copy| {
        let run = |arguments: &[&str]| {
            let ran = place.run(&[arguments, &["--data-dir", copy]].concat());
            assert_eq!(ran.code, 0, "{}, {arguments:?}: {}{}", file.display(), ran.out, ran.err);
            ran
        };
        run(&["doctor", "--repair"]);
        run(&["add", "many", "--embedder", "none", "-q"]);
        assert_eq!(run(&["stats", "--json"]).json()["collections"][0]["rows"], 600, "{}", file.display());
        for bird in ["bird0", "bird299", "bird599"] {
            assert_eq!(
                run(&["search", bird, "--json"]).json()["hits"].as_array().unwrap().len(),
                1,
                "{bird}, {}",
                file.display()
            );
        }
        run(&["doctor"]);
    });
}

#[test]
fn searches_go_on_over_a_damaged_index_and_repair_mends_it() {
    let place = indexed();
    let indexes = place.data().join("indexes");
    for file in files_below(&indexes).iter().filter(|path| std::fs::metadata(indexes.join(path)).unwrap().len() > 0) {
        flip(&indexes.join(file));
    }
    let answer = place.run(&["search", "bird17", "--json"]).succeeds();
    assert_eq!(answer.json()["hits"][0]["payload"]["name"], "17.txt");
    assert!(
        !answer.json()["degraded"].as_array().unwrap().is_empty() && answer.err.contains("warning:"),
        "{}",
        answer.err
    );
    let ran = place.run(&["doctor", "--repair"]).succeeds();
    assert!(ran.out.contains("rebuilt"), "{}", ran.out);
    let answer = place.json(&["search", "bird17", "--json"]);
    assert_eq!(answer["degraded"], serde_json::json!([]));
    assert_eq!(answer["hits"][0]["payload"]["name"], "17.txt");
}

#[test]
fn repair_of_a_sound_folder_changes_nothing() {
    let place = indexed();
    let ran = place.run(&["doctor", "--repair"]).succeeds();
    assert!(ran.out.contains("Nothing to repair"), "{}", ran.out);
    assert_eq!(place.rows(), 600);
}

#[test]
fn a_dry_run_of_repair_names_the_damage_and_changes_nothing() {
    let place = indexed();
    let ran = place.run(&["doctor", "--repair", "--dry-run"]).succeeds();
    assert!(ran.out.contains("would lose nothing"), "{}", ran.out);
    let store = place.data().join("truth");
    let table = files_below(&store).into_iter().find(|path| path.extension().is_some_and(|e| e == "sst")).unwrap();
    flip(&store.join(&table));
    let before = std::fs::read(store.join(&table)).unwrap();
    let ran = place.run(&["doctor", "--repair", "--dry-run"]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains(table.to_str().unwrap()) && ran.out.contains("Nothing was changed"), "{}", ran.out);
    assert_eq!(std::fs::read(store.join(&table)).unwrap(), before);
    let json = place.run(&["doctor", "--repair", "--dry-run", "--json"]).json();
    assert!(json["damaged"][0]["what"].is_string(), "{json}");
}
