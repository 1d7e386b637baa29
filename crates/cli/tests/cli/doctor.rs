//! `doctor`: every damaged file is named, with a remedy.

use std::path::Path;

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

#[test]
fn a_flipped_byte_in_any_file_is_found_and_the_file_is_named() {
    let place = indexed();
    let data = place.data();
    // LOCK names the holder, LOG is RocksDB's diary: neither holds anything that is read back.
    let checked =
        |path: &Path| !["LOCK", "LOG"].iter().any(|name| path.file_name().unwrap().to_string_lossy().starts_with(name));
    let files: Vec<_> = files_below(&data)
        .into_iter()
        .filter(|path| checked(path) && std::fs::metadata(data.join(path)).unwrap().len() > 0)
        .collect();
    assert!(files.iter().any(|path| path.starts_with("indexes")), "{files:?}");
    assert!(
        files.iter().any(|path| path.starts_with("truth") && path.extension().is_some_and(|e| e == "sst")),
        "{files:?}"
    );
    let sound: Vec<(_, Vec<u8>)> =
        files_below(&data).into_iter().map(|p| (p.clone(), std::fs::read(data.join(p)).unwrap())).collect();
    for (number, file) in files.iter().enumerate() {
        // A copy each: opening a store begins new files and drops old ones.
        let copy = place.path().join(format!("copy{number}"));
        for (path, bytes) in &sound {
            place.write(copy.join(path).to_str().unwrap(), bytes);
        }
        flip(&copy.join(file));
        let ran = place.run(&["doctor", "--json", "--data-dir", copy.to_str().unwrap()]);
        assert_eq!(ran.code, 6, "{}: {}{}", file.display(), ran.out, ran.err);
        let doctor = ran.json();
        let told = format!("{}{}", doctor["findings"], doctor["degraded"]);
        assert!(told.contains(file.file_name().unwrap().to_str().unwrap()), "{} in {told}", file.display());
        for finding in doctor["findings"].as_array().unwrap() {
            assert!(!finding["remedy"].as_str().unwrap().is_empty(), "{finding}");
        }
        println!("{}: {told}", file.display());
        std::fs::remove_dir_all(copy).unwrap();
    }
    assert!(place.run(&["doctor"]).succeeds().out.starts_with("well"));
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
