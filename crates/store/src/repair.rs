//! Saving what can be saved from a damaged store. Nothing is thrown away: what was damaged is copied aside first.

use std::path::{Path, PathBuf};

use nuthatch_segment::copy_durably;
use rocksdb::{DB, Options};

use crate::log_check::{LogHole, Verdict, check_logs};
use crate::rocks_threads::Threads;
use crate::verify::{Damage, record_checksums, verify};
use crate::{Result, RocksStore, StoreError, StoreOptions};

/// The outcome of a repair.
#[derive(Debug, Default)]
pub struct RepairReport {
    /// The damage found before the repair.
    pub damage: Vec<Damage>,
    /// Where the log was cut, and how many intact batches went with what is behind the damage.
    pub cut: Option<LogHole>,
    /// Copies of the damaged files.
    pub quarantined: Vec<PathBuf>,
}

/// Copies every damaged file of `folder` into `quarantine`, then makes the store open again: the log is cut at its
/// damage, table files that cannot be read are left out, a lost MANIFEST is rebuilt from the table files.
/// Acknowledged writes that were in the damaged part are lost; the report names the files. The store must be closed.
pub fn repair(folder: &Path, quarantine: &Path, options: StoreOptions) -> Result<RepairReport> {
    // Files first: opening the store replays the log and removes it, damage and all.
    let mut damage = verify(folder)?;
    if damage.is_empty() {
        // Then the blocks of table files that are too young for a checksum of their own.
        let store = RocksStore::open(folder, options)?;
        for error in store.read_everything() {
            match error {
                StoreError::Corrupt { path, what } => damage.push(Damage { path, what }),
                other => return Err(other),
            }
        }
    }
    let mut report = RepairReport { damage, ..RepairReport::default() };
    if report.damage.is_empty() {
        return Ok(report);
    }
    std::fs::create_dir_all(quarantine).map_err(StoreError::io(quarantine))?;
    if let Verdict::Torn { hole, later } | Verdict::Damaged { hole, later } =
        check_logs(folder, None).map_err(StoreError::io(folder))?
    {
        for log in later.iter().chain([&hole.path]) {
            let copy = quarantine.join(log.file_name().unwrap_or_default());
            copy_durably(log, &copy).map_err(StoreError::io(log))?;
            report.quarantined.push(copy);
        }
        hole.cut(&later).map_err(StoreError::io(&hole.path))?;
        report.cut = Some(hole);
    }
    let (mut lost_structure, mut lost_tables) = (false, false);
    for found in &report.damage {
        let name = found.path.file_name().unwrap_or_default().to_string_lossy();
        let copy = quarantine.join(&*name);
        if found.path.is_file() && !report.quarantined.contains(&copy) {
            copy_durably(&found.path, &copy).map_err(StoreError::io(&found.path))?;
            report.quarantined.push(copy);
        }
        let remove = if name.ends_with(".sst") {
            lost_tables = true;
            true
        } else {
            lost_structure |= name.starts_with("MANIFEST-") || name == "CURRENT";
            // RocksDB recreates these; IDENTITY and OPTIONS hold no user data.
            name == "CHECKSUMS" || name == "IDENTITY" || name.starts_with("OPTIONS-")
        };
        if remove && found.path.is_file() {
            std::fs::remove_file(&found.path).map_err(StoreError::io(&found.path))?;
        }
    }
    if lost_structure || lost_tables {
        let _threads = Threads::wanted();
        let mut plain = Options::default();
        plain.create_if_missing(true);
        DB::repair(&plain, folder).map_err(|error| StoreError::from_rocksdb(folder, error))?;
    }
    let repaired = RocksStore::open(folder, options)?;
    repaired.flush()?;
    drop(repaired);
    // Noted again: rewritten files have other checksums now.
    match std::fs::remove_file(folder.join("CHECKSUMS")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::io(folder)(error)),
        _ => record_checksums(folder, None)?,
    }
    Ok(report)
}
