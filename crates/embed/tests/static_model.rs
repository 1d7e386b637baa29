//! The static embedder over a small model that the tests write, and over the installed one where there is one.

use std::path::{Path, PathBuf};

use nuthatch_embed::{EmbedError, Embedder, Model, StaticEmbedder};
use sha2::{Digest, Sha256};

/// Six tokens: unknown, the space, and two letters with and without a space in front, as in Llama's vocabulary.
const TOKENIZER: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "pre_tokenizer": null, "added_tokens": [
    {"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "post_processor": null, "decoder": null,
  "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
    "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "ignore_merges": false,
    "vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4, "▁b": 5}, "merges": ["▁ a", "▁ b"]}
}"#;

/// 1, 0.5, 2 and -1 as f16; the rows of the tokens above.
const ONE: u16 = 0x3c00;
const HALF: u16 = 0x3800;
const TWO: u16 = 0x4000;
const MINUS_ONE: u16 = 0xbc00;
const ROWS: [[u16; 2]; 6] = [[HALF, 0], [ONE, ONE], [0, TWO], [TWO, 0], [ONE, 0], [0, MINUS_ONE]];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("table.f16", ROWS.as_flattened().iter().flat_map(|half| half.to_le_bytes()).collect());
        folder.write("tokenizer.json", TOKENIZER.into());
        folder.describe(&[]);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: Vec<u8>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    /// The manifest of what lies in the folder, with some values replaced.
    fn describe(&self, changes: &[(&str, serde_json::Value)]) {
        let file = |name: &str| {
            let bytes = std::fs::read(self.path().join(name)).unwrap();
            let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            serde_json::json!({"name": name, "bytes": bytes.len(), "sha256": sha256})
        };
        let mut manifest = serde_json::json!({
            "format": 1, "kind": "static", "name": "small", "dim": 2, "rows": 6, "max_tokens": 4, "empty_token": 0,
            "table": file("table.f16"), "tokenizer": file("tokenizer.json"),
        });
        for (key, value) in changes {
            manifest[key] = value.clone();
        }
        self.write("model.json", manifest.to_string().into_bytes());
    }

    fn open(&self) -> StaticEmbedder {
        StaticEmbedder::open(self.path()).unwrap()
    }

    /// The damaged file's name and what is said of it.
    fn refusal(&self) -> (String, String) {
        let error = StaticEmbedder::open(self.path()).and_then(|e| e.embed_query("a")).unwrap_err();
        assert!(error.to_string().contains("python -m nuthatch.model install static"), "{error}");
        let EmbedError::DamagedModel { path, what, .. } = error else { panic!("{error}") };
        (path.file_name().unwrap().to_string_lossy().into_owned(), what)
    }
}

fn unit(x: f32, y: f32) -> Vec<f32> {
    let norm = (x * x + y * y).sqrt();
    vec![x / norm, y / norm]
}

#[test]
fn a_vector_is_the_mean_of_the_tokens_vectors_at_length_one() {
    let folder = Folder::new();
    let embedder = folder.open();
    let texts = ["a", "a b", "aa b", "b", "?"];
    let expected = [unit(1.0, 0.0), unit(1.0, -1.0), unit(1.0, 1.0), unit(0.0, -1.0), unit(1.5, 1.0)];
    assert_eq!(embedder.embed_passages(&texts).unwrap(), expected);
    assert_eq!(embedder.embed_query("a b").unwrap(), expected[1]);
    assert_eq!((embedder.name(), embedder.dim()), ("small", 2));
    assert!(embedder.embed_passages(&[]).unwrap().is_empty());
}

#[test]
fn a_text_without_tokens_has_a_vector() {
    let folder = Folder::new();
    let embedder = folder.open();
    assert_eq!(embedder.embed_query("").unwrap(), unit(0.5, 0.0));
}

#[test]
fn tokens_that_cancel_out_have_a_vector() {
    let folder = Folder::new();
    let rows = [[HALF, 0], [0, 0], [0, 0], [0, 0], [0, ONE], [0, MINUS_ONE]];
    folder.write("table.f16", rows.as_flattened().iter().flat_map(|half| half.to_le_bytes()).collect());
    folder.describe(&[]);
    assert_eq!(folder.open().embed_query("a b").unwrap(), unit(0.5, 0.0));
}

#[test]
fn what_is_longer_than_the_limit_is_cut() {
    let folder = Folder::new();
    let embedder = folder.open();
    let four = embedder.embed_query("a a a b").unwrap();
    assert_eq!(four, unit(3.0, -1.0));
    assert_eq!(embedder.embed_query(&format!("a a a b{}", " b".repeat(100_000))).unwrap(), four);
}

#[test]
fn the_table_is_held_from_the_first_text_until_unload() {
    let folder = Folder::new();
    let embedder = folder.open();
    assert_eq!(embedder.resident_bytes(), 0);
    let first = embedder.embed_query("aa b").unwrap();
    assert!(embedder.resident_bytes() >= (6 * 2 * 2 + TOKENIZER.len()) as u64);
    embedder.unload();
    assert_eq!(embedder.resident_bytes(), 0);
    assert_eq!(embedder.embed_query("aa b").unwrap(), first);
}

#[test]
fn a_missing_shortened_or_changed_file_is_named() {
    let folder = Folder::new();
    folder.write("table.f16", vec![0; 24]);
    let (file, what) = folder.refusal();
    assert_eq!(file, "table.f16");
    assert!(what.contains("has changed"), "{what}");
    folder.write("table.f16", vec![0; 23]);
    assert_eq!(folder.refusal(), ("table.f16".into(), "has 23 bytes, but 24 were recorded".into()));
    std::fs::remove_file(folder.path().join("table.f16")).unwrap();
    assert_eq!(folder.refusal().0, "table.f16");
    std::fs::remove_file(folder.path().join("model.json")).unwrap();
    assert_eq!(folder.refusal().0, "model.json");
}

#[test]
fn a_manifest_that_cannot_be_right_is_refused() {
    let folder = Folder::new();
    for (key, value, hint) in [
        ("format", 9.into(), "format 9"),
        ("kind", "onnx".into(), "kind"),
        ("dim", 0.into(), "dim of 1"),
        ("rows", 0.into(), "rows of 1"),
        ("rows", 7.into(), "a table of 7 rows"),
        ("max_tokens", 0.into(), "max_tokens > 0"),
        ("empty_token", 6.into(), "empty_token < rows"),
        ("name", serde_json::Value::Null, "not a model manifest"),
        ("tokenizer", serde_json::json!({"name": "../x", "bytes": 1, "sha256": ""}), "not a plain file name"),
    ] {
        folder.describe(&[(key, value)]);
        let (file, what) = folder.refusal();
        assert_eq!(file, "model.json", "{key}");
        assert!(what.contains(hint), "{key}: {what}");
    }
}

#[test]
fn a_token_without_a_row_is_an_error_and_no_panic() {
    let folder = Folder::new();
    folder.write("table.f16", vec![0; 16]);
    folder.describe(&[("rows", 4.into())]);
    let (file, what) = folder.refusal();
    assert_eq!(file, "tokenizer.json");
    assert!(what.contains("token 4") && what.contains("4 rows"), "{what}");
}

#[test]
fn the_fingerprint_is_the_mapping() {
    let folder = Folder::new();
    let first = folder.open().fingerprint().to_owned();
    folder.describe(&[("name", "another".into())]);
    assert_eq!(folder.open().fingerprint(), first);
    folder.describe(&[("max_tokens", 5.into())]);
    assert_ne!(folder.open().fingerprint(), first);
    folder.write("table.f16", vec![1; 24]);
    folder.describe(&[]);
    assert_ne!(folder.open().fingerprint(), first);
}

fn installed() -> Option<StaticEmbedder> {
    let in_checkout: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/share/nuthatch/models").join(Model::Static.name());
    let dir = Model::Static.dir().or_else(|| in_checkout.is_dir().then_some(in_checkout));
    if dir.is_none() {
        println!("skipped: the static model is not installed; run `{}`", Model::Static.install_command());
    }
    dir.map(|dir| StaticEmbedder::open(&dir).unwrap())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[test]
fn the_installed_model_puts_texts_of_one_subject_near_each_other() {
    let Some(embedder) = installed() else { return };
    let passages = [
        "To reset your password, open the account page and choose a new one.",
        "The cat slept on the warm roof all afternoon.",
        "PostgreSQL stores each table in files of one gigabyte.",
    ];
    let vectors = embedder.embed_passages(&passages).unwrap();
    for (question, nearest) in [
        ("how do I change my login secret", 0),
        ("where was the kitten resting", 1),
        ("relations of a database on disk", 2),
    ] {
        let question_vector = embedder.embed_query(question).unwrap();
        let best = (0..passages.len())
            .max_by(|a, b| cosine(&question_vector, &vectors[*a]).total_cmp(&cosine(&question_vector, &vectors[*b])));
        assert_eq!(best, Some(nearest), "{question}");
    }
    for text in ["", " ", "x", "😀🐦‍⬛", "日本語", "\u{0}\u{fffd}\u{200b}", "<s>", &"word ".repeat(10_000)] {
        let vector = embedder.embed_query(text).unwrap();
        assert_eq!(vector.len(), 256, "{text:?}");
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "{text:?}");
    }
}

#[derive(serde::Deserialize)]
struct Reference {
    text: String,
    vector: Vec<f32>,
}

/// The first eight components of vectors that the package's own code made (`wordllama==0.3.9`, with `norm=True`).
#[test]
fn the_installed_model_gives_the_vectors_of_the_package_that_published_it() {
    let Some(embedder) = installed() else { return };
    let references: Vec<Reference> = serde_json::from_str(include_str!("data/static_vectors.json")).unwrap();
    assert!(references.len() > 20);
    for Reference { text, vector } in references {
        let found = embedder.embed_query(&text).unwrap();
        for (x, y) in vector.iter().zip(&found) {
            assert!((x - y).abs() < 1e-6, "{text:?}: {x} {y}");
        }
    }
}
