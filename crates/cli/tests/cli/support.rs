//! Running the program in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nuthatch_link::{CollectionOptions, Database, Element, EmbedderChoice, Metric, Options, Record};
use serde_json::Value;

/// A folder with documents in it, and the data folder `.nuthatch` that `add` makes there.
pub struct Place {
    folder: tempfile::TempDir,
}

/// How a run ended.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// With `alpha.md` (two headings), `code.rs` and `sub/note.txt`, added without a model.
    pub fn with_documents() -> Self {
        let place = Self::new();
        place.write(
            "alpha.md",
            "# Alpha\n\nThe osprey fishes in the lake.\n\n## Nest\n\nIts nest is a heap of branches.\n",
        );
        place
            .write("code.rs", "/// Counts herons.\npub fn count_herons(pond: &[Bird]) -> usize {\n    pond.len()\n}\n");
        place.write("sub/note.txt", "A kingfisher needs clear water to see the fish.\n");
        place.run(&["add", ".", "--embedder", "none"]).succeeds();
        place
    }

    /// With records `a` to `d` of the collection `documents`, whose vectors lie further and further from that of `a`, and `mute`
    /// without one; in as many segments as there are records.
    pub fn with_vectors() -> Self {
        let place = Self::new();
        let options = Options { background: false, ..Options::default() };
        let database = Database::open(place.data(), options).unwrap();
        let options = CollectionOptions {
            element: Some(Element::Int8),
            metric: Some(Metric::L2),
            embedder: EmbedderChoice::None,
            ..CollectionOptions::default()
        };
        let documents = database.collection("documents", options).unwrap();
        for (at, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
            let record = Record::new(id).text(format!("the bird {id}")).vector(vec![at as f32, 1.0]);
            documents.upsert(vec![record]).unwrap();
            documents.wait_until_indexed(None).unwrap();
        }
        documents.upsert(vec![Record::new("mute").text("no vector")]).unwrap();
        database.close().unwrap();
        place
    }

    /// `number` small files, each one passage.
    pub fn with_many(number: usize) -> Self {
        let place = Self::new();
        for at in 0..number {
            let text = format!("Passage number {at} speaks of topic {} and of bird{at}.\n", at % 7);
            place.write(&format!("many/{:02}/{at}.txt", at % 40), &text);
        }
        place
    }

    /// The real path, as the store names it.
    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join(".nuthatch")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.path(), arguments)
    }

    pub fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuthatch"));
        command.current_dir(folder).args(arguments).stdin(Stdio::null());
        // Settings of the machine must not decide a test.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("NUTHATCH_") && name != "NUTHATCH_MODEL_DIR"
                || name.starts_with("CLICOLOR")
                || name == "NO_COLOR"
            {
                command.env_remove(name);
            }
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// With something on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may end before it has read everything.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        Ran::of(child.wait_with_output().unwrap())
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).succeeds().json()
    }

    /// Files in the store, each with its number of passages.
    pub fn files(&self) -> Vec<(String, u64)> {
        let root = self.path();
        let listed = self.run(&["ls", "--json"]).json();
        let file = |file: &Value| {
            let path =
                Path::new(file["path"].as_str().unwrap()).strip_prefix(&root).unwrap().to_str().unwrap().to_string();
            (path, file["passages"].as_u64().unwrap())
        };
        listed.as_array().unwrap().iter().map(file).collect()
    }

    pub fn rows(&self) -> u64 {
        self.json(&["stats", "--json"])["collections"][0]["rows"].as_u64().unwrap()
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.ends(0)
    }

    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "standard output:\n{}\nstandard error:\n{}", self.out, self.err);
        self
    }

    /// One JSON document and nothing else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }
}

/// True when the built-in model is installed; says so when it is not.
pub fn has_model(place: &Place) -> bool {
    let ran = place.run(&["model"]);
    if ran.code != 0 {
        println!("skipped: no embedding model here ({})", ran.err.trim());
    }
    ran.code == 0
}

/// All files below a folder, relative to it.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).unwrap().to_path_buf()),
            }
        }
    }
    found.sort();
    found
}
