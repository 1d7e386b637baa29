//! `nuthatch embed`: makes the vectors that are still to come, and shows how far that is.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_link::{Collection, Database};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, Out};
use crate::progress::Meter;
use crate::units::{count, duration};
use crate::{folder, interrupt};

/// How long the engine is waited for before the next look at how far it is.
const SLICE: Duration = Duration::from_millis(250);

#[derive(Args)]
pub struct Embed {
    /// Only this collection [default: all]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

impl Embed {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_to_write(globals)?;
        let names = folder::collections(&database, self.collection.as_deref())?;
        let named = names.iter().map(|name| database.existing_collection(name));
        let mut collections = named.collect::<Result<Vec<_>, _>>()?;
        if self.collection.is_none() {
            collections.extend(database.passages_of_trees()?);
        }
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut is_interrupted = false;
        for collection in &collections {
            let (before, started) = (collection.info()?.pending, Instant::now());
            if before == 0 {
                continue;
            }
            let ended = wait(collection, before, &mut meter, &|| cancel.load(Ordering::SeqCst));
            is_interrupted = !ended.inspect_err(|_| meter.finish())?;
            if is_interrupted {
                break;
            }
            let took = started.elapsed();
            let name = shown(collection.name());
            writeln!(out, "{BOLD}{name}{BOLD:#}  {} made, {}", count(before, "vector"), duration(took))?;
        }
        meter.finish();
        out.flush()?;
        database.close()?;
        if is_interrupted {
            output::note("Interrupted. What was made stays; run the same command again to do the rest.");
            return Ok(Outcome::Interrupted);
        }
        Ok(Outcome::Done)
    }
}

/// Returns the display name of a collection. That of the passages of trees has a name that no user can give.
fn shown(name: &str) -> &str {
    if name.starts_with('/') { "trees" } else { name }
}

/// Waits until a collection has all vectors, or somebody stops it.
pub fn wait_for(collection: &Collection, meter: &mut Meter, cancel: &AtomicBool) -> Result<bool, Failure> {
    let before = collection.info()?.pending;
    let done = wait(collection, before, meter, &|| cancel.load(Ordering::SeqCst));
    meter.finish();
    done
}

/// False when it was stopped first.
fn wait(
    collection: &Collection,
    before: u64,
    meter: &mut Meter,
    is_stopped: &dyn Fn() -> bool,
) -> Result<bool, Failure> {
    let started = Instant::now();
    while !collection.wait_until_embedded(Some(SLICE))? {
        if is_stopped() {
            return Ok(false);
        }
        let left = collection.info()?.pending;
        meter.show_vectors(shown(collection.name()), before.saturating_sub(left), before.max(left), started.elapsed());
    }
    Ok(true)
}

/// Leaves a process behind that does what is still to come, vectors (`embed`) or the index of trees (`index`), if nobody else has the
/// folder open. It ends by itself, and Ctrl-C in this terminal is not for it.
pub fn leave_behind(globals: &Globals, folder: &std::path::Path, work: &str) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--data-dir").arg(folder);
    if let Some(tenant) = folder::tenant(globals) {
        command.args(["--tenant", tenant]);
    }
    if let Some(bytes) = globals.memory_budget {
        command.args(["--memory-budget", &bytes.to_string()]);
    }
    command.args([work, "--quiet"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Nobody waits for it: it outlives this process.
    command.spawn().map(drop)
}

/// Whether this process is the one that has the folder open.
pub fn holds(database: &Database) -> Result<bool, Failure> {
    Ok(database.holder()?.is_this)
}
