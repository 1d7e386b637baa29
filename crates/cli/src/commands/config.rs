//! `nuthatch config check`: the settings that `serve` would run with, and who said each.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_server::Config;
use serde_json::json;

use crate::args::Globals;
use crate::commands::serve::ServerSettings;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, DIM, Out, plain};

#[derive(Args)]
pub struct ConfigCommand {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Check the settings of `serve`, and show each with where it comes from; takes the same flags
    Check(Check),
}

#[derive(Args)]
struct Check {
    #[command(flatten)]
    settings: ServerSettings,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ConfigCommand {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let What::Check(check) = &self.command;
        let layers = check.settings.layers(globals)?;
        Config::resolve(&layers)?;
        let said = Config::said(&layers);
        match check.json {
            true => {
                let all = said
                    .iter()
                    .map(|said| json!({"setting": said.setting, "value": said.text, "from": said.origin.to_string()}));
                output::json(out, &all.collect::<Vec<_>>())?;
            }
            false => {
                for said in &said {
                    let value = if said.text.is_empty() { "(not set)" } else { &said.text };
                    let from = plain(&said.origin.to_string());
                    writeln!(out, "{BOLD}{:<17}{BOLD:#} {:<24} {DIM}{from}{DIM:#}", said.setting, plain(value))?;
                }
            }
        }
        Ok(Outcome::Done)
    }
}
