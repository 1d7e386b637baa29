//! Searches the files of a folder as ripgrep does in it with `--sort path --hidden --no-ignore`:
//! `cargo run --release -p nuthatch-grep --example grep -- FOLDER '{"patterns": ["TODO"]}'`
//!
//! Without a request it reads requests from its input, one a line, and prints for each the length of the output in bytes,
//! a line's end and the output. A request that is wrong has a negative length, and the message as its output.

use std::io::{BufRead, Write};
use std::path::Path;

use nuthatch_grep::{Grep, GrepError, Request, path_order};

type Files = Vec<(String, Vec<u8>)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let files = read(Path::new(&arguments.next().ok_or("usage: grep FOLDER [REQUEST]")?))?;
    let mut stdout = std::io::stdout().lock();
    if let Some(request) = arguments.next() {
        stdout.write_all(&search(&files, &serde_json::from_str(&request)?)?)?;
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let (sign, out) = match search(&files, &serde_json::from_str(&line?)?) {
            Ok(out) => ("", out),
            Err(error) => ("-", error.to_string().into_bytes()),
        };
        writeln!(stdout, "{sign}{}", out.len())?;
        stdout.write_all(&out)?;
        stdout.flush()?;
    }
    Ok(())
}

fn search(files: &Files, request: &Request) -> Result<Vec<u8>, GrepError> {
    let mut grep = Grep::new(request)?;
    let mut out = Vec::new();
    for (path, content) in files {
        if grep.wants(path) {
            grep.search(path, content, &mut out)?;
        }
        if !grep.wants_more() {
            break;
        }
    }
    grep.finish(&mut out)?;
    Ok(out)
}

fn read(folder: &Path) -> Result<Files, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
        let entry = entry?;
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let name = entry.path().strip_prefix(folder)?.to_str().ok_or("a path is no UTF-8")?.to_owned();
            files.push((name, std::fs::read(entry.path())?));
        }
    }
    files.sort_by(|(a, _), (b, _)| path_order(a, b));
    Ok(files)
}
