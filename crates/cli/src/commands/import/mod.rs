//! `nuthatch import`: what `nuthatch export` wrote, and what other programs did.

mod foreign;
mod replay;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use nuthatch_link::ImportOptions;
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::progress::Meter;
use crate::units::{count, duration};
use crate::{folder, interrupt};

#[derive(Args)]
#[command(after_help = "\
nuthatch import out                                     # what `nuthatch export out` wrote
nuthatch import --from chroma ./chroma
nuthatch import --from pgvector dump.sql --collection items --set text=body
nuthatch import --from faiss docs.index --set records=docs.jsonl --set metric=cosine
nuthatch import --from redis dump.rdb")]
pub struct Import {
    /// The folder that `nuthatch export` wrote; with --from, the folder or file of the other program
    #[arg(value_name = "PATH")]
    source: PathBuf,
    /// The program that wrote it. The Python package reads it: nothing is stored unless all of it is
    #[arg(long, value_enum, value_name = "PROGRAM", conflicts_with = "merge")]
    from: Option<Program>,
    /// With --from: an argument of its importer, as `nuthatch.importers` describes it; may be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "from")]
    set: Vec<String>,
    /// Only this collection or table
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Also import into existing collections and keyspaces, and replace entries with the same id or
    /// key
    #[arg(long)]
    merge: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Programs whose files are read.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    Chroma,
    Faiss,
    Gptcache,
    Lancedb,
    Mneme,
    Pgvector,
    Qdrant,
    Redis,
    Skeg,
    SqliteVec,
    /// A file of Redis commands without an RDB preamble, as the importer of Redis' files makes one.
    #[value(hide = true)]
    RedisCommands,
}

impl Import {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        match self.from {
            None => {}
            Some(Program::RedisCommands) => return replay::run(globals, &self.source, out),
            Some(program) => return foreign::run(self, program, globals),
        }
        let database = folder::create(globals)?;
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut tell = |progress: &_| meter.show_transfer(progress);
        let imported = database.import(
            &self.source,
            ImportOptions {
                collection: self.collection.clone(),
                merge: self.merge,
                on_progress: Some(&mut tell),
                cancel: Some(cancel),
            },
        );
        meter.finish();
        if imported.is_err() && cancel.load(Ordering::SeqCst) {
            database.close()?;
            output::note("Interrupted. Imported records stay; run it again with `--merge` to import the rest.");
            return Ok(Outcome::Interrupted);
        }
        let report = imported?;
        match self.json {
            true => output::json(
                out,
                &json!({
                    "collections": report.collections,
                    "keyspaces": report.keyspaces,
                    "graphs": report.graphs,
                    "records": report.records,
                    "files": report.files,
                    "keys": report.keys,
                    "nodes": report.nodes,
                    "edges": report.edges,
                    "trees": report.trees,
                    "seconds": report.elapsed.as_secs_f64(),
                }),
            )?,
            false => writeln!(
                out,
                "{GOOD}imported{GOOD:#}  {BOLD}{}{BOLD:#}  {}, {}, {}",
                [&report.collections[..], &report.keyspaces, &report.graphs, &report.trees].concat().join(", "),
                count(report.records, "record"),
                count(report.keys, "key"),
                duration(report.elapsed)
            )?,
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}
