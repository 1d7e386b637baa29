//! The Model Context Protocol: any lines, between a greeting that is right and a question that is answered.

use nuthatch_link::{Database, EmbedderChoice, Options};
use nuthatch_mcp::{Handler, Local, Settings, serve};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Builder;

use crate::Run;
use crate::serving::WAIT_MAX;

const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);
const QUESTION: &str = concat!("\n", r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#, "\n");
const PIPE_BYTES: usize = 1 << 20;
/// Inputs until the database is replaced, along with what was remembered.
const DATABASE_INPUTS: u32 = 3000;

pub fn start() -> Run {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let new = || Database::in_memory(Options::default()).expect("a database");
    let mut db = new();
    let mut inputs = 0;
    Box::new(move |lines| {
        // The library ends the connection at what is no UTF-8.
        let Ok(lines) = std::str::from_utf8(lines) else { return };
        inputs += 1;
        if inputs % DATABASE_INPUTS == 0 {
            db = new();
        }
        let settings = Settings { embedder: EmbedderChoice::None, ..Settings::default() };
        let handler = Handler::new(Local::new(db.clone()), settings);
        let answers = runtime.block_on(async {
            let (mut host, ours) = duplex(PIPE_BYTES);
            let (input, output) = tokio::io::split(ours);
            let serving = tokio::spawn(serve(handler, input, output, std::future::pending()));
            let (mut from, mut to) = tokio::io::split(&mut host);
            let mut answers = Vec::new();
            let speaking = async {
                for part in [GREETING, lines, QUESTION] {
                    to.write_all(part.as_bytes()).await.expect("the other side reads");
                }
                to.shutdown().await.expect("the end");
            };
            let reading = async { from.read_to_end(&mut answers).await.expect("what is said") };
            tokio::time::timeout(WAIT_MAX, async { tokio::join!(speaking, reading) }).await.expect("an end");
            serving.await.expect("it does not panic").expect("a host that speaks the protocol");
            answers
        });
        let text = String::from_utf8(answers).expect("text");
        let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        for id in ["first", "last"] {
            assert!(answers.iter().any(|answer| answer["id"] == id), "{id}: {lines:?}\n{text}");
        }
    })
}
