//! The one thing that is read from RocksDB's MANIFEST: which logs it still needs.
//!
//! Each edit is a list of tagged fields; the format is RocksDB's `VersionEdit`. Whatever is not understood ends the reading of
//! that edit, which errs on the side of looking at a log too many.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use crate::log_file::{LogPart, walk};

/// The lowest number of a log that recovery reads: the one noted for all column families when a log became obsolete, or the
/// smallest of their own. 0 when it cannot be told.
pub(crate) fn oldest_log_needed(folder: &Path) -> std::io::Result<u64> {
    let name = || match std::fs::read_to_string(folder.join("CURRENT")) {
        // Damage here is found and named by others.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        name => name.map(Some),
    };
    let mut current = name()?;
    while let Some(manifest) = current {
        match oldest_log_in(&folder.join(manifest.trim_end())) {
            // An open store begins a manifest now and then, and deletes the one before.
            Err(error) if error.kind() == ErrorKind::NotFound => current = name()?.filter(|now| *now != manifest),
            found => return found,
        }
    }
    Ok(0)
}

fn oldest_log_in(manifest: &Path) -> std::io::Result<u64> {
    let (mut noted, mut needed) = (0, BTreeMap::new());
    walk(manifest, None, &mut |found| {
        let LogPart::Record { bytes, .. } = found else { return };
        let Some(edit) = Edit::read(bytes) else { return };
        noted = noted.max(edit.oldest_log_of_all);
        if let Some(log) = edit.oldest_log {
            needed.insert(edit.family, log);
        }
    })?;
    Ok(noted.max(needed.into_values().min().unwrap_or(0)))
}

#[derive(Default)]
struct Edit {
    family: u64,
    oldest_log: Option<u64>,
    oldest_log_of_all: u64,
}

impl Edit {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut edit = Self::default();
        let mut fields = Fields(bytes);
        while !fields.0.is_empty() {
            match fields.number()? {
                2 => edit.oldest_log = Some(fields.number()?),
                10 => edit.oldest_log_of_all = fields.number()?,
                3 | 4 | 9 | 203 | 300 => drop(fields.number()?),
                5 => {
                    fields.number()?;
                    fields.bytes()?;
                }
                6 => {
                    fields.number()?;
                    fields.number()?;
                }
                103 => fields.new_file()?,
                200 => edit.family = fields.number()?,
                1 | 201 => drop(fields.bytes()?),
                tag if tag & 1 << 13 != 0 => drop(fields.bytes()?),
                _ => return None, // a dropped family among them: it needs no log
            }
        }
        Some(edit)
    }
}

struct Fields<'e>(&'e [u8]);

impl<'e> Fields<'e> {
    /// A number of seven bits a byte, lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'e [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Level, number, size, smallest and largest key and sequence, then tagged fields until tag 1.
    fn new_file(&mut self) -> Option<()> {
        for _ in 0..3 {
            self.number()?;
        }
        for _ in 0..2 {
            self.bytes()?;
        }
        for _ in 0..2 {
            self.number()?;
        }
        while self.number()? != 1 {
            self.bytes()?;
        }
        Some(())
    }
}
