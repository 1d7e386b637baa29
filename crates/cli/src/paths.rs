//! Paths as the store names them (absolute, links resolved) and as people read them (relative where that is shorter).

use std::path::{Path, PathBuf};

use nuthatch_link::{Error, Result};

/// The current folder, or "" when it has vanished: paths are then shown whole.
pub fn here() -> PathBuf {
    std::env::current_dir().and_then(|path| path.canonicalize()).unwrap_or_default()
}

/// The name under which the store knows `path`, also when the file is gone: the nearest folder that is there is resolved.
pub fn stored(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path).map_err(|error| Error::io(path, &error))?;
    let mut resolved = absolute.clone();
    for ancestor in absolute.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = absolute.strip_prefix(ancestor).expect("an ancestor is a prefix");
            // Joining "" would add a slash.
            resolved = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
            break;
        }
    }
    resolved.into_os_string().into_string().map_err(|_| Error::invalid(format!("{} is not UTF-8", path.display())))
}

/// A stored path or id, relative to the current folder where it is inside.
pub fn shown<'a>(stored: &'a str, here: &Path) -> &'a str {
    let Some(here) = here.to_str().filter(|here| here.len() > 1) else {
        return stored;
    };
    stored.strip_prefix(here).and_then(|rest| rest.strip_prefix('/')).unwrap_or(stored)
}

/// The ids that an argument may mean: itself, and, for `docs/a.md#3`, the passage of that file.
pub fn ids_meant(argument: &str) -> Vec<String> {
    let mut ids = vec![argument.to_string()];
    if let Some((path, number)) = argument.rsplit_once('#')
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(path) = stored(Path::new(path))
    {
        let id = format!("{path}#{number}");
        if id != argument {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_the_current_folder_are_shown_relative() {
        let here = Path::new("/home/u/notes");
        assert_eq!(shown("/home/u/notes/a.md#3", here), "a.md#3");
        assert_eq!(shown("/home/u/notes2/a.md", here), "/home/u/notes2/a.md");
        assert_eq!(shown("my-id", here), "my-id");
        assert_eq!(shown("/a.md", Path::new("/")), "/a.md");
    }

    #[test]
    fn a_file_that_is_gone_keeps_the_name_it_was_stored_under() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        assert_eq!(stored(&folder.path().join("gone/a.md")).unwrap(), real.join("gone/a.md").to_str().unwrap());
        assert_eq!(stored(folder.path()).unwrap(), real.to_str().unwrap());
    }
}
