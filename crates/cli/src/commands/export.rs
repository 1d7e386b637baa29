//! `nuthatch export`: everything as JSON lines.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use nuthatch_link::{Error, ExportOptions};
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::progress::Meter;
use crate::units::{bytes, count, duration};
use crate::{folder, interrupt};

#[derive(Args)]
pub struct Export {
    /// The target: a new or empty folder
    #[arg(value_name = "DIR")]
    target: PathBuf,
    /// Only this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// The format of the files
    #[arg(long, value_enum, default_value_t = Format::Jsonl, value_name = "FORMAT")]
    format: Format,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Jsonl,
    /// Written by the Python package
    Parquet,
}

impl Export {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if self.format == Format::Parquet {
            return Err(Error::invalid(
                "this command writes JSON lines; the Python package writes Parquet (with pyarrow): \
                `nuthatch.connect(FOLDER).export_to(DIR, format=\"parquet\")`",
            )
            .into());
        }
        let database = folder::open(globals)?;
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut tell = |progress: &_| meter.show_transfer(progress);
        let exported = database.export(
            &self.target,
            ExportOptions { collection: self.collection.clone(), on_progress: Some(&mut tell), cancel: Some(cancel) },
        );
        meter.finish();
        if exported.is_err() && cancel.load(Ordering::SeqCst) {
            database.close()?;
            output::note("Interrupted. The files so far have no manifest and are not an export; delete them.");
            return Ok(Outcome::Interrupted);
        }
        let report = exported?;
        match self.json {
            true => output::json(
                out,
                &json!({
                    "folder": report.folder.to_string_lossy(),
                    "collections": report.collections,
                    "keyspaces": report.keyspaces,
                    "graphs": report.graphs,
                    "records": report.records,
                    "files": report.files,
                    "keys": report.keys,
                    "nodes": report.nodes,
                    "edges": report.edges,
                    "fact_sets": report.fact_sets,
                    "facts": report.facts,
                    "trees": report.trees,
                    "versions": report.versions,
                    "bytes": report.bytes,
                    "seconds": report.elapsed.as_secs_f64(),
                }),
            )?,
            false => writeln!(
                out,
                "{GOOD}exported{GOOD:#}  {BOLD}{}{BOLD:#}  {}, {}, {}, {}, {}, {}",
                report.folder.display(),
                count(report.records, "record"),
                count(report.keys, "key"),
                count(report.facts, "fact"),
                count(report.versions, "version of files"),
                bytes(report.bytes),
                duration(report.elapsed)
            )?,
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}
