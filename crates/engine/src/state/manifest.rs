//! The manifest of a collection's segments: which ones count, up to which change, and which of their rows are dead.

use std::path::Path;

use nuthatch_segment::{read_sealed, write_sealed};
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

pub(crate) const MANIFEST_FILE: &str = "MANIFEST";
const MANIFEST_VERSION: u32 = 1;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: u32,
    /// The last change that the segments and dead rows below account for.
    pub applied: u64,
    pub next_segment: u64,
    pub segments: Vec<SegmentEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub id: u64,
    pub rows: u64,
    /// Dead ordinals: a roaring bitmap in its portable form, in hex.
    pub dead: String,
}

impl SegmentEntry {
    pub fn new(id: u64, rows: u64, dead: &RoaringBitmap) -> Self {
        let mut bytes = Vec::new();
        dead.serialize_into(&mut bytes).expect("writing to memory does not fail");
        Self { id, rows, dead: bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
    }

    pub fn dead(&self) -> Option<RoaringBitmap> {
        let digits = self.dead.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> =
            digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        RoaringBitmap::deserialize_from(&bytes?[..]).ok()
    }
}

impl Manifest {
    /// `None` when the folder has no manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST_FILE);
        let Some(body) = read_sealed(&path)? else {
            return Ok(None);
        };
        let manifest: Self = serde_json::from_slice(&body)
            .map_err(|error| Error::corrupt(&path, format!("{}: {error}", path.display())))?;
        if manifest.version != MANIFEST_VERSION {
            return Err(Error::corrupt(
                &path,
                format!("{} has version {}, this program reads {MANIFEST_VERSION}", path.display(), manifest.version),
            ));
        }
        Ok(Some(manifest))
    }

    pub fn write(mut self, folder: &Path) -> Result<()> {
        self.version = MANIFEST_VERSION;
        let body = serde_json::to_vec_pretty(&self).expect("plain numbers and strings are JSON");
        Ok(write_sealed(&folder.join(MANIFEST_FILE), &body)?)
    }
}
