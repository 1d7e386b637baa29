//! An export in a folder.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use nuthatch_segment::sync_folder;

use crate::transfer::export::{ExportOptions, Outlet};
use crate::transfer::manifest::Manifest;
use crate::transfer::{OnProgress, TransferProgress, inside, refuse_when_cancelled};
use crate::{Error, Result};

/// The folder of an export, while it is written.
pub struct ExportFolder<'o> {
    folder: PathBuf,
    on_progress: OnProgress<'o>,
    cancel: Option<&'o AtomicBool>,
    open: Option<(PathBuf, BufWriter<File>)>,
    /// The paths written, in case the export has to start over.
    written: Vec<PathBuf>,
}

impl<'o> ExportFolder<'o> {
    /// Takes a new or an empty folder. Nothing is made before there is something to write.
    pub fn new(folder: &Path, options: ExportOptions<'o>) -> Result<Self> {
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
            Ok(false) => {}
            Ok(true) => {
                return Err(Error::invalid(format!(
                    "{} is not empty; export into a new or an empty folder",
                    folder.display()
                )));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(folder, &error)),
        }
        let ExportOptions { on_progress, cancel, .. } = options;
        Ok(Self { folder: folder.to_path_buf(), on_progress, cancel, open: None, written: Vec::new() })
    }

    /// Makes an export of what was written.
    pub fn finish(self, manifest: &Manifest) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, &error))?;
        manifest.write(&self.folder)
    }

    /// Removes what was written, so that it can begin again.
    pub fn begin_again(&mut self) -> Result<()> {
        self.open = None;
        let mut gone = self.written.drain(..);
        gone.try_for_each(|path| std::fs::remove_file(&path).map_err(|error| Error::io(&path, &error)))
    }
}

impl Outlet for ExportFolder<'_> {
    #[allow(clippy::disallowed_methods, reason = "`end` syncs the file and its folder")]
    fn begin(&mut self, file: &str) -> Result<()> {
        let path = inside(&self.folder, file)?;
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let created = File::create_new(&path).map_err(|error| Error::io(&path, &error))?;
        self.written.push(path.clone());
        self.open = Some((path, BufWriter::with_capacity(1 << 18, created)));
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        let Some((path, file)) = &mut self.open else { return Err(no_file()) };
        file.write_all(line).map_err(|error| Error::io(path, &error))
    }

    /// Makes the file durable.
    fn end(&mut self) -> Result<()> {
        let Some((path, mut file)) = self.open.take() else { return Err(no_file()) };
        let synced = file.flush().and_then(|()| file.get_ref().sync_all());
        synced.map_err(|error| Error::io(&path, &error))?;
        Ok(sync_folder(path.parent().unwrap_or(&path))?)
    }

    fn tell(&mut self, progress: TransferProgress) -> Result<()> {
        refuse_when_cancelled(self.cancel)?;
        if let Some(tell) = &mut self.on_progress {
            tell(&progress);
        }
        Ok(())
    }
}

fn no_file() -> Error {
    Error::internal("an export wrote lines outside of its files")
}
