//! A model folder that is not whole is refused with the file's name, before anything is loaded. Needs no model.

use std::path::Path;

use nuthatch_embed::{EmbedError, OnnxEmbedder, OnnxOptions};

const MANIFEST: &str = r#"{
  "format": 1, "name": "m", "dim": 4, "max_tokens": 8, "pooling": "mean", "start_token": 1, "end_token": 2,
  "model": {"name": "model.onnx", "bytes": 5, "sha256": "00"},
  "weights": {"name": "weights.bin", "bytes": 7, "sha256": "00"},
  "tokenizer": {"name": "tokenizer.json", "bytes": 2, "sha256": "00"},
  "runtime": {"name": "library.so", "bytes": 3, "sha256": "00"}
}"#;

fn folder(manifest: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("model.json"), manifest).unwrap();
    for (name, bytes) in
        [("model.onnx", "graph"), ("weights.bin", "weights"), ("tokenizer.json", "{}"), ("library.so", "elf")]
    {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

/// The damaged file's name and what is said of it.
fn refusal(dir: &Path) -> (String, String) {
    match OnnxEmbedder::open(dir, OnnxOptions::default()).and_then(|e| nuthatch_embed::Embedder::embed_query(&e, "x")) {
        Err(EmbedError::DamagedModel { path, what, .. }) => {
            (path.file_name().unwrap().to_string_lossy().into_owned(), what)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_without_a_manifest_is_refused() {
    assert_eq!(refusal(tempfile::tempdir().unwrap().path()).0, "model.json");
}

#[test]
fn a_manifest_that_is_not_one_is_refused() {
    for (manifest, hint) in [
        ("", "not a model manifest"),
        ("[]", "not a model manifest"),
        (&MANIFEST.replace("\"format\": 1", "\"format\": 9"), "format 9"),
        (&MANIFEST.replace("\"dim\": 4", "\"dim\": 0"), "dim > 0"),
        (&MANIFEST.replace("mean", "cls"), "pooling"),
        (&MANIFEST.replace("library.so", "../library.so"), "not a plain file name"),
        (&MANIFEST.replace("library.so", ".."), "not a plain file name"),
    ] {
        let (file, what) = refusal(folder(manifest).path());
        assert_eq!(file, "model.json");
        assert!(what.contains(hint), "{what}");
    }
}

#[test]
fn a_missing_shortened_or_changed_file_is_named() {
    let dir = folder(MANIFEST);
    let (file, what) = refusal(dir.path());
    assert_eq!(file, "model.onnx");
    assert!(what.contains("has changed"), "{what}");
    std::fs::write(dir.path().join("tokenizer.json"), "{").unwrap();
    assert_eq!(refusal(dir.path()), ("tokenizer.json".into(), "has 1 bytes, but 2 were recorded".into()));
    std::fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    assert_eq!(refusal(dir.path()).0, "tokenizer.json");
}

#[test]
fn the_fingerprint_is_the_mapping_and_not_the_platform() {
    let of = |manifest: &str| {
        let dir = folder(manifest);
        let embedder = OnnxEmbedder::open(dir.path(), OnnxOptions::default()).unwrap();
        nuthatch_embed::Embedder::fingerprint(&embedder).to_owned()
    };
    let platform = MANIFEST.replace("\"bytes\": 3, \"sha256\": \"00\"", "\"bytes\": 3, \"sha256\": \"11\"");
    assert_eq!(of(MANIFEST), of(&platform));
    assert_ne!(
        of(MANIFEST),
        of(&MANIFEST.replace("\"bytes\": 5, \"sha256\": \"00\"", "\"bytes\": 5, \"sha256\": \"11\""))
    );
    assert_ne!(of(MANIFEST), of(&MANIFEST.replace("\"max_tokens\": 8", "\"max_tokens\": 9")));
}
