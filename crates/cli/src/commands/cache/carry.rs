//! `nuthatch cache export`, `import` and `reembed`: answers as JSON lines, and with other vectors.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::Args;
use nuthatch_dialect::caches;
use nuthatch_link::{Cache, Error, Result as EngineResult};
use serde_json::{Value, json};

use super::lines::{place, read};
use crate::exit::Failure;
use crate::output::Out;

/// The format named in the first line of a file. The Python module writes and reads the same.
const FORMAT: &str = "nuthatch cache answers 1";
/// Answers of one call.
const AT_ONCE: usize = 200;

#[derive(Args)]
pub struct Import {
    /// An export. `-` for the input
    #[arg(value_name = "FILE")]
    answers: PathBuf,
}

/// Prints all answers, and returns how many.
pub fn export(cache: &Cache, out: &mut Out) -> Result<u64, Failure> {
    let (mut after, mut count) = (Value::Null, 0);
    loop {
        let page = caches::ask(cache, "answers", json!({ "after": after, "limit": AT_ONCE, "vectors": true }))?;
        if after.is_null() {
            writeln!(out, "{}", json!({ "format": FORMAT, "vectors": page["vectors"] }))?;
        }
        for answer in page["answers"].as_array().into_iter().flatten() {
            writeln!(out, "{answer}")?;
            count += 1;
        }
        after = page["next"].clone();
        if after.is_null() {
            return Ok(count);
        }
    }
}

impl Import {
    /// Keeps the answers of a file, and returns how many.
    pub fn run(&self, cache: &Cache) -> EngineResult<u64> {
        let mut lines = read(&self.answers)?.lines().enumerate().map(|(at, line)| {
            let line = line.map_err(|error| place(&self.answers, at, &error))?;
            serde_json::from_str::<Value>(&line).map_err(|error| place(&self.answers, at, &error))
        });
        let head = lines.next().transpose()?.unwrap_or_default();
        if head["format"] != FORMAT {
            let why =
                format!("{} is no export of a cache: its first line does not say {FORMAT:?}", self.answers.display());
            return Err(Error::invalid(why));
        }
        let mut kept = 0;
        loop {
            let some = lines.by_ref().take(AT_ONCE).collect::<EngineResult<Vec<Value>>>()?;
            if some.is_empty() {
                return Ok(kept);
            }
            let done = caches::ask(cache, "import", json!({ "answers": some, "vectors": head["vectors"] }))?;
            kept += done["kept"].as_u64().unwrap_or_default();
        }
    }
}

/// Gives all answers vectors of the installed model, and returns how many got one.
pub fn reembed(cache: &Cache) -> EngineResult<u64> {
    let (mut restart, mut embedded) = (true, 0);
    loop {
        let done = caches::ask(cache, "reembed", json!({ "restart": restart }))?;
        embedded += done["embedded"].as_u64().unwrap_or_default();
        restart = false;
        if done["more"] != true {
            return Ok(embedded);
        }
    }
}
