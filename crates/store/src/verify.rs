//! Checking every byte of the store's folder, and naming what is wrong.
//!
//! RocksDB checks the blocks that it reads. Files that it reads rarely (OPTIONS, IDENTITY) or partly (filters, properties)
//! are covered by whole-file checksums kept in `CHECKSUMS`, a sealed file next to them, brought up to date after
//! flushes and at close; logs and the MANIFEST carry a checksum per record.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use nuthatch_segment::{read_sealed, seal, write_sealed};

use crate::log_check::{Verdict, check_logs};
use crate::log_file::{LogPart, walk};
use crate::rocks_store::RocksStore;
use crate::{Result, StoreError};

/// A file whose bytes are not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file that has the damage.
    pub path: PathBuf,
    /// How it differs from what was written.
    pub what: String,
}

pub(crate) const CHECKSUMS: &str = "CHECKSUMS";

pub(crate) type Sums = BTreeMap<String, (u64, u32)>;

/// Notes the checksums of files that have become immutable since the last call. Cheap when there are none.
///
/// `live` names the table files of an open store: others may be half written. Of a closed store, every table file counts.
pub(crate) fn record_checksums(folder: &Path, live: Option<&[String]>) -> Result<()> {
    let mut known = read_sums(folder).unwrap_or_default(); // damaged: noted at open, rewritten here
    let is_whole = |name: &String| match live {
        Some(live) if name.ends_with(".sst") => live.contains(name),
        _ => is_immutable(name),
    };
    let names: Vec<String> = file_names(folder)?.into_iter().filter(is_whole).collect();
    let before = known.clone();
    known.retain(|name, _| names.contains(name));
    for name in names {
        if let std::collections::btree_map::Entry::Vacant(place) = known.entry(name) {
            let path = folder.join(place.key());
            match checksum_of(&path) {
                Ok(sum) => drop(place.insert(sum)),
                // Compaction may remove a file at any moment.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io(&path)(error)),
            }
        }
    }
    if known == before {
        return Ok(());
    }
    write_sealed(&folder.join(CHECKSUMS), &body_of(&known)).map_err(StoreError::io(&folder.join(CHECKSUMS)))
}

fn body_of(sums: &Sums) -> Vec<u8> {
    serde_json::to_vec_pretty(sums).expect("names and numbers are always JSON")
}

/// The bytes of a `CHECKSUMS` file.
pub(crate) fn sealed_sums(sums: &Sums) -> Vec<u8> {
    seal(&body_of(sums))
}

/// Returns the checksums recorded for a folder; none if their file is damaged.
pub(crate) fn known_sums(folder: &Path) -> Sums {
    read_sums(folder).unwrap_or_default()
}

/// Every damaged file in the folder of a store that is closed.
pub fn verify(folder: &Path) -> Result<Vec<Damage>> {
    check_files(folder, None)
}

/// The same of one that is open. Its live blocks are read through RocksDB as well, which covers table files too young for
/// `CHECKSUMS`.
pub(crate) fn verify_open(store: &RocksStore) -> Result<Vec<Damage>> {
    let mut damage = check_files(store.folder(), Some(store.published()))?;
    for error in store.read_everything() {
        let found = match error {
            StoreError::Corrupt { path, what } => Damage { path, what },
            other => return Err(other),
        };
        if !damage.iter().any(|known| known.path == found.path) {
            damage.push(found);
        }
    }
    Ok(damage)
}

/// Damage in the small files that RocksDB puts right silently when it opens: look before it does. Cheap.
pub fn verify_small(folder: &Path) -> Result<Vec<Damage>> {
    let is_small = |name: &str| name == "IDENTITY" || name.starts_with("OPTIONS-");
    let (sums, mut damage) = match read_sums(folder) {
        Ok(sums) => (sums, Vec::new()),
        Err(found) => (Sums::new(), vec![found]),
    };
    for name in sums.keys().filter(|name| is_small(name)) {
        let path = folder.join(name);
        match check_file(&path, name, &[], &sums, true) {
            Ok(what) => damage.extend(what.map(|what| Damage { path, what })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io(&path)(error)),
        }
    }
    Ok(damage)
}

/// Names the file behind a failed open where RocksDB does not.
pub(crate) fn blame(folder: &Path, error: rocksdb::Error) -> StoreError {
    let said = StoreError::from_rocksdb(folder, error);
    if matches!(said, StoreError::Full { .. } | StoreError::Busy { .. }) {
        return said;
    }
    match check_files(folder, None).ok().and_then(|all| all.into_iter().next()) {
        Some(Damage { path, what }) => StoreError::Corrupt { path, what },
        None => said,
    }
}

/// `published`: the last sequence of a store that is open. RocksDB is still writing, so logs end in the middle of a
/// record now and then, and old files vanish.
pub(crate) fn check_files(folder: &Path, published: Option<u64>) -> Result<Vec<Damage>> {
    let live = published.is_some();
    let mut damage = Vec::new();
    match check_logs(folder, published).map_err(StoreError::io(folder))? {
        Verdict::Whole => {}
        Verdict::Torn { hole, .. } | Verdict::Damaged { hole, .. } => {
            damage.push(Damage { what: hole.describe(), path: hole.path });
        }
    }
    let sums = match read_sums(folder) {
        Ok(sums) => sums,
        Err(found) => {
            damage.push(found);
            Sums::new()
        }
    };
    let names = file_names(folder)?;
    for name in &names {
        let path = folder.join(name);
        let what = match check_file(&path, name, &names, &sums, live) {
            Err(error) if live && error.kind() == std::io::ErrorKind::NotFound => None,
            checked => checked.map_err(StoreError::io(&path))?,
        };
        damage.extend(what.map(|what| Damage { path, what }));
    }
    Ok(damage)
}

/// Checks one file, and returns what is wrong with it, if anything.
fn check_file(path: &Path, name: &str, names: &[String], sums: &Sums, live: bool) -> std::io::Result<Option<String>> {
    if name.starts_with("MANIFEST-") {
        return manifest_damage(path, live);
    }
    if name == "CURRENT" {
        #[allow(clippy::disallowed_methods, reason = "the name in it is checked")]
        let current = std::fs::read(path)?;
        let target = std::str::from_utf8(&current).ok().and_then(|text| text.strip_suffix('\n'));
        // A live store may have moved on to the next MANIFEST since the names were listed.
        let known =
            |target: &str| names.iter().any(|name| name == target) || live && path.with_file_name(target).exists();
        let fine = target.is_some_and(|target| target.starts_with("MANIFEST-") && known(target));
        return Ok((!fine).then(|| "does not name a MANIFEST of this folder".to_string()));
    }
    let Some(expected) = sums.get(name) else { return Ok(None) };
    let found = checksum_of(path)?;
    Ok((found != *expected).then(|| {
        format!(
            "{} bytes with CRC-32C {:08x}, but {} bytes with {:08x} were written",
            found.0, found.1, expected.0, expected.1
        )
    }))
}

fn manifest_damage(path: &Path, live: bool) -> std::io::Result<Option<String>> {
    let (mut bad, mut after) = (None, 0);
    walk(path, None, &mut |found| match found {
        LogPart::Hole { offset, torn } => drop(bad.get_or_insert((offset, torn))),
        LogPart::Record { .. } => after += u64::from(bad.is_some()),
    })?;
    Ok(match (bad, after) {
        (Some((offset, true)), 0) if !live => {
            Some(format!("the record at byte {offset} is damaged, and nothing intact follows it"))
        }
        (None, _) | (_, 0) => None, // the unwritten rest, or what is only being written
        (Some((offset, _)), after) => {
            Some(format!("the record at byte {offset} is damaged, with {after} intact ones after it"))
        }
    })
}

fn read_sums(folder: &Path) -> std::result::Result<Sums, Damage> {
    let path = folder.join(CHECKSUMS);
    let damaged = |what: String| Damage { path: path.clone(), what };
    match read_sealed(&path) {
        Ok(Some(body)) => serde_json::from_slice(&body).map_err(|error| damaged(error.to_string())),
        Ok(None) => Ok(Sums::new()),
        Err(error) => Err(damaged(error.to_string())),
    }
}

pub(crate) fn is_immutable(name: &str) -> bool {
    name.ends_with(".sst") || name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp") || name == "IDENTITY"
}

fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).map_err(StoreError::io(folder))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::io(folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn checksum_of(path: &Path) -> std::io::Result<(u64, u32)> {
    let mut file = std::fs::File::open(path)?;
    let (mut bytes, mut checksum) = (0, 0);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((bytes, checksum)),
            read => {
                checksum = crc32c::crc32c_append(checksum, &buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}
