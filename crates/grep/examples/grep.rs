//! Searches the files of a folder as ripgrep does in it with `--sort path --hidden --no-ignore`:
//! `cargo run --release -p nuthatch-grep --example grep -- FOLDER '{"patterns": ["TODO"]}'`
//!
//! Without a request it reads requests from its input, one a line. Of each it prints ripgrep's exit status, the length of
//! the output in bytes, a line's end and the output; of one that is wrong, the message.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;

use nuthatch_grep::{Grep, Request, path_order};

type Files = Vec<(String, Vec<u8>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let files = read(Path::new(&arguments.next().ok_or("usage: grep FOLDER [REQUEST]")?))?;
    let mut stdout = std::io::stdout().lock();
    if let Some(request) = arguments.next() {
        let (_, out) = print(&files, &serde_json::from_str(&request)?)?;
        stdout.write_all(&out)?;
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (status, out) = match print(&files, &serde_json::from_str(&line)?) {
            Ok((matched, out)) => (if matched { 0 } else { 1 }, out),
            Err(error) => (2, error.to_string().into_bytes()),
        };
        writeln!(stdout, "{status} {}", out.len())?;
        stdout.write_all(&out)?;
        stdout.flush()?;
    }
    Ok(())
}

fn print(files: &Files, request: &Request) -> Result<(bool, Vec<u8>), Box<dyn Error>> {
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
    Ok((grep.matched(), out))
}

fn read(folder: &Path) -> Result<Files, Box<dyn Error>> {
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
