//! `nuthatch kv scan`: keys in order, a line each.

use std::ffi::OsString;
use std::io::Write;
use std::ops::Bound;

use clap::Args;
use nuthatch_link::{KeyScan, Result as EngineResult};

use crate::args::Globals;
use crate::commands::kv::{Common, bytes};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out, SOURCE};

/// Keys that are read at once.
const PAGE: u64 = 1000;

#[derive(Args)]
pub struct Scan {
    /// Only keys that begin with this
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<OsString>,
    /// Start at this key
    #[arg(long, value_name = "KEY")]
    start: Option<OsString>,
    /// Stop before this key
    #[arg(long, value_name = "KEY")]
    stop: Option<OsString>,
    /// List the last key first
    #[arg(long)]
    reverse: bool,
    /// Maximum number of keys [default: all]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Continue after the page that gave this cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Omit the values
    #[arg(long)]
    keys_only: bool,
}

impl Scan {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let mut scan = self.scan(common)?;
        let (database, keyspace) = common.open(globals)?;
        let mut shown = 0;
        let mut left = self.limit.unwrap_or(u64::MAX);
        // One JSON document, written as it is read.
        if common.json {
            write!(out, "{{\"entries\": [")?;
        }
        loop {
            scan.limit = left.min(PAGE) as usize;
            let page = keyspace.scan(&scan)?;
            left -= page.entries.len() as u64;
            for (key, value) in &page.entries {
                let value = (!self.keys_only).then_some(value.as_slice());
                match common.json {
                    true => {
                        write!(out, "{}", if shown == 0 { "\n  " } else { ",\n  " })?;
                        serde_json::to_writer(&mut *out, &bytes::entry_json(key, value))
                            .map_err(std::io::Error::from)?;
                    }
                    false => {
                        write!(out, "{SOURCE}{}{SOURCE:#}", bytes::escaped(key))?;
                        match value {
                            Some(value) => writeln!(out, "\t{}", bytes::escaped(value))?,
                            None => writeln!(out)?,
                        }
                    }
                }
                shown += 1;
            }
            scan.cursor = page.cursor;
            if scan.cursor.is_none() || left == 0 {
                break;
            }
        }
        if common.json {
            let end = if shown == 0 { "" } else { "\n" };
            writeln!(out, "{end}], \"cursor\": {}}}", serde_json::json!(scan.cursor))?;
        }
        out.flush()?;
        if let Some(cursor) = scan.cursor.filter(|_| !common.json) {
            output::note(&format!("There is more: --cursor {cursor}"));
        }
        database.close()?;
        Ok(if shown == 0 { Outcome::NothingFound } else { Outcome::Done })
    }

    fn scan(&self, common: &Common) -> EngineResult<KeyScan> {
        let key = |typed: &Option<OsString>| typed.as_deref().map(|typed| common.key(typed)).transpose();
        Ok(KeyScan {
            prefix: key(&self.prefix)?.unwrap_or_default(),
            from: key(&self.start)?.map_or(Bound::Unbounded, Bound::Included),
            to: key(&self.stop)?.map_or(Bound::Unbounded, Bound::Excluded),
            reverse: self.reverse,
            cursor: self.cursor.clone(),
            keys_only: self.keys_only,
            ..KeyScan::default()
        })
    }
}
