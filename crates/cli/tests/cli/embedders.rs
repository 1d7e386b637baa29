//! With the built-in model, with an endpoint, and when they are not there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Place, Ran, has_model};

/// An endpoint that answers `/v1/embeddings` with four numbers: how often each vowel group occurs. Keeps the keys it was sent.
fn endpoint() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = keys.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || while answer(&stream, &seen).is_some() {});
        }
    });
    (url, keys)
}

fn answer(mut stream: &TcpStream, keys: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut bytes = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some((name, value)) = line.split_once(':') {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => bytes = value.trim().parse().ok()?,
                "authorization" => keys.lock().unwrap().push(value.trim().to_string()),
                _ => {}
            }
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; bytes];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let count = |text: &str, letters: &str| 1.0 + text.chars().filter(|c| letters.contains(*c)).count() as f64;
    let vector = |text: &Value| ["a", "e", "io", "uy"].map(|letters| count(text.as_str().unwrap(), letters));
    let inputs = request["input"].as_array()?.iter().enumerate();
    let data: Vec<Value> = inputs.map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    let body = json!({"object": "list", "data": data, "model": request["model"]}).to_string();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .ok()
}

#[test]
fn an_endpoint_embeds_and_is_remembered() {
    let (url, keys) = endpoint();
    let place = Place::new();
    place.write("a.txt", "A banana at a bazaar.\n");
    place.write("e.txt", "Seven green trees meet here.\n");
    let with = |arguments: &[&str], model: &str| {
        let mut command = place.command(arguments);
        command
            .env("NUTHATCH_EMBEDDER", "openai")
            .env("NUTHATCH_EMBEDDER_URL", &url)
            .env("NUTHATCH_EMBEDDER_MODEL", model);
        Ran::of(command.env("NUTHATCH_EMBED_API_KEY", "s3cret").output().unwrap())
    };
    with(&["add", "."], "vowels").succeeds();
    let answer = with(&["search", "eeeee", "--mode", "vector", "--json"], "vowels").succeeds().json();
    assert_eq!(answer["hits"][0]["payload"]["name"], "e.txt");
    assert_eq!(answer["hits"][0]["legs"]["vector"]["rank"], 1);
    assert!(keys.lock().unwrap().iter().all(|key| key == "Bearer s3cret"));
    assert!(!keys.lock().unwrap().is_empty());
    assert_eq!(place.json(&["stats", "--json"])["collections"][0]["dim"], 4);

    let ran = with(&["search", "eeeee"], "consonants").ends(2);
    assert!(ran.err.contains("vowels") && ran.err.contains("consonants"), "{}", ran.err);
    // Words need nobody.
    let ran = place.run(&["search", "banana", "--mode", "text"]).succeeds();
    assert!(ran.out.contains("a.txt:1"), "{}", ran.out);
}

#[test]
fn an_endpoint_that_is_not_there_is_unavailable() {
    let place = Place::new();
    place.write("a.txt", "A text.\n");
    // Bound and dropped: nobody listens there now.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/v1");
    let ran =
        place.run(&["add", "a.txt", "--embedder", "openai", "--embedder-url", &url, "--embedder-model", "m"]).ends(5);
    assert!(ran.err.contains(&address.to_string()), "{}", ran.err);
    assert!(!place.data().exists(), "a data folder was left behind");
    let ran = place.run(&["add", "a.txt", "--embedder", "openai"]).ends(2);
    assert!(ran.err.contains("--embedder-url"), "{}", ran.err);
}

#[test]
fn a_missing_model_says_how_to_install_it_and_words_still_work() {
    let place = Place::with_documents();
    let without = |arguments: &[&str]| {
        Ran::of(place.command(arguments).env("NUTHATCH_MODEL_DIR", place.path().join("no-model")).output().unwrap())
    };
    for command in [&["model"][..], &["add", ".", "--collection", "other"]] {
        let ran = without(command).ends(5);
        assert!(ran.err.contains("nuthatch.model install"), "{}", ran.err);
    }
    without(&["search", "osprey"]).succeeds();
}

#[test]
fn a_missing_static_model_says_how_to_install_it() {
    let place = Place::with_documents();
    for arguments in [&["model", "static"][..], &["add", ".", "--embedder", "static"]] {
        let mut command = place.command(arguments);
        let ran = Ran::of(command.env("NUTHATCH_STATIC_MODEL_DIR", place.path().join("no-model")).output().unwrap());
        let ran = ran.ends(5);
        assert!(ran.err.contains("no-model") && ran.err.contains("nuthatch.model install static"), "{}", ran.err);
    }
}

#[test]
fn installing_a_model_is_left_to_the_package_and_ends_as_that_ends() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let python = |name: &str, script: &str| {
        place.write(name, format!("#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n{script}\n"));
        std::fs::set_permissions(place.path().join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        place.path().join(name)
    };
    let install = |python: std::path::PathBuf, more: &[&str]| {
        let mut command = place.command(&[&["model", "install"][..], more].concat());
        command.env("NUTHATCH_PYTHON", python).env("NUTHATCH_STATIC_MODEL_DIR", place.path().join("no-model"));
        Ran::of(command.output().unwrap())
    };
    let says = python("says", "echo \"$@\"");
    let ran = install(says.clone(), &["static", "--dir", "m"]).succeeds();
    assert_eq!(ran.out.trim(), "-m nuthatch.model install static --dir m");
    let ran = install(says, &["static"]).ends(5);
    assert!(ran.err.contains("--dir DIR") && ran.err.contains("NUTHATCH_STATIC_MODEL_DIR"), "{}", ran.err);
    install(python("fails", "exit 5"), &[]).ends(5);
    let ran = install("/bin/false".into(), &[]).ends(5);
    assert!(ran.err.contains("cannot import the package nuthatch"), "{}", ran.err);
}

#[test]
fn the_built_in_model_finds_by_meaning_with_both_legs_shown() {
    let place = Place::new();
    if !has_model(&place) {
        return;
    }
    place.write("birds.md", "# Birds\n\nThe nuthatch climbs down trees head first.\n");
    place.write("bread.md", "# Bread\n\nKnead the dough and let it rise overnight.\n");
    place.run(&["add", ".", "--wait"]).succeeds();
    let answer = place.json(&["search", "baking a loaf at home", "--json"]);
    assert_eq!(answer["mode"], "hybrid");
    assert_eq!(answer["hits"][0]["payload"]["name"], "bread.md");
    assert!(answer["hits"][0]["legs"]["vector"]["score"].as_f64().unwrap() > 0.2, "{answer}");
    let out = place.run(&["search", "dough"]).succeeds().out;
    assert!(out.contains("text #1 ") && out.contains("vector #1 "), "{out}");
    let records = place.json(&["get", "birds.md#0", "--vectors", "--json"]);
    assert_eq!(records[0]["vector"].as_array().unwrap().len(), 384);
}

#[test]
fn unchanged_passages_of_a_changed_file_keep_their_vectors() {
    let place = Place::new();
    if !has_model(&place) {
        return;
    }
    let chapter = |name: &str| format!("## {name}\n\n{}\n\n", format!("A long chapter about the {name}. ").repeat(40));
    place.write("book.md", format!("# Book\n\n{}{}", chapter("heron"), chapter("stork")));
    place.run(&["add", ".", "--wait"]).succeeds();
    place.write("book.md", format!("# Book\n\n{}{}", chapter("heron"), chapter("crane")));
    let report = place.json(&["add", ".", "--json"]);
    assert_eq!(report["files"]["changed"], 1);
    let (added, reused) =
        (report["passages"]["added"].as_u64().unwrap(), report["passages"]["reused"].as_u64().unwrap());
    assert!(reused > 0 && reused < added, "{report}");
}

#[test]
fn add_leaves_a_process_behind_that_makes_the_vectors_and_ends() {
    let place = Place::new();
    if !has_model(&place) {
        return;
    }
    place.write("birds.md", "# Birds\n\nThe nuthatch climbs down trees head first.\n");
    let report = place.json(&["add", ".", "--json", "--no-embed"]);
    assert_eq!(report["passages"]["pending"], 1);
    let pending = || place.json(&["stats", "--json"])["collections"][0]["pending"].as_u64().unwrap();
    assert_eq!(pending(), 1, "nobody was left behind");
    let answer = place.json(&["search", "tree", "--json"]);
    assert_eq!((&answer["mode"], &answer["pending"]["records"]), (&"text".into(), &1.into()));
    place.write("bread.md", "# Bread\n\nKnead the dough and let it rise overnight.\n");
    let ran = place.run(&["add", "."]).succeeds();
    assert!(ran.out.contains("to come"), "{}", ran.out);
    for _ in 0..600 {
        if pending() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(place.json(&["search", "baking a loaf at home", "--json"])["mode"], "hybrid");
    place.run(&["embed"]).succeeds();
}
