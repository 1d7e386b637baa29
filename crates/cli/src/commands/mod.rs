//! One file a command: its arguments, what it asks of the engine, and how it shows the answer.

pub mod add;
pub mod audit;
pub mod backup;
pub mod cache;
pub mod cache_serve;
pub mod code;
pub mod completions;
pub mod config;
pub mod diff;
pub mod doctor;
pub mod embed;
pub mod erase;
pub mod export;
pub mod facts;
pub mod get;
pub mod graph;
pub mod grep;
pub mod import;
pub mod index;
pub mod key;
pub mod kv;
pub mod log;
pub mod ls;
pub mod mcp;
pub mod migrate;
pub mod model;
pub mod named;
pub mod optimize;
pub mod reclaim;
pub mod restore;
pub mod restore_files;
pub mod rm;
pub mod search;
pub mod serve;
pub mod snapshot;
pub mod stats;
pub mod tag;
pub mod tenant;
pub mod top;
pub mod tree;
pub mod ui;
pub mod watch;

use crate::args::{Cli, Command};
use crate::exit::{Failure, Outcome};
use crate::output::Out;

pub fn run(cli: &Cli, out: &mut Out) -> Result<Outcome, Failure> {
    let globals = &cli.globals;
    match &cli.command {
        Command::Add(args) => args.run(globals, out),
        Command::Watch(args) => args.run(globals, out),
        Command::Search(args) => args.run(globals, out),
        Command::Get(args) => args.run(globals, out),
        Command::Named(asked) => asked.run(globals, out),
        Command::Kv(args) => args.run(globals, out),
        Command::Graph(args) => args.run(globals, out),
        Command::Tree(args) => args.run(globals, out),
        Command::Snapshot(args) => args.run(globals, out),
        Command::Log(args) => args.run(globals, out),
        Command::Diff(args) => args.run(globals, out),
        Command::Grep(args) => args.run(globals, out),
        Command::Code(args) => args.run(globals, out),
        Command::RestoreFiles(args) => args.run(globals, out),
        Command::Erase(args) => args.run(globals, out),
        Command::Cache(args) => args.run(globals, out),
        Command::Facts(args) => args.run(globals, out),
        Command::Ls(args) => args.run(globals, out),
        Command::Rm(args) => args.run(globals, out),
        Command::Tag(args) => args.run(globals, out),
        Command::Tenant(args) => args.run(globals, out),
        Command::Stats(args) => args.run(globals, out),
        Command::Top(args) => args.run(globals, out),
        Command::Embed(args) => args.run(globals, out),
        Command::Index(args) => args.run(globals, out),
        Command::Optimize(args) => args.run(globals, out),
        Command::Reclaim(args) => args.run(globals, out),
        Command::Doctor(args) => args.run(globals, out),
        Command::Backup(args) => args.run(globals, out),
        Command::Restore(args) => args.run(globals, out),
        Command::Export(args) => args.run(globals, out),
        Command::Import(args) => args.run(globals, out),
        Command::Migrate(args) => args.run(globals, out),
        Command::Serve(args) => args.run(globals),
        Command::Ui(args) => args.run(globals, out),
        Command::Mcp(args) => args.run(globals),
        Command::Key(args) => args.run(globals, out),
        Command::Audit(args) => args.run(globals, out),
        Command::Config(args) => args.run(globals, out),
        Command::Model(args) => args.run(out),
        Command::Completions(args) => args.run(out),
    }
}
