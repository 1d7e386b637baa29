//! `nuthatch mcp`: speaks the Model Context Protocol with the host that started it.

use std::path::PathBuf;

use clap::Args;
use nuthatch_link::Error;
use nuthatch_mcp::{Settings, serve_stdio};

use crate::args::Globals;
use crate::embedder::EmbedderArgs;
use crate::exit::{Failure, Outcome};
use crate::folder;

#[derive(Args)]
#[command(after_help = "Standard output carries the protocol and nothing else; notes and errors go to standard error.")]
pub struct Mcp {
    /// Offer only the tools that read
    #[arg(long)]
    read_only: bool,
    /// A folder whose files a model may add; may be repeated [default: the current folder]
    #[arg(long, value_name = "FOLDER", conflicts_with = "read_only")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    embedder: EmbedderArgs,
}

impl Mcp {
    pub fn run(&self, globals: &Globals) -> Result<Outcome, Failure> {
        let settings = Settings {
            writes: !self.read_only,
            folders: self.folders()?,
            embedder: self.embedder.options()?.embedder,
            ..Settings::default()
        };
        let database = match self.read_only {
            true => folder::open_to_write(globals)?,
            false => folder::create_if_named(globals)?,
        };
        serve_stdio(database, settings)?;
        Ok(Outcome::Done)
    }

    /// Hosts start programs anywhere, many of them in the root of the file system: that is nobody's choice of what may be read.
    fn folders(&self) -> Result<Vec<PathBuf>, Failure> {
        if self.files.is_empty() {
            let here = std::env::current_dir().map_err(|error| Error::io(".".as_ref(), &error))?;
            return Ok(if here.parent().is_some() { vec![here] } else { Vec::new() });
        }
        let real = |folder: &PathBuf| folder.canonicalize().map_err(|error| Error::io(folder, &error).into());
        self.files.iter().map(real).collect()
    }
}
