//! `nuthatch kv get`: values, byte by byte.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use clap::Args;
use nuthatch_link::Error;

use crate::args::Globals;
use crate::commands::kv::{Common, bytes};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out, plain};

#[derive(Args)]
pub struct Get {
    /// Keys to print; several need --json, since nothing else separates the values
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<OsString>,
}

impl Get {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        if self.keys.len() > 1 && !common.json {
            return Err(Error::invalid("the values of several keys would run together; add --json").into());
        }
        let keys = self.keys.iter().map(|key| common.key(key)).collect::<Result<Vec<_>, _>>()?;
        let (database, keyspace) = common.open(globals)?;
        let values = keyspace.multi_get(&keys)?;
        let mut outcome = Outcome::Done;
        for (key, value) in keys.iter().zip(&values) {
            if value.is_none() {
                output::warning(&format!("no key {} in keyspace {:?}", bytes::escaped(key), keyspace.name()));
                outcome = Outcome::NothingFound;
            }
        }
        match (common.json, values.first()) {
            (true, _) => {
                let found = keys.iter().zip(&values).filter(|(_, value)| value.is_some());
                let found: Vec<_> = found.map(|(key, value)| bytes::entry_json(key, value.as_deref())).collect();
                output::json(out, &found)?;
            }
            (false, Some(Some(value))) => print(out, value)?,
            (false, _) => {}
        }
        out.flush()?;
        database.close()?;
        Ok(outcome)
    }
}

/// To a terminal what is fit for it, with an end of line; elsewhere the bytes as they are, past everything that would change them.
fn print(out: &mut Out, value: &[u8]) -> Result<(), Failure> {
    let stdout = std::io::stdout();
    match stdout.is_terminal() {
        true => {
            let text = plain(&String::from_utf8_lossy(value));
            write!(out, "{text}{}", if text.ends_with('\n') { "" } else { "\n" })?;
        }
        false => {
            let mut stdout = stdout.lock();
            stdout.write_all(value)?;
            stdout.flush()?;
        }
    }
    Ok(())
}
