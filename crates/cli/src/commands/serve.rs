//! `nuthatch serve`: answers for a data folder over HTTP.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use nuthatch_link::Error;
use nuthatch_server::Config;
use nuthatch_server::config::{Layers, SETTINGS, Setting};

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
    file: Option<PathBuf>,
}

impl Serve {
    pub fn run(&self, globals: &Globals) -> Result<Outcome, Failure> {
        nuthatch_server::run(config(&self.settings.layers(globals)?, globals)?)?;
        Ok(Outcome::Done)
    }
}

/// Returns the settings that `serve` would run with.
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
        layers(self.file.as_deref(), &self.given, globals)
    }
}

/// Flags, the environment, and a file.
pub fn layers(file: Option<&Path>, given: &[(&'static str, String)], globals: &Globals) -> Result<Layers, Error> {
    let mut layers = Layers::default().environment(|name| std::env::var(name).ok());
    if let Some(file) = file {
        layers = layers.file(file)?;
    }
    for (key, value) in given.iter().chain(&globals.given) {
        layers = layers.flag(key, value);
    }
    Ok(layers)
}

/// A setting as a flag.
pub fn flag(setting: &'static Setting) -> Arg {
    let default = match setting.default {
        "" => String::new(),
        default => format!(" [default: {default}]"),
    };
    let arg = Arg::new(setting.key)
        .long(setting.key.replace('_', "-"))
        .value_name(setting.value)
        .help(format!("{} [env: {}]{default}", setting.help, setting.variable));
    match setting.value {
        // `--exclusive` alone means yes.
        "BOOL" => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => arg,
    }
}

/// The file of settings as a flag.
pub fn file_flag() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .env("NUTHATCH_CONFIG")
        .hide_env_values(true)
        .value_parser(clap::value_parser!(PathBuf))
        .help("Settings in TOML, named like the flags but with underscores; a flag or variable overrides them")
}

impl Args for ServerSettings {
    fn augment_args(command: Command) -> Command {
        let flags = SETTINGS.iter().filter(|setting| !setting.everywhere).map(flag);
        flags.fold(command.arg(file_flag()), |command, flag| command.arg(flag))
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
