//! The command line: what is the same for every command, and the list of commands.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use nuthatch_link::wording;

use crate::{commands, exit, units};

/// The collection that files go to when none is named.
pub const COLLECTION_DEFAULT: &str = "documents";

const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (data folder format 6)");

#[derive(Parser)]
#[command(
    name = "nuthatch",
    version,
    long_version = LONG_VERSION,
    about = "A memory on your own disk: put documents in, get the right passages back",
    after_long_help = exit::HELP,
    after_help = "Try: nuthatch add docs README.md && nuthatch search \"how do I reset a password\"\nExit codes and details: nuthatch --help",
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args)]
pub struct Globals {
    /// The data folder
    ///
    /// Without it: the nearest `.nuthatch` in the current folder or one above it. `add` creates
    /// `./.nuthatch` if there is none.
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_DIR",
        hide_env_values = true,
        value_name = "DIR",
        help_heading = "Everywhere",
        // An empty variable is as good as none, see `folder`; the usual parser of paths refuses it.
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub data_dir: Option<PathBuf>,
    /// Use the data of this tenant [default: the default tenant]
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_TENANT",
        hide_env_values = true,
        value_name = "NAME",
        help_heading = "Everywhere"
    )]
    pub tenant: Option<String>,
    /// Memory for caches, buffers and indexing, for example 64MiB (an embedding model comes on top)
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_MEMORY_BUDGET",
        hide_env_values = true,
        value_name = "SIZE",
        value_parser = units::parse_bytes,
        help_heading = "Everywhere"
    )]
    pub memory_budget: Option<u64>,
    /// Map the indexes of large segments (true) or read them (false): mapped ones are faster, but
    /// count as resident memory. By default each is mapped while twice its size is free
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_MAPPED",
        hide_env_values = true,
        value_name = "BOOL",
        // `--mapped` alone means yes; `--mapped=false` beats the variable.
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = units::parse_switch,
        help_heading = "Everywhere"
    )]
    pub mapped: Option<bool>,
    /// Memory for building the vector graph of a large segment, outside the budget
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_BUILD_MEMORY",
        hide_env_values = true,
        value_name = "SIZE",
        value_parser = units::parse_bytes,
        help_heading = "Everywhere"
    )]
    pub build_memory: Option<u64>,
    /// Threads for building it [default: half of the CPUs]
    #[arg(
        long,
        global = true,
        env = "NUTHATCH_BUILD_THREADS",
        hide_env_values = true,
        value_name = "N",
        help_heading = "Everywhere"
    )]
    pub build_threads: Option<NonZeroUsize>,
    /// Colours: auto is on for a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Everywhere")]
    pub color: Color,
    /// Those of the above that are settings of a server and were given as flags, under the names that they have there.
    #[arg(skip)]
    pub given: Vec<(&'static str, String)>,
}

impl Cli {
    /// Reads the command line; ends the program where it is wrong, or help is asked for.
    pub fn read() -> Self {
        let matches = Self::command().try_get_matches().unwrap_or_else(|error| plain(error).exit());
        let mut cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let is_flag = |key: &str| matches.value_source(key) == Some(ValueSource::CommandLine);
        let raw = |key: &str| {
            let values = matches.get_raw(key).map(|values| values.map(OsStr::to_string_lossy).collect::<String>());
            values.filter(|value| !value.is_empty()).unwrap_or_else(|| "true".into()) // a flag without a value
        };
        let settings = nuthatch_server::config::SETTINGS.iter().filter(|setting| setting.everywhere);
        let given = settings.map(|setting| setting.key).filter(|key| is_flag(key));
        cli.globals.given = given.map(|key| (key, raw(key))).collect();
        cli
    }
}

/// A value that is no number is said to be that, in other words than those of the standard library.
fn plain(error: clap::Error) -> clap::Error {
    let told = |kind| error.get(kind).map(ToString::to_string).filter(|told| !told.is_empty());
    match (
        error.kind(),
        std::error::Error::source(&error),
        told(ContextKind::InvalidArg),
        told(ContextKind::InvalidValue),
    ) {
        (ErrorKind::ValueValidation, Some(why), Some(argument), Some(value)) => {
            let said = format!("invalid value '{value}' for '{argument}': {}", wording::plain(why));
            Cli::command().error(ErrorKind::ValueValidation, said)
        }
        _ => error,
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn apply(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Add files and folders; run it again to update changed files
    Add(commands::add::Add),
    /// Add files and folders, and add them again as they change
    Watch(commands::watch::Watch),
    /// Find passages
    Search(commands::search::Search),
    /// Print passages or records by id
    Get(commands::get::Get),
    #[command(flatten)]
    Named(commands::named::Asked),
    /// Trees, which keep files bit for bit: list, keep versions for longer, check
    Tree(commands::tree::Tree),
    /// Name the state of a tree; list and remove such names
    Snapshot(commands::snapshot::Snapshot),
    /// Show every version of a path in a tree
    Log(commands::log::Log),
    /// Show what differs between two states of a tree, or a tree and a folder
    Diff(commands::diff::Diff),
    /// Search the files of a tree, as ripgrep does
    Grep(commands::grep::Grep),
    /// Ask what the source code of a tree defines, uses and calls
    Code(commands::code::Code),
    /// Restore a tree, or parts of it, into a folder
    RestoreFiles(commands::restore_files::RestoreFiles),
    /// Erase every version of a path of a tree, and print the receipt
    Erase(commands::erase::Erase),
    /// List files, collections or the files of a tree
    Ls(commands::ls::Ls),
    /// Remove files, records or a collection
    Rm(commands::rm::Rm),
    /// Change tags and fields of files and records
    Tag(commands::tag::Tag),
    /// Keys and values: get, put, scan and more
    Kv(commands::kv::Kv),
    /// Graphs of typed nodes and edges: put, neighbors, traverse and more
    Graph(commands::graph::Graph),
    /// Caches of answers: what they hold, what they would give, verdicts
    Cache(commands::cache::Cache),
    /// Facts: what is said of whom, when it was true, and which passages say so
    Facts(commands::facts::Facts),
    /// Tenants, which never see each other's data: create, list, drop, set limits
    Tenant(commands::tenant::Tenant),
    /// Show rows, bytes on disk and bytes in memory, by part
    Stats(commands::stats::Stats),
    /// Watch a folder or a server live: requests, memory, caches, background work, tenants
    Top(commands::top::Top),
    /// Make the vectors that are still to come, and wait for them
    Embed(commands::embed::Embed),
    /// Index the files of trees for `grep` now, and say how far that is
    Index(commands::index::Index),
    /// Merge segments, so that searches are as fast as possible
    Optimize(commands::optimize::Optimize),
    /// Erase the bytes of deleted data from disk, and print the receipt
    Reclaim(commands::reclaim::Reclaim),
    /// Check every checksum, and name each damage with its remedy
    Doctor(commands::doctor::Doctor),
    /// Back everything up while others read and write; list, verify and delete backups
    Backup(commands::backup::Backup),
    /// Restore a backup into a new data folder
    Restore(commands::restore::Restore),
    /// Export everything as JSON lines
    Export(commands::export::Export),
    /// Import the files that `export` wrote
    Import(commands::import::Import),
    /// Upgrade the folder to this program's format, or list the changes
    Migrate(commands::migrate::Migrate),
    /// Serve the folder over HTTP
    Serve(commands::serve::Serve),
    /// Open the console on the folder in a browser
    Ui(commands::ui::Ui),
    /// Serve a model's host over standard input and output (Model Context Protocol, MCP)
    Mcp(commands::mcp::Mcp),
    /// Keys and passwords of a server: create, list, change, revoke, rotate
    Key(commands::key::KeyCommand),
    /// Show the audit log: administrative actions and their outcome
    Audit(commands::audit::Audit),
    /// Check the settings of a server
    Config(commands::config::ConfigCommand),
    /// Show where an embedding model is, or install it
    Model(commands::model::Model),
    /// Print a completion script for a shell
    Completions(commands::completions::Completions),
}
