//! `nuthatch doctor`: checks every checksum of the folder, and repairs when told to.

use std::io::Write;
use std::path::Path;

use clap::Args;
use nuthatch_link::{Damage, Database, Error, ErrorKind, Finding, RepairOutcome};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BAD, BOLD, DIM, GOOD, Out, plain};
use crate::units::count;

/// For damage that keeps the folder from being opened.
const OPEN_REMEDY: &str =
    "restore this file from a backup, or salvage what is readable with `nuthatch doctor --repair`";

#[derive(Args)]
pub struct Doctor {
    /// Move damaged files to `quarantine`, keep the readable data, rebuild the indexes
    #[arg(long)]
    repair: bool,
    /// With --repair: list the damage in the stored records and what a repair would lose; change
    /// nothing
    #[arg(long, requires = "repair")]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let root = folder::existing(globals)?;
        if self.dry_run {
            return self.plan(globals, &root, out);
        }
        let (opened, repaired) = match self.repair {
            true => {
                let (database, outcome) = Database::repair(&root, folder::options(globals))?;
                (Ok(database), Some(outcome))
            }
            false => (folder::open(globals), None),
        };
        let (doctor, database) = match opened {
            Ok(database) => (database.doctor()?, Some(database)),
            Err(error) => (unopenable(&root, error)?, None),
        };
        match self.json {
            true => output::json(out, &as_json(&root, &doctor, repaired.as_ref()))?,
            false => {
                if let Some(outcome) = &repaired {
                    show_repair(out, outcome)?;
                }
                show(out, &root, &doctor)?;
            }
        }
        out.flush()?;
        database.map(|database| database.close()).transpose()?;
        Ok(if doctor.is_well() { Outcome::Done } else { Outcome::Damaged })
    }
}

impl Doctor {
    fn plan(&self, globals: &Globals, root: &Path, out: &mut Out) -> Result<Outcome, Failure> {
        let damage = Database::repair_plan(root, &folder::options(globals))?;
        match self.json {
            true => {
                let damaged = damage.iter().map(|d| json!({"path": d.path.to_string_lossy(), "what": d.what}));
                output::json(out, &json!({"folder": root.to_string_lossy(), "damaged": damaged.collect::<Vec<_>>()}))?;
            }
            false if damage.is_empty() => writeln!(out, "A repair would lose nothing: the stored records are sound.")?,
            false => {
                for Damage { path, what } in &damage {
                    writeln!(out, "{BAD}damaged{BAD:#}  {}: {}", plain(&path.to_string_lossy()), plain(what))?;
                }
                writeln!(
                    out,
                    "`nuthatch doctor --repair` would copy these files to `quarantine` and lose their contents; a log \
                    would lose everything from the named byte on, including intact batches after it. Nothing was \
                    changed."
                )?;
            }
        }
        out.flush()?;
        Ok(if damage.is_empty() { Outcome::Done } else { Outcome::Damaged })
    }
}

/// A folder that damage keeps closed is a finding like any other; other errors are errors.
fn unopenable(root: &Path, error: Error) -> Result<nuthatch_link::Doctor, Error> {
    let ErrorKind::Corrupt { path } = &error.kind else {
        return Err(error);
    };
    let path = path.strip_prefix(root).unwrap_or(path).to_path_buf();
    let finding = Finding { path, what: error.message, remedy: OPEN_REMEDY.into() };
    Ok(nuthatch_link::Doctor { findings: vec![finding], ..Default::default() })
}

fn show(out: &mut Out, root: &Path, doctor: &nuthatch_link::Doctor) -> Result<(), Failure> {
    for finding in &doctor.findings {
        writeln!(out, "{BAD}damaged{BAD:#}  {BOLD}{}{BOLD:#}", plain(&finding.path.to_string_lossy()))?;
        writeln!(out, "         {}", plain(&finding.what))?;
        writeln!(out, "         {DIM}remedy:{DIM:#} {}", plain(&finding.remedy))?;
    }
    for note in &doctor.notes {
        writeln!(out, "{DIM}note{DIM:#}     {}", plain(note))?;
    }
    for why in &doctor.degraded {
        writeln!(out, "{BAD}degraded{BAD:#} {}", plain(why))?;
    }
    let seen = format!("{}, {}", count(doctor.collections as u64, "collection"), count(doctor.records, "record"));
    match doctor.is_well() {
        true => writeln!(out, "{GOOD}well{GOOD:#}  {}: {seen}, every checksum holds", root.display())?,
        false => writeln!(out, "{}: {seen}, {}", root.display(), count(doctor.findings.len() as u64, "damaged file"))?,
    }
    Ok(())
}

fn show_repair(out: &mut Out, outcome: &RepairOutcome) -> Result<(), Failure> {
    for damage in &outcome.store {
        writeln!(out, "{BAD}was damaged{BAD:#}  {}: {}", plain(&damage.path.to_string_lossy()), plain(&damage.what))?;
    }
    if outcome.batches_cut > 0 {
        let cut = count(outcome.batches_cut, "intact write");
        writeln!(out, "{BAD}cut{BAD:#}  {cut} after the damage in the log; a copy is in `quarantine`")?;
    }
    for name in &outcome.rebuilt {
        writeln!(out, "{GOOD}rebuilt{GOOD:#}  the indexes of collection {name}")?;
    }
    if outcome.records_lost > 0 {
        writeln!(
            out,
            "{BAD}lost{BAD:#}  {}; {} remain. The damaged files are in `quarantine`.",
            count(outcome.records_lost, "record"),
            outcome.records
        )?;
    }
    if outcome.keys_lost > 0 {
        writeln!(out, "{BAD}lost{BAD:#}  {}: their values could not be read", count(outcome.keys_lost, "key"))?;
    }
    if outcome.store.is_empty() && outcome.rebuilt.is_empty() {
        writeln!(out, "Nothing to repair.")?;
    }
    Ok(())
}

fn as_json(root: &Path, doctor: &nuthatch_link::Doctor, repaired: Option<&RepairOutcome>) -> Value {
    let findings =
        doctor.findings.iter().map(|f| json!({"path": f.path.to_string_lossy(), "what": f.what, "remedy": f.remedy}));
    json!({
        "folder": root.to_string_lossy(),
        "well": doctor.is_well(),
        "findings": findings.collect::<Vec<_>>(),
        "notes": doctor.notes,
        "degraded": doctor.degraded,
        "collections": doctor.collections,
        "records": doctor.records,
        "repair": repaired.map(|outcome| json!({
            "damaged": outcome.store.iter().map(|d| json!({"path": d.path.to_string_lossy(), "what": d.what})).collect::<Vec<_>>(),
            "batches_cut": outcome.batches_cut,
            "rebuilt": outcome.rebuilt,
            "records": outcome.records,
            "records_lost": outcome.records_lost,
            "keys_lost": outcome.keys_lost,
        })),
    })
}
