//! `nuthatch kv ttl` and `expire`: how long a key has to live.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use clap::Args;

use crate::args::Globals;
use crate::commands::kv::{Common, bytes};
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units::parse_duration;

#[derive(Args)]
pub struct Ttl {
    #[arg(value_name = "KEY")]
    key: OsString,
}

impl Ttl {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let key = common.key(&self.key)?;
        let (database, keyspace) = common.open(globals)?;
        let left = keyspace.expires_in(&key)?;
        database.close()?;
        let Some(left) = left else { return Ok(missing(&key, keyspace.name())) };
        let seconds = left.map(|left| left.as_secs_f64());
        match (common.json, seconds) {
            (true, _) => {
                let mut found = bytes::entry_json(&key, None);
                found.insert("ttl_seconds".into(), seconds.into());
                output::json(out, &found)?;
            }
            (false, Some(seconds)) => writeln!(out, "{seconds:.3}")?,
            (false, None) => writeln!(out, "never")?,
        }
        Ok(Outcome::Done)
    }
}

#[derive(Args)]
pub struct Expire {
    #[arg(value_name = "KEY")]
    key: OsString,
    /// Expire this long from now: 30s, 10m, 12h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_duration, required_unless_present = "never")]
    ttl: Option<Duration>,
    /// Never expire
    #[arg(long, conflicts_with = "ttl")]
    never: bool,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Expire {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let key = common.key(&self.key)?;
        let (database, keyspace) = common.open_to_write(globals)?;
        let there = keyspace.with_durability(self.durability.durability).expire(&key, self.ttl)?;
        database.close()?;
        if !there {
            return Ok(missing(&key, keyspace.name()));
        }
        if common.json {
            let mut done = bytes::entry_json(&key, None);
            done.insert("ttl_seconds".into(), self.ttl.map(|ttl| ttl.as_secs_f64()).into());
            output::json(out, &done)?;
        }
        Ok(Outcome::Done)
    }
}

fn missing(key: &[u8], keyspace: &str) -> Outcome {
    output::warning(&format!("no key {} in keyspace {keyspace:?}", bytes::escaped(key)));
    Outcome::NothingFound
}
