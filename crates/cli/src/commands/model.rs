//! `nuthatch model`: the installed embedding models on this machine.

use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use nuthatch_link::Error;
use nuthatch_link::embed::{self, EmbedError, ModelManifest, StaticManifest};
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::units::bytes;

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// What collections take that name none
    Default,
    /// The static model: much faster, and weaker
    Static,
}

#[derive(Args)]
#[command(
    after_help = "Install them: python -m nuthatch.model install [static]\nElsewhere:    set NUTHATCH_MODEL_DIR or NUTHATCH_STATIC_MODEL_DIR to the model's folder"
)]
pub struct Model {
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

/// What a manifest of either kind says.
struct Described {
    name: String,
    dim: usize,
    max_tokens: usize,
    fingerprint: String,
    bytes: u64,
}

impl Model {
    pub fn run(&self, out: &mut Out) -> Result<Outcome, Failure> {
        let model = match self.which {
            Which::Default => embed::Model::Default,
            Which::Static => embed::Model::Static,
        };
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
