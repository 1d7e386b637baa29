//! The offline embedder, with the installed model. Without it, each test says so and passes.

use std::path::{Path, PathBuf};

use nuthatch_embed::{EmbedError, Embedder, Model, OnnxEmbedder, OnnxOptions};

fn dir() -> Option<PathBuf> {
    let in_checkout =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/share/nuthatch/models").join(Model::Default.name());
    let dir = Model::Default.dir().or_else(|| in_checkout.is_dir().then_some(in_checkout));
    if dir.is_none() {
        println!("skipped: the default model is not installed; run `python -m nuthatch.model install`");
    }
    dir
}

fn open() -> Option<OnnxEmbedder> {
    dir().map(|dir| OnnxEmbedder::open(&dir, OnnxOptions::default()).unwrap())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[test]
fn texts_of_one_meaning_are_near_and_others_are_far() {
    let Some(embedder) = open() else { return };
    let passages = [
        "To reset your password, open the account page and choose a new one.",
        "The cat slept on the warm roof all afternoon.",
        "PostgreSQL stores each table in files of one gigabyte.",
    ];
    let vectors = embedder.embed_passages(&passages).unwrap();
    for (question, nearest) in [
        ("how do I change my login secret", 0),
        ("where was the kitten resting", 1),
        ("how are database relations kept on disk", 2),
    ] {
        let question_vector = embedder.embed_query(question).unwrap();
        let best = (0..passages.len())
            .max_by(|a, b| cosine(&question_vector, &vectors[*a]).total_cmp(&cosine(&question_vector, &vectors[*b])));
        assert_eq!(best, Some(nearest), "{question}");
    }
    let near = cosine(
        &embedder.embed_query("A man is eating food.").unwrap(),
        &embedder.embed_query("A man is eating a meal.").unwrap(),
    );
    assert!(near > 0.8, "{near}");
}

#[test]
fn a_vector_has_length_one_and_the_stated_dimension() {
    let Some(embedder) = open() else { return };
    for text in ["", " ", "x", "😀🐦‍⬛", "日本語", "\u{0}\u{fffd}\u{200b}", "Nuthatches walk down trees head first."]
    {
        let vector = embedder.embed_query(text).unwrap();
        assert_eq!(vector.len(), embedder.dim(), "{text:?}");
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "{text:?}");
    }
}

#[test]
fn a_vector_does_not_depend_on_the_texts_beside_it_nor_on_the_time() {
    let Some(embedder) = open() else { return };
    let long = "a much longer passage about birds ".repeat(30);
    let texts = ["short", long.as_str(), "", "ΑΒΓ 12345 !!!", "another passage"];
    let together = embedder.embed_passages(&texts).unwrap();
    embedder.unload();
    for (text, vector) in texts.iter().zip(&together).rev() {
        assert_eq!(&embedder.embed_passages(&[text]).unwrap()[0], vector, "{text:?}");
        assert_eq!(&embedder.embed_query(text).unwrap(), vector, "{text:?}");
    }
}

#[test]
fn a_vector_does_not_depend_on_the_number_of_threads() {
    let Some(dir) = dir() else { return };
    let of = |threads: usize| {
        let embedder = OnnxEmbedder::open(&dir, OnnxOptions { threads: threads.try_into().ok() }).unwrap();
        embedder.embed_passages(&["short", &"a longer passage about birds and trees ".repeat(20)]).unwrap()
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn what_is_beyond_the_token_limit_does_not_count() {
    let Some(embedder) = open() else { return };
    let filled = "bird ".repeat(254);
    let beyond = format!("{filled} and now about tax law");
    assert_eq!(embedder.embed_query(&filled).unwrap(), embedder.embed_query(&beyond).unwrap());
    let within = format!("tax law {filled}");
    assert_ne!(embedder.embed_query(&filled).unwrap(), embedder.embed_query(&within).unwrap());
}

#[test]
fn a_megabyte_of_text_is_its_beginning() {
    let Some(embedder) = open() else { return };
    let words = "the quick brown fox jumps over the lazy dog ".repeat(24_000);
    assert!(words.len() > 1_000_000);
    assert_eq!(embedder.embed_query(&words).unwrap(), embedder.embed_query(&words[..20_000]).unwrap());
    // Nowhere to cut: no white space, one word that is in no vocabulary; and white space alone.
    for text in ["x".repeat(1 << 20), " ".repeat(1 << 20), "€".repeat(1 << 19)] {
        assert_eq!(embedder.embed_query(&text).unwrap().len(), embedder.dim());
    }
}

#[test]
fn marks_that_are_spelled_out_are_ordinary_text() {
    let Some(embedder) = open() else { return };
    let plain = embedder.embed_query("end of story").unwrap();
    assert_ne!(embedder.embed_query("end of story [SEP]").unwrap(), plain);
    assert_ne!(embedder.embed_query("[PAD][CLS] end of story").unwrap(), plain);
}

#[test]
fn nothing_is_loaded_before_the_first_text_and_unload_gives_it_back() {
    let Some(embedder) = open() else { return };
    assert_eq!(embedder.resident_bytes(), 0);
    let before = embedder.embed_query("x").unwrap();
    assert!(embedder.resident_bytes() > 0);
    embedder.unload();
    assert_eq!(embedder.resident_bytes(), 0);
    assert_eq!(embedder.embed_query("x").unwrap(), before);
}

#[test]
fn many_threads_share_one_embedder() {
    let Some(embedder) = open() else { return };
    let texts: Vec<String> = (0..24).map(|i| format!("passage number {i}")).collect();
    let alone: Vec<_> = texts.iter().map(|text| embedder.embed_query(text).unwrap()).collect();
    std::thread::scope(|scope| {
        for part in 0..3 {
            let (texts, alone, embedder) = (&texts, &alone, &embedder);
            scope.spawn(move || {
                for i in (part..texts.len()).step_by(3) {
                    assert_eq!(embedder.embed_query(&texts[i]).unwrap(), alone[i]);
                }
            });
        }
    });
}

#[test]
fn one_flipped_byte_in_any_file_is_found_and_the_file_is_named() {
    let Some(dir) = dir() else { return };
    for damaged in ["model.onnx", "weights.bin", "tokenizer.json", "libonnxruntime"] {
        let copy = tempfile::tempdir().unwrap();
        let mut path = None;
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            let target = copy.path().join(entry.file_name());
            std::fs::copy(entry.path(), &target).unwrap();
            if entry.file_name().to_string_lossy().starts_with(damaged) {
                path = Some(target);
            }
        }
        let Some(path) = path else { continue }; // the library has another name on some platforms
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let embedder = OnnxEmbedder::open(copy.path(), OnnxOptions::default()).unwrap();
        match embedder.embed_query("x").unwrap_err() {
            EmbedError::DamagedModel { path: named, .. } => assert_eq!(named, path),
            other => panic!("{damaged}: {other}"),
        }
    }
}
