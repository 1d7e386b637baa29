//! Where the default model's folder is looked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{EmbedError, Embedder, ModelManifest, OnnxEmbedder, OnnxOptions};

/// The default model: its folder's name, and its name.
pub const DEFAULT_MODEL: &str = "all-minilm-l6-v2-int8";
/// Environment variable that names a model folder; it wins over every other place.
pub const MODEL_DIR_ENV: &str = "NUTHATCH_MODEL_DIR";

/// The default model's folder, or none when it is nowhere. See [`default_embedder`] for the order.
pub fn default_model_dir() -> Option<PathBuf> {
    candidates(&[], &Surroundings::of_process()).into_iter().find(|dir| ModelManifest::is_in(dir))
}

/// Opens the default model from the first of these places that holds one: `NUTHATCH_MODEL_DIR` (which must, when it is set);
/// `share/nuthatch/models/<name>` beside the running program's folder, in the active virtual environment, in each of `extra_dirs`
/// (prefixes, such as Python's `sys.prefix`), and in the user's data folder.
pub fn default_embedder(extra_dirs: &[PathBuf]) -> Result<Arc<dyn Embedder>, EmbedError> {
    let looked_in = candidates(extra_dirs, &Surroundings::of_process());
    match looked_in.iter().find(|dir| ModelManifest::is_in(dir)) {
        Some(dir) => Ok(Arc::new(OnnxEmbedder::open(dir, OnnxOptions::default())?)),
        None => Err(EmbedError::MissingModel { name: DEFAULT_MODEL.into(), looked_in }),
    }
}

/// What the search order depends on, apart from the file system.
#[derive(Default)]
struct Surroundings {
    model_dir: Option<PathBuf>,
    program: Option<PathBuf>,
    virtual_env: Option<PathBuf>,
    data_home: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Surroundings {
    fn of_process() -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            model_dir: path(MODEL_DIR_ENV),
            program: std::env::current_exe().ok(),
            virtual_env: path("VIRTUAL_ENV"),
            data_home: path("XDG_DATA_HOME"),
            home: std::env::home_dir(),
        }
    }
}

fn candidates(extra_dirs: &[PathBuf], around: &Surroundings) -> Vec<PathBuf> {
    if let Some(dir) = &around.model_dir {
        // A folder that was asked for by name is not silently replaced by another.
        return vec![dir.clone()];
    }
    let beside_program = around.program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
    let data_home = around.data_home.clone().or_else(|| around.home.as_ref().map(|home| home.join(".local/share")));
    let prefixes = beside_program.into_iter().chain(around.virtual_env.clone()).chain(extra_dirs.iter().cloned());
    let mut dirs: Vec<PathBuf> =
        prefixes.map(|prefix| prefix.join("share")).chain(data_home).map(|share| in_share(&share)).collect();
    let mut seen = std::collections::HashSet::new();
    dirs.retain(|dir| seen.insert(dir.clone()));
    dirs
}

fn in_share(share: &Path) -> PathBuf {
    share.join("nuthatch").join("models").join(DEFAULT_MODEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Surroundings {
        Surroundings {
            model_dir: None,
            program: Some("/opt/venv/bin/nuthatch".into()),
            virtual_env: Some("/opt/venv".into()),
            data_home: None,
            home: Some("/home/u".into()),
        }
    }

    #[test]
    fn looks_beside_the_program_then_in_the_environment_then_at_home() {
        let dirs = candidates(&["/usr".into()], &around());
        let name = |prefix: &str| PathBuf::from(format!("{prefix}/nuthatch/models/{DEFAULT_MODEL}"));
        assert_eq!(dirs, [name("/opt/venv/share"), name("/usr/share"), name("/home/u/.local/share")]);
    }

    #[test]
    fn a_folder_that_is_named_is_the_only_one() {
        let around = Surroundings { model_dir: Some("/models/mine".into()), ..around() };
        assert_eq!(candidates(&["/usr".into()], &around), [PathBuf::from("/models/mine")]);
    }

    #[test]
    fn the_error_for_a_missing_model_says_where_it_looked_and_what_to_run() {
        let error = EmbedError::MissingModel { name: DEFAULT_MODEL.into(), looked_in: candidates(&[], &around()) };
        let text = error.to_string();
        assert!(text.contains("/opt/venv/share") && text.contains("python -m nuthatch.model install"), "{text}");
    }
}
