//! A folder of small files in memory, so that each input begins with the same one.

use std::path::{Path, PathBuf};

pub struct Folder {
    folders: Vec<PathBuf>,
    /// Path within the folder, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Folder {
    /// Reads the current contents of a folder, in the order of the names.
    pub fn read(from: &Path) -> Self {
        let mut read = Self { folders: Vec::new(), files: Vec::new() };
        read.add(from, from);
        read.files.sort();
        read
    }

    fn add(&mut self, root: &Path, folder: &Path) {
        let inside = |path: &Path| path.strip_prefix(root).expect("it is inside").to_path_buf();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.folders.push(inside(&path));
                self.add(root, &path);
            } else if path.is_file() {
                self.files.push((inside(&path), std::fs::read(&path).expect("a file")));
            }
        }
    }

    /// Writes everything into a new temporary folder.
    pub fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("a folder");
        self.folders.iter().for_each(|folder| std::fs::create_dir_all(copy.path().join(folder)).expect("a folder"));
        self.files.iter().for_each(|(path, bytes)| std::fs::write(copy.path().join(path), bytes).expect("written"));
        copy
    }
}
