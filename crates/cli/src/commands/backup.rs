//! `nuthatch backup`: makes a backup, and lists, checks or deletes those that there are.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use nuthatch_link::{BackupCheck, BackupInfo, BackupOptions, BackupReport, Backups, BackupsDeleted};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BAD, BOLD, DIM, GOOD, Out, plain};
use crate::progress::Meter;
use crate::units::{bytes, count, duration, parse_bytes};
use crate::{folder, interrupt};

#[derive(Args)]
pub struct Backup {
    /// The folder for backups, best on another disk; created if missing
    #[arg(value_name = "DEST")]
    place: PathBuf,
    /// List the backups in it instead
    #[arg(long, conflicts_with_all = ["verify", "delete"])]
    list: bool,
    /// Read every object in it instead, and name damaged ones
    #[arg(long, conflicts_with = "delete")]
    verify: bool,
    /// Delete this backup instead, and the objects that only it needs; may be repeated
    #[arg(long, value_name = "ID")]
    delete: Vec<String>,
    /// After the backup, delete all but the newest N of each data folder
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "verify", "delete"])]
    keep: Option<usize>,
    /// Leave the indexes out: the backup is smaller, and a restored folder rebuilds them
    #[arg(long, conflicts_with_all = ["list", "verify", "delete"])]
    without_indexes: bool,
    /// Read at most this much per second, for example 50MB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with_all = ["list", "verify", "delete"])]
    rate: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

impl Backup {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let backups = Backups::at(&self.place);
        if self.list {
            return list(out, &backups.list()?, self.json);
        }
        if !self.delete.is_empty() {
            let deleted = backups.delete(&self.delete);
            // A place of backups can be looked after where there is no data folder.
            let deleted = match folder::existing(globals) {
                Ok(folder) => self.act(globals, &folder, "backup.delete").end(deleted, deleted_details)?,
                Err(_) => deleted?,
            };
            match self.json {
                true => output::json(out, &deleted_json(&deleted))?,
                false => show_deleted(out, &deleted)?,
            }
            return Ok(Outcome::Done);
        }
        if self.verify {
            return self.check(&backups, out);
        }
        let database = folder::open(globals)?;
        let cancel = interrupt::flag("Stopping")?;
        let mut meter = Meter::new(self.quiet);
        let mut tell = |progress: &_| meter.show_backup(progress);
        let made = database.backup(
            &self.place,
            BackupOptions {
                indexes: !self.without_indexes,
                rate_bytes_per_second: self.rate,
                on_progress: Some(&mut tell),
                cancel: Some(cancel),
            },
        );
        meter.finish();
        if made.is_err() && cancel.load(std::sync::atomic::Ordering::SeqCst) {
            database.close()?;
            output::note("Interrupted. No backup is listed; run it again to reuse what was stored.");
            return Ok(Outcome::Interrupted);
        }
        let act = self.act(globals, database.folder(), "backup.create");
        let report = act.end(made, |report| vec![("backup", json!(report.backup.id))])?;
        let deleted = self
            .keep
            .map(|keep| self.act(globals, database.folder(), "backup.delete").end(backups.keep(keep), deleted_details));
        let deleted = deleted.transpose()?;
        match self.json {
            true => output::json(out, &report_json(&report, deleted.as_ref()))?,
            false => {
                show(out, &report)?;
                deleted
                    .filter(|deleted| !deleted.backups.is_empty())
                    .map_or(Ok(()), |deleted| show_deleted(out, &deleted))?;
            }
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }

    fn act(&self, globals: &Globals, folder: &Path, action: &'static str) -> AuditedAction {
        AuditedAction::new(globals, folder, action, "").detail("place", self.place.to_string_lossy())
    }

    fn check(&self, backups: &Backups, out: &mut Out) -> Result<Outcome, Failure> {
        let mut meter = Meter::new(self.quiet);
        let mut tell = |progress: &_| meter.show_backup(progress);
        let checked = backups.verify(&[], Some(&mut tell), None);
        meter.finish();
        let check = checked?;
        match self.json {
            true => output::json(out, &check_json(&check))?,
            false => show_check(out, &check)?,
        }
        Ok(if check.is_well() { Outcome::Done } else { Outcome::Damaged })
    }
}

fn deleted_details(deleted: &BackupsDeleted) -> Vec<(&'static str, Value)> {
    vec![("backups", json!(deleted.backups))]
}

fn list(out: &mut Out, backups: &[BackupInfo], as_json: bool) -> Result<Outcome, Failure> {
    match as_json {
        true => output::json(out, &backups.iter().map(info_json).collect::<Vec<_>>())?,
        false => {
            for backup in backups {
                match &backup.damaged {
                    Some(why) => writeln!(out, "{BOLD}{}{BOLD:#}  {BAD}damaged{BAD:#}  {}", backup.id, plain(why))?,
                    None => writeln!(
                        out,
                        "{BOLD}{}{BOLD:#}  {}, {}, {} of it new  {DIM}{}{DIM:#}",
                        backup.id,
                        count(backup.rows(), "record"),
                        bytes(backup.bytes),
                        bytes(backup.new_bytes),
                        plain(&backup.folder)
                    )?,
                }
            }
        }
    }
    out.flush()?;
    if backups.is_empty() {
        output::note("No backups.");
        return Ok(Outcome::NothingFound);
    }
    Ok(Outcome::Done)
}

fn show(out: &mut Out, report: &BackupReport) -> Result<(), Failure> {
    writeln!(
        out,
        "{GOOD}backed up{GOOD:#}  {BOLD}{}{BOLD:#}  {}, {} in {}, {} of it new, {}",
        report.backup.id,
        count(report.backup.rows(), "record"),
        bytes(report.backup.bytes),
        count(report.files, "file"),
        bytes(report.new_bytes),
        duration(report.elapsed)
    )?;
    for why in &report.backup.left_out {
        output::warning(why);
    }
    Ok(())
}

fn show_deleted(out: &mut Out, deleted: &BackupsDeleted) -> Result<(), Failure> {
    Ok(writeln!(
        out,
        "deleted  {} ({}), {} freed",
        count(deleted.backups.len() as u64, "backup"),
        deleted.backups.join(", "),
        bytes(deleted.bytes)
    )?)
}

fn show_check(out: &mut Out, check: &BackupCheck) -> Result<(), Failure> {
    for damage in &check.damage {
        writeln!(out, "{BAD}damaged{BAD:#}  {BOLD}{}{BOLD:#}", plain(&damage.path.to_string_lossy()))?;
        writeln!(out, "         {}", plain(&damage.what))?;
        for file in &damage.files {
            writeln!(out, "         {DIM}needed by{DIM:#} {}", plain(file))?;
        }
        writeln!(
            out,
            "         {DIM}remedy:{DIM:#} delete this file and back up again; the backup stores its contents again if \
            the data folder still has them"
        )?;
    }
    let seen =
        format!("{}, {}, {}", count(check.backups, "backup"), count(check.objects, "object"), bytes(check.bytes));
    match check.is_well() {
        true => writeln!(out, "{GOOD}well{GOOD:#}  {seen}, every byte matches what was stored")?,
        false => writeln!(out, "{seen}, {}", count(check.damage.len() as u64, "damaged file"))?,
    }
    Ok(())
}

pub fn info_json(info: &BackupInfo) -> Value {
    let collections = info.collections.iter().map(|collection| {
        json!({"tenant": collection.tenant, "name": collection.name, "rows": collection.rows, "vectors": collection.vectors})
    });
    json!({
        "id": info.id,
        "created": info.created,
        "folder": info.folder,
        "format": info.format,
        "collections": collections.collect::<Vec<_>>(),
        "tenants": info.tenants.iter().map(|tenant| json!({"number": tenant.number, "name": tenant.name})).collect::<Vec<_>>(),
        "only": info.only,
        "files": info.files,
        "bytes": info.bytes,
        "new_bytes": info.new_bytes,
        "left_out": info.left_out,
        "damaged": info.damaged,
    })
}

fn report_json(report: &BackupReport, deleted: Option<&BackupsDeleted>) -> Value {
    json!({
        "backup": info_json(&report.backup),
        "files": report.files,
        "files_unchanged": report.files_unchanged,
        "read_bytes": report.read_bytes,
        "new_objects": report.new_objects,
        "new_bytes": report.new_bytes,
        "seconds": report.elapsed.as_secs_f64(),
        "deleted": deleted.map(deleted_json),
    })
}

fn deleted_json(deleted: &BackupsDeleted) -> Value {
    json!({"backups": deleted.backups, "objects": deleted.objects, "bytes": deleted.bytes})
}

fn check_json(check: &BackupCheck) -> Value {
    let damage = check
        .damage
        .iter()
        .map(|damage| json!({"path": damage.path.to_string_lossy(), "what": damage.what, "files": damage.files}));
    json!({
        "well": check.is_well(),
        "backups": check.backups,
        "objects": check.objects,
        "bytes": check.bytes,
        "damage": damage.collect::<Vec<_>>(),
    })
}
