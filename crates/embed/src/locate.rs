//! The models that the installer puts on disk, and where each is looked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{EmbedError, Embedder, OnnxEmbedder, OnnxOptions, StaticEmbedder, manifest};

/// A model that `python -m nuthatch.model install` puts on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Model {
    /// The model for a collection that names none: a MiniLM model in int8.
    #[default]
    Default,
    /// One vector a token: much faster, and weaker.
    Static,
}

impl Model {
    /// Every model.
    pub const ALL: [Self; 2] = [Self::Default, Self::Static];

    /// The model's name, which is also its folder's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "all-minilm-l6-v2-int8",
            Self::Static => "wordllama-256",
        }
    }

    /// The model of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }

    /// Environment variable that names the model's folder; it wins over every other place.
    pub fn dir_variable(self) -> &'static str {
        match self {
            Self::Default => "NUTHATCH_MODEL_DIR",
            Self::Static => "NUTHATCH_STATIC_MODEL_DIR",
        }
    }

    /// The command that installs it.
    pub fn install_command(self) -> &'static str {
        match self {
            Self::Default => "python -m nuthatch.model install",
            Self::Static => "python -m nuthatch.model install static",
        }
    }

    /// The model's folder, or none when it is nowhere. See [`open`](Self::open) for the order.
    pub fn dir(self) -> Option<PathBuf> {
        self.candidates(&[], &Surroundings::of_process(self)).into_iter().find(|dir| manifest::is_in(dir))
    }

    /// Opens the model from the first of these places that holds one: the folder that [`dir_variable`](Self::dir_variable) names
    /// (which must, when it is set); `share/nuthatch/models/<name>` next to the running program's folder, in the active virtual
    /// environment, in each of `extra_dirs` (prefixes, such as Python's `sys.prefix`), and in the user's data folder.
    ///
    /// # Errors
    /// `MissingModel` with every place that was tried, or `DamagedModel`.
    pub fn open(self, extra_dirs: &[PathBuf]) -> Result<Arc<dyn Embedder>, EmbedError> {
        let looked_in = self.candidates(extra_dirs, &Surroundings::of_process(self));
        let Some(dir) = looked_in.iter().find(|dir| manifest::is_in(dir)) else {
            return Err(EmbedError::MissingModel { model: self, looked_in });
        };
        Ok(match self {
            Self::Default => Arc::new(OnnxEmbedder::open(dir, OnnxOptions::default())?),
            Self::Static => Arc::new(StaticEmbedder::open(dir)?),
        })
    }

    fn candidates(self, extra_dirs: &[PathBuf], around: &Surroundings) -> Vec<PathBuf> {
        if let Some(dir) = &around.model_dir {
            // A folder that was asked for by name is not silently replaced by another.
            return vec![dir.clone()];
        }
        let of_program = around.program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
        let data_home = around.data_home.clone().or_else(|| around.home.as_ref().map(|home| home.join(".local/share")));
        let prefixes = of_program.into_iter().chain(around.virtual_env.clone()).chain(extra_dirs.iter().cloned());
        let shares = prefixes.map(|prefix| prefix.join("share")).chain(data_home);
        let mut dirs: Vec<PathBuf> =
            shares.map(|share| share.join("nuthatch").join("models").join(self.name())).collect();
        let mut seen = std::collections::HashSet::new();
        dirs.retain(|dir| seen.insert(dir.clone()));
        dirs
    }
}

/// The inputs to the search order, apart from the file system.
#[derive(Default)]
struct Surroundings {
    model_dir: Option<PathBuf>,
    program: Option<PathBuf>,
    virtual_env: Option<PathBuf>,
    data_home: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Surroundings {
    fn of_process(model: Model) -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            model_dir: path(model.dir_variable()),
            program: std::env::current_exe().ok(),
            virtual_env: path("VIRTUAL_ENV"),
            data_home: path("XDG_DATA_HOME"),
            home: std::env::home_dir(),
        }
    }
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
        let dirs = Model::Static.candidates(&["/usr".into()], &around());
        let name = |prefix: &str| PathBuf::from(format!("{prefix}/nuthatch/models/wordllama-256"));
        assert_eq!(dirs, [name("/opt/venv/share"), name("/usr/share"), name("/home/u/.local/share")]);
    }

    #[test]
    fn a_folder_that_is_named_is_the_only_one() {
        let around = Surroundings { model_dir: Some("/models/mine".into()), ..around() };
        assert_eq!(Model::Default.candidates(&["/usr".into()], &around), [PathBuf::from("/models/mine")]);
    }

    #[test]
    fn the_error_for_a_missing_model_says_where_it_looked_and_what_to_run() {
        for model in Model::ALL {
            let error = EmbedError::MissingModel { model, looked_in: model.candidates(&[], &around()) };
            let text = error.to_string();
            let said = ["/opt/venv/share", model.name(), model.dir_variable(), model.install_command()];
            assert!(said.iter().all(|part| text.contains(part)), "{text}");
        }
    }

    #[test]
    fn a_model_is_found_by_its_name() {
        assert!(Model::ALL.into_iter().all(|model| Model::named(model.name()) == Some(model)));
        assert_eq!(Model::named("another"), None);
    }
}
