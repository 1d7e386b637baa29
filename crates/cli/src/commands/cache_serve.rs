//! `nuthatch cache serve` and `nuthatch cache demo`: a provider of models behind a cache.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use nuthatch_link::Error;
use nuthatch_link::embed;
use nuthatch_server::Config;
use nuthatch_server::config::{Demo, Layers, SETTINGS, Setting};

use crate::args::Globals;
use crate::commands::serve;
use crate::exit::{Failure, Outcome};
use crate::output::Out;

/// Settings of `serve` that are about what the proxy does not serve, and those that are said otherwise here.
const NOT_HERE: [&str; 9] = [
    "listen",
    "redis",
    "redis_durability",
    "backup_dir",
    "search_timeout",
    "snapshots_max",
    "snapshot_age",
    "snapshot_idle",
    "cache_name",
];

const DEMO_LISTEN: &str = "127.0.0.1:7711";
const DEMO_BUDGET: &str = "0.05";
/// An example, so that the page has something to count: no provider's price.
const DEMO_PRICES: &str = "*=1/4";

#[derive(Args)]
#[command(after_help = "\
nuthatch cache serve --upstream https://api.openai.com/v1
nuthatch cache serve --upstream http://127.0.0.1:8080/v1 --budget 0.01 --ttl 7d --max-entries 100000
OPENAI_BASE_URL=http://127.0.0.1:7710/v1 python my_program.py
ANTHROPIC_BASE_URL=http://127.0.0.1:7710 python my_program.py")]
pub struct CacheServe {
    #[command(flatten)]
    settings: ProxySettings,
}

#[derive(Args)]
#[command(after_help = "\
nuthatch cache demo
nuthatch cache demo --upstream http://127.0.0.1:8080/v1 --model my-model")]
pub struct CacheDemo {
    /// Provider to talk to, such as a local llama.cpp server; without it, a canned stand-in with a few fixed answers
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Model to ask the provider for
    #[arg(long, value_name = "NAME", default_value = "canned", requires = "upstream")]
    model: String,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = DEMO_LISTEN)]
    listen: String,
    /// Share of the answers by meaning that may be wrong
    #[arg(long, value_name = "SHARE", default_value = DEMO_BUDGET)]
    budget: String,
    /// MODEL=INPUT/OUTPUT[/CACHED] in USD per million tokens; the default is an example
    #[arg(long, value_name = "PRICES", default_value = DEMO_PRICES)]
    prices: String,
}

/// The settings of the proxy as flags, without the word that begins their names.
struct ProxySettings {
    given: Vec<(&'static str, String)>,
    file: Option<PathBuf>,
}

impl CacheServe {
    /// `cache`: its name.
    pub fn run(&self, cache: &str, json: bool, globals: &Globals) -> Result<Outcome, Failure> {
        let mut layers = self.settings.layers(globals)?.flag("cache_name", cache);
        if json {
            layers = layers.flag("log_format", "json");
        }
        let config = alone(serve::config(&layers, globals)?);
        if config.proxy.is_none() {
            let why = "no provider to answer what the cache does not; name one with --upstream, for example --upstream \
                https://api.openai.com/v1";
            return Err(Error::invalid(why).into());
        }
        nuthatch_server::run(config)?;
        Ok(Outcome::Done)
    }
}

/// The proxy, and nothing else.
fn alone(config: Config) -> Config {
    Config { api: false, redis: None, ..config }
}

/// # Errors
/// `Unavailable` without the model that compares prompts.
fn by_meaning() -> Result<(), Error> {
    match embed::Model::Default.dir() {
        Some(_) => Ok(()),
        None => embed::Model::Default.open(&[]).map(drop).map_err(Error::from),
    }
}

impl CacheDemo {
    /// `cache`: its name.
    pub fn run(&self, cache: &str, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let named = globals.given.iter().find(|(key, _)| *key == "data_dir").map(|(_, folder)| PathBuf::from(folder));
        let is_own = named.is_none();
        let folder =
            named.unwrap_or_else(|| std::env::temp_dir().join(format!("nuthatch-demo-{}", std::process::id())));
        let done = self.serve(cache, &folder, globals, out);
        if is_own && folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        }
        done
    }

    fn serve(&self, cache: &str, folder: &Path, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let no_meaning = by_meaning().err().map(|error| error.to_string());
        let layers = Layers::default()
            .flag("data_dir", folder.display().to_string())
            .flag("cache_name", cache)
            .flag("cache_upstream", self.upstream.as_deref().unwrap_or("canned"))
            .flag("cache_listen", self.listen.as_str())
            .flag("cache_budget", if no_meaning.is_none() { self.budget.as_str() } else { "0" })
            .flag("cache_prices", self.prices.as_str());
        let mut config = alone(serve::config(&layers, globals)?);
        if let Some(address) = config.open_address() {
            let why =
                format!("{address} can be reached from other machines, and the demo is for this one; use 127.0.0.1");
            return Err(Error::invalid(why).into());
        }
        if let Some(proxy) = &mut config.proxy {
            let by_meaning = no_meaning.clone().unwrap_or_default();
            proxy.demo = Some(Demo { model: self.model.clone(), by_meaning });
        }
        if self.upstream.is_none() {
            writeln!(
                out,
                "Answers come from a canned stand-in with a few fixed texts; --upstream URL asks a real model."
            )?;
        }
        if let Some(why) = no_meaning {
            writeln!(out, "No answers by meaning: {why}")?;
        }
        writeln!(out, "Open http://{} in a browser; Ctrl-C ends the demo.", self.listen)?;
        out.flush()?;
        nuthatch_server::run(config)?;
        Ok(Outcome::Done)
    }
}

impl ProxySettings {
    fn layers(&self, globals: &Globals) -> Result<Layers, Error> {
        serve::layers(self.file.as_deref(), &self.given, globals)
    }

    fn all() -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(|setting| !setting.everywhere && !NOT_HERE.contains(&setting.key))
    }
}

impl Args for ProxySettings {
    fn augment_args(command: Command) -> Command {
        let flags = Self::all().map(|setting| {
            let name = setting.key.strip_prefix("cache_").unwrap_or(setting.key);
            serve::flag(setting).long(name.replace('_', "-"))
        });
        flags.fold(command.arg(serve::file_flag()), |command, flag| command.arg(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProxySettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given =
            Self::all().filter_map(|setting| Some((setting.key, matches.get_one::<String>(setting.key)?.clone())));
        Ok(Self { given: given.collect(), file: matches.get_one("config").cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
