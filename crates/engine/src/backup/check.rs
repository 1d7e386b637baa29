//! Whether a file's bytes are what was written, seen while they are copied.

use std::fs::File;
use std::path::{Path, PathBuf};

use nuthatch_segment::StreamVerifier;

use crate::{Error, Result};

/// Looks at a file's bytes from its beginning to its end.
pub(crate) struct Check {
    /// The file in the data folder, for messages.
    path: PathBuf,
    kind: Kind,
    bytes: u64,
    crc32c: u32,
}

enum Kind {
    /// Has its checksums in itself.
    Index(Box<StreamVerifier>),
    /// Has one that was noted when it was young, if it is old enough.
    Store(Option<(u64, u32)>),
}

impl Check {
    /// A file of an index; one that is none is damaged.
    pub fn index(place: &Path, file: &File, path: PathBuf) -> Result<Self> {
        let verifier = StreamVerifier::open(place, file)?.ok_or_else(|| {
            Error::corrupt(
                &path,
                format!("{} is damaged: its first and last bytes are not those of an index file", path.display()),
            )
        })?;
        Ok(Self { path, kind: Kind::Index(Box::new(verifier)), bytes: 0, crc32c: 0 })
    }

    pub fn store(noted: Option<(u64, u32)>, path: PathBuf) -> Self {
        Self { path, kind: Kind::Store(noted), bytes: 0, crc32c: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Index(verifier) => verifier.push(bytes)?,
            Kind::Store(_) => {
                self.bytes += bytes.len() as u64;
                self.crc32c = crc32c::crc32c_append(self.crc32c, bytes);
            }
        }
        Ok(())
    }

    /// Bytes and CRC-32C of a file of the store.
    pub fn finish(self) -> Result<(u64, u32)> {
        let found = (self.bytes, self.crc32c);
        match self.kind {
            Kind::Index(verifier) => verifier.finish()?,
            Kind::Store(Some(noted)) if noted != found => {
                return Err(Error::corrupt(
                    &self.path,
                    format!(
                        "{}: it has {} bytes with CRC-32C {:08x}, but {} bytes with {:08x} were written; no backup was \
                        made. Restore this folder from an earlier backup, or salvage the rest with `nuthatch doctor \
                        --repair`",
                        self.path.display(),
                        found.0,
                        found.1,
                        noted.0,
                        noted.1
                    ),
                ));
            }
            Kind::Store(_) => {}
        }
        Ok(found)
    }
}
