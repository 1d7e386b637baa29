//! `nuthatch kv del`: keys, or all that begin alike.

use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use nuthatch_link::Error;
use serde_json::json;

use crate::args::Globals;
use crate::commands::kv::Common;
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units::count;

#[derive(Args)]
pub struct Del {
    #[arg(value_name = "KEY", required_unless_present = "prefix")]
    keys: Vec<OsString>,
    /// Delete all keys that begin with this
    #[arg(long, value_name = "PREFIX", conflicts_with = "keys")]
    prefix: Option<OsString>,
    #[command(flatten)]
    durability: DurabilityArgs,
}

impl Del {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let keys = self.keys.iter().map(|key| common.key(key)).collect::<Result<Vec<_>, _>>()?;
        let prefix = self.prefix.as_deref().map(|prefix| common.key(prefix)).transpose()?;
        if prefix.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid(
                "an empty prefix matches every key; to delete all keys, drop the keyspace with `nuthatch kv drop`",
            )
            .into());
        }
        let (database, keyspace) = common.open_to_write(globals)?;
        let keyspace = keyspace.with_durability(self.durability.durability);
        let deleted = match prefix {
            Some(prefix) => keyspace.delete_prefix(prefix)?,
            None => keyspace.delete(&keys)?,
        };
        database.close()?;
        match common.json {
            true => output::json(out, &json!({ "deleted": deleted }))?,
            false => writeln!(out, "Deleted {}.", count(deleted, "key"))?,
        }
        Ok(if deleted == 0 { Outcome::NothingFound } else { Outcome::Done })
    }
}
