//! `nuthatch kv batch`: changes from standard input, a JSON object a line, as one atomic write.

use std::io::{BufRead, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use nuthatch_link::{Error, KvOp, Result as EngineResult, WriteBatch, wording};
use serde::Deserialize;
use serde_json::json;

use crate::args::Globals;
use crate::commands::kv::Common;
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out};
use crate::units::{count, parse_duration};

#[derive(Args)]
#[command(after_help = "\
Each line sets a key, {\"key\": \"a\", \"value\": \"1\"}, or deletes it, {\"key\": \"a\", \"delete\": true}; with \"ttl\": \"10m\" it
expires, and \"keyspace\": \"name\" names another keyspace. Bytes that are not UTF-8 go in \"key_base64\" and \"value_base64\".
nuthatch kv scan --json | jq -c '.entries[]' | nuthatch kv batch -k copy")]
pub struct Batch {
    #[command(flatten)]
    durability: DurabilityArgs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    keyspace: Option<String>,
    key: Option<String>,
    key_base64: Option<String>,
    value: Option<String>,
    value_base64: Option<String>,
    #[serde(default)]
    delete: bool,
    ttl: Option<String>,
}

impl Batch {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let mut batch = WriteBatch::new().with_durability(self.durability.durability);
        let (mut set, mut deleted) = (0, 0);
        for (at, line) in std::io::stdin().lock().lines().enumerate() {
            let wrong = |what: &dyn std::fmt::Display| {
                Error::invalid(format!("line {} of standard input: {what}; nothing was written", at + 1))
            };
            let line = line.map_err(|error| wrong(&error))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = wording::from_json(line.as_bytes()).map_err(|why| wrong(&why))?;
            let keyspace = line.keyspace.clone().unwrap_or_else(|| common.keyspace.clone());
            let op = line.op().map_err(|error| wrong(&error))?;
            match op {
                KvOp::Put { .. } | KvOp::PutUntil { .. } => set += 1,
                KvOp::Delete { .. } => deleted += 1,
            }
            batch.kv(&keyspace, vec![op]);
        }
        let database = folder::create(globals)?;
        database.write(batch)?;
        database.close()?;
        match common.json {
            true => output::json(out, &json!({ "set": set, "deleted": deleted }))?,
            false => writeln!(out, "{} set, {} deleted.", count(set, "key"), deleted)?,
        }
        Ok(Outcome::Done)
    }
}

impl Line {
    fn op(self) -> EngineResult<KvOp> {
        let key = bytes("key", self.key, self.key_base64)?.ok_or_else(|| Error::invalid("\"key\" is missing"))?;
        let value = bytes("value", self.value, self.value_base64)?;
        let expires_in = self.ttl.as_deref().map(parse_duration).transpose().map_err(Error::invalid)?;
        match (value, self.delete) {
            (Some(value), false) => Ok(KvOp::Put { key, value, expires_in }),
            (None, true) if expires_in.is_none() => Ok(KvOp::Delete { key }),
            _ => Err(Error::invalid("give either a \"value\" or \"delete\": true")),
        }
    }
}

/// A text, or bytes in base64.
fn bytes(name: &str, text: Option<String>, base64: Option<String>) -> EngineResult<Option<Vec<u8>>> {
    match (text, base64) {
        (Some(_), Some(_)) => {
            Err(Error::invalid(format!("both \"{name}\" and \"{name}_base64\" are given; give only one")))
        }
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(base64)) => STANDARD
            .decode(&base64)
            .map(Some)
            .map_err(|error| Error::invalid(format!("\"{name}_base64\" is not base64: {error}"))),
        (None, None) => Ok(None),
    }
}
