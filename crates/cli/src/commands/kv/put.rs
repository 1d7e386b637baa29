//! `nuthatch kv put`, `incr` and `append`: changing one key.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use nuthatch_link::KvOp;
use serde_json::Value;

use crate::args::Globals;
use crate::commands::kv::{Common, bytes};
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units::parse_duration;

#[derive(Args)]
pub struct Put {
    #[arg(value_name = "KEY")]
    key: OsString,
    /// The value; - reads standard input
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: OsString,
    /// Expire after this time: 30s, 10m, 12h, 7d [default: never]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Put {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let (key, value) = (common.key(&self.key)?, common.value(&self.value)?);
        let mut done = bytes::entry_json(&key, None);
        done.insert("bytes".into(), value.len().into());
        let (database, keyspace) = common.create(globals)?;
        let keyspace = keyspace.with_durability(self.durability.durability);
        keyspace.multi_put(vec![KvOp::Put { key, value, expires_in: self.ttl }])?;
        database.close()?;
        if common.json {
            output::json(out, &done)?;
        }
        Ok(Outcome::Done)
    }
}

#[derive(Args)]
pub struct Incr {
    #[arg(value_name = "KEY")]
    key: OsString,
    /// The number to add; may be negative
    #[arg(value_name = "BY", default_value_t = 1, allow_negative_numbers = true)]
    by: i64,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Incr {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let key = common.key(&self.key)?;
        let (database, keyspace) = common.create(globals)?;
        let sum = keyspace.with_durability(self.durability.durability).increment(&key, self.by)?;
        database.close()?;
        show(out, common, &key, "value", sum.into())
    }
}

#[derive(Args)]
pub struct Append {
    #[arg(value_name = "KEY")]
    key: OsString,
    /// The value; - reads standard input
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: OsString,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Append {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let (key, value) = (common.key(&self.key)?, common.value(&self.value)?);
        let (database, keyspace) = common.create(globals)?;
        let length = keyspace.with_durability(self.durability.durability).append(&key, &value)?;
        database.close()?;
        show(out, common, &key, "bytes", length.into())
    }
}

/// A number that a change of a key came to.
fn show(out: &mut Out, common: &Common, key: &[u8], name: &str, number: Value) -> Result<Outcome, Failure> {
    match common.json {
        true => {
            let mut done = bytes::entry_json(key, None);
            done.insert(name.into(), number);
            output::json(out, &done)?;
        }
        false => writeln!(out, "{number}")?,
    }
    Ok(Outcome::Done)
}
