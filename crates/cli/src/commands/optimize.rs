//! `nuthatch optimize`: merges segments, and shows how far the graph is that is being built.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_link::{Collection, CollectionInfo};
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, Out};
use crate::progress::Meter;
use crate::units::{count, duration};
use crate::{folder, interrupt};

/// How long the engine is waited for before the next look at its progress.
const SLICE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub struct Optimize {
    /// Only this collection [default: all]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// The result for one collection.
struct Optimized {
    before: CollectionInfo,
    after: CollectionInfo,
    took: Duration,
}

impl Optimize {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_to_write(globals)?;
        let names = folder::collections(&database, self.collection.as_deref())?;
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut done = Vec::with_capacity(names.len());
        for name in &names {
            let collection = database.existing_collection(name)?;
            let (before, started) = (collection.info()?, Instant::now());
            let ended = wait(&collection, &mut meter, &|| cancel.load(Ordering::SeqCst));
            if !ended.inspect_err(|_| meter.finish())? {
                break;
            }
            done.push(Optimized { before, after: collection.info()?, took: started.elapsed() });
        }
        meter.finish();
        let is_interrupted = done.len() < names.len();
        match self.json {
            true => output::json(out, &done.iter().map(as_json).collect::<Vec<_>>())?,
            false => done.iter().try_for_each(|done| show(out, done))?,
        }
        out.flush()?;
        database.close()?;
        if is_interrupted {
            output::note("Interrupted. Finished work stays; run the same command again to do the rest.");
            return Ok(Outcome::Interrupted);
        }
        Ok(Outcome::Done)
    }
}

/// False when it was stopped first.
fn wait(collection: &Collection, meter: &mut Meter, is_stopped: &dyn Fn() -> bool) -> Result<bool, Failure> {
    while !collection.optimize(Some(SLICE))? {
        if is_stopped() {
            return Ok(false);
        }
        meter.show_build(collection.name(), collection.info()?.building.as_ref());
    }
    Ok(true)
}

fn show(out: &mut Out, done: &Optimized) -> Result<(), Failure> {
    let Optimized { before, after, took } = done;
    let segments = match before.segments == after.segments {
        true => count(after.segments as u64, "segment"),
        false => format!("{} instead of {}", count(after.segments as u64, "segment"), before.segments),
    };
    Ok(writeln!(
        out,
        "{BOLD}{}{BOLD:#}  {}, {segments}, {}, {}",
        after.name,
        count(after.rows, "record"),
        count(after.vector_graphs as u64, "vector graph"),
        duration(*took)
    )?)
}

fn as_json(done: &Optimized) -> serde_json::Value {
    json!({
        "name": done.after.name,
        "rows": done.after.rows,
        "segments_before": done.before.segments,
        "segments": done.after.segments,
        "vector_graphs": done.after.vector_graphs,
        "graphs": done.after.vector_graphs, // the deprecated name
        "seconds": done.took.as_secs_f64(),
    })
}
