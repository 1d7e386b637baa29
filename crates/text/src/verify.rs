//! Checking a folder: every byte of every file, and whether all files are there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_segment::{BlockCache, BlockFile, SegmentError, read_sealed};

use tantivy::index::SegmentMeta;

use crate::index::META;
use crate::{Result, TextError, TextIndex};

/// tantivy's list of the files that it has made.
const MANAGED: &str = ".managed.json";
/// The extensions of a segment's files; a file with one of them but no manifest means that the manifest was lost.
const SEGMENT_EXTENSIONS: [&str; 6] = ["idx", "term", "fast", "fieldnorm", "store", "pos"];

/// A file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// The damaged file.
    pub path: PathBuf,
    /// How it differs from what was written.
    pub what: String,
}

impl TextIndex {
    /// Reads every byte of every file, and looks for files that should be there. Empty when all is well.
    pub fn verify(&self) -> Result<Vec<DamagedFile>> {
        let _writing = self.writing.lock(); // a file being written has no checksums yet
        let mut damaged = Self::verify_folder(&self.folder)?;
        let metas = match self.index.searchable_segment_metas() {
            Ok(metas) => metas,
            Err(_) if !damaged.is_empty() => return Ok(damaged), // the manifest is among them
            Err(error) => return Err(TextError::from_tantivy(&self.folder, error)),
        };
        let named = self.files_of(metas);
        // A kill leaves files that no manifest names: nobody reads them, and the next commit removes them.
        let is_sealed = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
        damaged.retain(|file| is_sealed(&file.path) || named.contains(&file.path));
        let missing = named.into_iter().filter(|path| !path.exists());
        damaged.extend(missing.map(|path| DamagedFile { path, what: "it is missing".into() }));
        Ok(damaged)
    }

    /// The files of what is committed: a copy of them is a copy of the index. Only while nothing is being committed.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let _writing = self.writing.lock();
        let metas = self.index.searchable_segment_metas();
        let metas = metas.map_err(|error| TextError::from_tantivy(&self.folder, error))?;
        let mut files = self.files_of(metas);
        files.extend([META, MANAGED].map(|name| self.folder.join(name)));
        Ok(files)
    }

    fn files_of(&self, metas: Vec<SegmentMeta>) -> Vec<PathBuf> {
        let mut named = Vec::new();
        for meta in metas {
            let name = meta.id().uuid_string();
            named.extend(SEGMENT_EXTENSIONS.map(|extension| self.folder.join(format!("{name}.{extension}"))));
            named.extend(meta.delete_opstamp().map(|opstamp| self.folder.join(format!("{name}.{opstamp}.del"))));
        }
        named
    }

    /// The checksums of a folder's files, without opening the index (which a damaged one may refuse). Cannot tell that a file
    /// is missing, except for the manifest.
    pub fn verify_folder(folder: &Path) -> Result<Vec<DamagedFile>> {
        let io = |error| TextError::from_io(folder, Arc::new(error));
        let no_blocks = BlockCache::new(0);
        let mut damaged = Vec::new();
        let mut names = Vec::new();
        for file in std::fs::read_dir(folder).map_err(io)? {
            let path = file.map_err(io)?.path();
            let checked = match path.extension().and_then(|extension| extension.to_str()) {
                Some("writing") => continue, // an atomic replacement that a kill cut short: nobody reads it
                Some("json") => read_sealed(&path).map(drop),
                _ => BlockFile::open(&path, &no_blocks).and_then(|file| file.verify()),
            };
            match checked {
                Ok(()) => {}
                Err(SegmentError::Corrupt { path, what }) => {
                    damaged.push(DamagedFile { path, what });
                }
                Err(error) => return Err(error.into()),
            }
            names.push(path);
        }
        if lost_manifest(&names) {
            damaged.push(DamagedFile { path: folder.join(META), what: "it is missing".into() });
        }
        damaged.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(damaged)
    }
}

/// Segments without the manifest that names them: an empty index must not be created over them.
pub(crate) fn lost_manifest(files: &[PathBuf]) -> bool {
    let is_segment = |path: &PathBuf| {
        path.extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|extension| SEGMENT_EXTENSIONS.contains(&extension))
    };
    files.iter().any(is_segment) && !files.iter().any(|path| path.ends_with(META))
}
