//! `nuthatch completions`: a script that teaches a shell the commands and options.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Failure, Outcome};
use crate::output::Out;

#[derive(Args)]
#[command(after_help = "\
bash:  nuthatch completions bash > ~/.local/share/bash-completion/completions/nuthatch
zsh:   nuthatch completions zsh > ~/.zfunc/_nuthatch    (a folder in $fpath)
fish:  nuthatch completions fish > ~/.config/fish/completions/nuthatch.fish")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(&self, out: &mut Out) -> Result<Outcome, Failure> {
        // Into memory first: the generator panics when a pipe closes under it.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "nuthatch", &mut script);
        out.write_all(&script)?;
        Ok(Outcome::Done)
    }
}
