//! `nuthatch kv count`: about how many keys there are.

use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::args::Globals;
use crate::commands::kv::Common;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};

#[derive(Args)]
#[command(after_help = "Counts up to 10,000 are exact; larger counts are estimates from file sizes.")]
pub struct Count {
    /// Only keys that begin with this
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<OsString>,
}

impl Count {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let prefix = self.prefix.as_deref().map(|prefix| common.key(prefix)).transpose()?.unwrap_or_default();
        let (database, keyspace) = common.open(globals)?;
        let counted = keyspace.count_estimate(prefix)?;
        database.close()?;
        match common.json {
            true => output::json(out, &json!({ "count_estimate": counted }))?,
            false => writeln!(out, "{counted}")?,
        }
        Ok(Outcome::Done)
    }
}
