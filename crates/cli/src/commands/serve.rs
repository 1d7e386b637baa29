//! `nuthatch serve`: answers for a data folder over HTTP.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use nuthatch_link::Error;
use nuthatch_server::Config;
use nuthatch_server::config::{Layers, SETTINGS};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;

#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    settings: ServerSettings,
}

/// The server's settings as flags: one for each in the server's own list, so that no flag can be without its variable and its
/// key in the file.
pub struct ServerSettings {
    given: Vec<(&'static str, String)>,
    file: Option<std::path::PathBuf>,
}

impl Serve {
    pub fn run(&self, globals: &Globals) -> Result<Outcome, Failure> {
        nuthatch_server::run(config(&self.settings.layers(globals)?, globals)?)?;
        Ok(Outcome::Done)
    }
}

/// What `serve` would run with.
pub fn config(layers: &Layers, globals: &Globals) -> Result<Config, Error> {
    if let Some(tenant) = folder::tenant(globals) {
        return Err(Error::invalid(format!(
            "a server answers for all tenants, but tenant {tenant:?} is named (--tenant, NUTHATCH_TENANT); remove it: \
            the key of a request chooses its tenant (`nuthatch key create NAME --tenant {tenant}`)"
        )));
    }
    let mut config = Config::resolve(layers)?;
    if config.data_dir.is_none() {
        config.data_dir = Some(folder::nearest_or_new()?);
    }
    Ok(config)
}

impl ServerSettings {
    /// Flags, the environment, and the file of `--config`.
    pub fn layers(&self, globals: &Globals) -> Result<Layers, Error> {
        let mut layers = Layers::default().environment(|name| std::env::var(name).ok());
        if let Some(file) = &self.file {
            layers = layers.file(file)?;
        }
        for (key, value) in &self.given {
            layers = layers.flag(key, value);
        }
        for (key, value) in &globals.given {
            layers = layers.flag(key, value);
        }
        Ok(layers)
    }
}

impl Args for ServerSettings {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .env("NUTHATCH_CONFIG")
            .hide_env_values(true)
            .value_parser(clap::value_parser!(std::path::PathBuf))
            .help("Settings in TOML, named like the flags but with underscores; a flag or variable overrides them");
        SETTINGS.iter().filter(|setting| !setting.everywhere).fold(command.arg(file), |command, setting| {
            let default = match setting.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let arg = Arg::new(setting.key)
                .long(setting.key.replace('_', "-"))
                .value_name(setting.value)
                .help(format!("{} [env: {}]{default}", setting.help, setting.variable));
            command.arg(match setting.value {
                // `--exclusive` alone means yes.
                "BOOL" => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
                _ => arg,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServerSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let own = SETTINGS.iter().filter(|setting| !setting.everywhere);
        let given = own.filter_map(|setting| Some((setting.key, matches.get_one::<String>(setting.key)?.clone())));
        Ok(Self { given: given.collect(), file: matches.get_one("config").cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
