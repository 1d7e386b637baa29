//! `nuthatch restore`: restores a backup into a new data folder.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;
use nuthatch_link::{Backups, RestoreOptions};
use serde_json::json;

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::commands::backup::info_json;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::progress::Meter;
use crate::units::{bytes, count, duration};
use crate::{folder, interrupt};

#[derive(Args)]
pub struct Restore {
    /// The folder with the backups
    #[arg(value_name = "SOURCE")]
    place: PathBuf,
    /// The data folder to create: new or empty
    #[arg(value_name = "DEST")]
    target: PathBuf,
    /// The backup, as `nuthatch backup --list` names it [default: the newest]
    #[arg(long, value_name = "ID")]
    backup: Option<String>,
    /// Only this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Leave the backup's indexes out; the new folder rebuilds them
    #[arg(long)]
    without_indexes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

impl Restore {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut tell = |progress: &_| meter.show_backup(progress);
        let restored = Backups::at(&self.place).restore(
            &self.target,
            RestoreOptions {
                backup: self.backup.clone(),
                tenant: folder::tenant(globals).map(Into::into),
                collection: self.collection.clone(),
                without_indexes: self.without_indexes,
                options: folder::options(globals),
                on_progress: Some(&mut tell),
                cancel: Some(cancel),
            },
        );
        meter.finish();
        if restored.is_err() && cancel.load(Ordering::SeqCst) {
            output::note("Interrupted. Nothing was restored.");
            return Ok(Outcome::Interrupted);
        }
        // Where nothing was restored there is no folder with a log.
        let report = restored?;
        let act =
            AuditedAction::new(globals, &report.folder, "restore", self.collection.as_deref().unwrap_or_default())
                .detail("place", self.place.to_string_lossy());
        let report = act.end(Ok(report), |report| vec![("backup", json!(report.backup.id))])?;
        match self.json {
            true => output::json(
                out,
                &json!({
                    "folder": report.folder.to_string_lossy(),
                    "backup": info_json(&report.backup),
                    "collections": report.collections,
                    "rows": report.rows,
                    "files": report.files,
                    "bytes": report.bytes,
                    "seconds": report.elapsed.as_secs_f64(),
                }),
            )?,
            false => writeln!(
                out,
                "{GOOD}restored{GOOD:#}  {BOLD}{}{BOLD:#}  backup {}, {}, {} in {}, {}",
                report.folder.display(),
                report.backup.id,
                count(report.rows, "record"),
                bytes(report.bytes),
                count(report.files, "file"),
                duration(report.elapsed)
            )?,
        }
        Ok(Outcome::Done)
    }
}
