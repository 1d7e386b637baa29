//! `nuthatch kv cas`: setting a key only if its value is what was expected.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use nuthatch_link::Error;

use crate::args::Globals;
use crate::commands::kv::{Common, bytes};
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units::parse_duration;

#[derive(Args)]
pub struct Cas {
    #[arg(value_name = "KEY")]
    key: OsString,
    /// The new value; - reads standard input
    #[arg(value_name = "VALUE", allow_hyphen_values = true, required_unless_present = "delete")]
    value: Option<OsString>,
    /// The value that the key must have now
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, required_unless_present = "absent")]
    expect: Option<OsString>,
    /// The key must not exist now
    #[arg(long, conflicts_with = "expect")]
    absent: bool,
    /// Delete the key instead of setting it
    #[arg(long, conflicts_with_all = ["value", "ttl", "absent"])]
    delete: bool,
    /// Expire after this time: 30s, 10m, 12h, 7d [default: never]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Cas {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let key = common.key(&self.key)?;
        if self.expect.as_deref().is_some_and(|expect| expect == "-") {
            return Err(Error::invalid("--expect cannot be -: only the new value can come from standard input").into());
        }
        let expected = self.expect.as_deref().map(|value| common.key(value)).transpose()?;
        let new = self.value.as_deref().map(|value| common.value(value)).transpose()?;
        let (database, keyspace) = common.create(globals)?;
        let keyspace = keyspace.with_durability(self.durability.durability);
        let swapped = keyspace.compare_and_set(&key, expected.as_deref(), new.as_deref(), self.ttl)?;
        database.close()?;
        if common.json {
            let mut done = bytes::entry_json(&key, None);
            done.insert("swapped".into(), swapped.into());
            output::json(out, &done)?;
        } else if !swapped {
            output::note(&format!("{} has a different value and was not changed.", bytes::escaped(&key)));
        }
        Ok(if swapped { Outcome::Done } else { Outcome::NothingFound })
    }
}
