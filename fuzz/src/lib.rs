//! Fuzz targets: every parser of what comes from outside, or from a disk that may be damaged, given any bytes.
//!
//! **What it is.** [`TARGETS`] names them. A target is started once, with whatever it needs around it (a file, a database, a server), and is then given
//! one input after the other. It asserts more than that nothing panics: what was read comes back when it is written, what is cut anywhere means the same,
//! what is damaged is refused or equal.
//! **Useful for** `scripts/fuzz.sh`, which lets libFuzzer choose the inputs, and for `tests/seeds.rs`, which runs over the seeds and over mutations of them.
//! **Not for** the product, which is built without it.
//!
//! **Invariant:** a target touches nothing outside of its own temporary folder, asks no network beyond this machine, and means the same for the same input.

mod backups;
mod blocks;
mod columns;
mod configuration;
mod cursors;
mod documents;
mod exports;
mod flight;
mod folder;
mod frames;
mod grams;
mod http;
mod keys;
mod llm;
mod log;
mod mcp;
mod model;
pub mod mutate;
mod patch;
mod payloads;
mod protocol;
mod redis;
mod serving;
mod snippets;
mod stored;
mod text_index;
mod vector_index;
mod vector_sets;
mod where_language;

/// A target that has been started.
pub type Run = Box<dyn FnMut(&[u8])>;

/// One parser, or one family of them.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// The parsed input, and the property that must hold.
    pub about: &'static str,
    pub start: fn() -> Run,
}

/// All of them, the quickest first.
pub const TARGETS: &[Target] = &[
    of("where", "the `where` language: a filter's own text gives the filter back; datetimes", where_language::start),
    of("agreement", "filters over payloads: row by row is column by column", columns::agreement),
    of("payload", "stored payloads, and payloads in JSON: what validates comes back", payloads::start),
    of("schema", "the fields of a collection, as they are stored", payloads::schema),
    of("resp", "Redis' protocol, cut anywhere: the same commands", protocol::start),
    of("snippet", "questions and passages: scan and tail score alike, a snippet lies in its text", snippets::start),
    of("llm", "streams of models, cut anywhere: the same answer, which can be stored and streamed", llm::start),
    of("grams", "patterns and contents: a content that matches is not ruled out", grams::start),
    of("config", "configuration files, sizes and times: what was understood is understood again", configuration::start),
    of("columns", "attribute columns with changed bytes: refused, or some answer", columns::damaged),
    of("sealed", "sealed files: refused or equal", blocks::sealed),
    of(
        "block_file",
        "block files: opened and read, or refused; the check of a stream says the same",
        blocks::block_file,
    ),
    of("record_file", "record files: the same", blocks::record_file),
    of("keys", "the file of keys: a key can be added to what was read", keys::keys),
    of("audit", "the audit log: what is appended is the newest entry", keys::audit),
    of("model", "a model's manifest", model::start),
    of("text", "text files to passages that are slices of them", documents::text),
    of("markdown", "Markdown to passages that are slices of it", documents::markdown),
    of("html", "HTML to passages within it", documents::html),
    of("code", "programs to passages that are slices of them", documents::code),
    of("pdf", "PDF to passages", documents::pdf),
    of("cursor", "cursors of records and keys: a page or an error", cursors::start),
    of(
        "vector_index",
        "files of a vector index, checksums right: refused, or rows that there are",
        vector_index::start,
    ),
    of(
        "text_index",
        "files of a text index with changed bytes: refused by name, or the same answers",
        text_index::start,
    ),
    of("backup", "manifests of backups: nothing is restored outside of the target", backups::start),
    of("import", "exports: what was imported can be exported and imported", exports::start),
    of("log", "the store's log with changed bytes: refused, or a beginning of what was written", log::start),
    of("stored", "any value of the store changed: an error that says so, or an answer", stored::start),
    of("frame", "the socket between processes: the holder goes on answering", frames::start),
    of("redis", "commands of Redis: a reply to each", redis::start),
    of("vsim", "FILTER of vector sets: the index finds what the expression lets pass", vector_sets::start),
    of("http", "requests and bodies of HTTP: no failure of the server", http::start),
    of("flight", "tickets, actions and streams of Arrow Flight: an answer or a status", flight::start),
    of("mcp", "lines of the Model Context Protocol: an answer to each request", mcp::start),
];

const fn of(name: &'static str, about: &'static str, start: fn() -> Run) -> Target {
    Target { name, about, start }
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
