//! `nuthatch config check`: the settings that `serve` would run with, and who said each.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_link::Error;
use nuthatch_server::Config;
use nuthatch_server::config::SETTINGS;
use serde_json::json;

use crate::args::Globals;
use crate::commands::serve::{self, ServerSettings};
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, DIM, Out, plain};

/// Variables of this program and of the Python package that are not settings of a server.
const OTHER_VARIABLES: [&str; 11] = [
    "NUTHATCH_API_KEY",
    "NUTHATCH_CONFIG",
    "NUTHATCH_EMBEDDER",
    "NUTHATCH_EMBEDDER_DIM",
    "NUTHATCH_EMBEDDER_MODEL",
    "NUTHATCH_EMBEDDER_URL",
    "NUTHATCH_EMBED_API_KEY",
    "NUTHATCH_MODEL_DIR",
    "NUTHATCH_PYTHON",
    "NUTHATCH_STATIC_MODEL_DIR",
    "NUTHATCH_TENANT",
];

#[derive(Args)]
pub struct ConfigCommand {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Check the settings of `serve`, and show each with its source; takes the same flags
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
        nuthatch_server::check(&serve::config(&layers, globals)?)?;
        refuse_unknown_variables()?;
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

/// A mistyped variable is no setting, and so what it was meant for would silently be as it is by default.
fn refuse_unknown_variables() -> Result<(), Error> {
    let is_known =
        |name: &str| SETTINGS.iter().any(|setting| setting.variable == name) || OTHER_VARIABLES.contains(&name);
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        set.filter(|name| name.starts_with("NUTHATCH_") && !is_known(name) && !is_link_of_a_service(name)).collect();
    unknown.sort_unstable();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "no setting reads {} from the environment; `nuthatch serve --help` lists the variables",
            unknown.join(", ")
        ))),
    }
}

/// Whether Kubernetes sets this variable in every container for a service of this name: `NUTHATCH_SERVICE_HOST`,
/// `NUTHATCH_PORT_7700_TCP_ADDR`.
fn is_link_of_a_service(name: &str) -> bool {
    name.contains("_SERVICE_") || name.ends_with("_PORT") || name.contains("_PORT_")
}
