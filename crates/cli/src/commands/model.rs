//! `nuthatch model`: the default embedding model on this machine.

use std::io::Write;

use clap::Args;
use nuthatch_link::Error;
use nuthatch_link::embed::{DEFAULT_MODEL, MODEL_DIR_ENV, ModelManifest, default_embedder, default_model_dir};
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, GOOD, Out};
use crate::units::bytes;

#[derive(Args)]
#[command(
    after_help = "Install it: python -m nuthatch.model install\nElsewhere:  set NUTHATCH_MODEL_DIR to the model's folder"
)]
pub struct Model {
    /// Also compare every file with the hash recorded when it was installed
    #[arg(long)]
    verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Model {
    pub fn run(&self, out: &mut Out) -> Result<Outcome, Failure> {
        let Some(dir) = default_model_dir() else {
            // The embedder's own error names the places that were looked at and what to run.
            return Err(match default_embedder(&[]) {
                Err(error) => Error::from(error).into(),
                Ok(_) => {
                    Error::internal(format!("{DEFAULT_MODEL} appeared while it was looked for; run it again")).into()
                }
            });
        };
        let manifest = ModelManifest::read(&dir).map_err(Error::from)?;
        if self.verify {
            manifest.verify(&dir).map_err(Error::from)?;
        }
        let size = [&manifest.model, &manifest.weights, &manifest.tokenizer, &manifest.runtime]
            .map(|file| file.bytes)
            .iter()
            .sum();
        if self.json {
            output::json(
                out,
                &json!({
                    "name": manifest.name,
                    "path": dir.to_string_lossy(),
                    "dim": manifest.dim,
                    "max_tokens": manifest.max_tokens,
                    "fingerprint": manifest.fingerprint(),
                    "bytes": size,
                    "verified": self.verify,
                }),
            )?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{BOLD}{}{BOLD:#}", manifest.name)?;
        writeln!(out, "  folder       {}", dir.display())?;
        writeln!(out, "  dimensions   {}, texts of up to {} tokens", manifest.dim, manifest.max_tokens)?;
        writeln!(out, "  fingerprint  {}", manifest.fingerprint())?;
        writeln!(out, "  on disk      {}", bytes(size))?;
        if self.verify {
            writeln!(out, "  {GOOD}every file is as it was installed{GOOD:#}")?;
        }
        writeln!(out, "Another folder: {MODEL_DIR_ENV}. To install it anew: python -m nuthatch.model install")?;
        Ok(Outcome::Done)
    }
}
