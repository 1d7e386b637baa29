//! `nuthatch ui`: the console on a folder, in the user's browser.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};

use clap::Args;
use nuthatch_server::config::Layers;
use nuthatch_server::{Config, Scope, Scopes};
use tempfile::NamedTempFile;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out};

#[derive(Args)]
#[command(
    after_help = "It listens on this machine alone and ends with Ctrl-C. The link signs one browser in, once, within ten minutes."
)]
pub struct Ui {
    /// Print the link, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Let the console read, and change nothing
    #[arg(long)]
    read_only: bool,
}

impl Ui {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        // Any free port of this machine, and no line for every request.
        let own = Layers::default().flag("listen", "127.0.0.1:0").flag("log_level", "warn");
        let config = Config {
            data_dir: Some(folder::existing(globals)?),
            memory_budget_bytes: globals.memory_budget,
            mapped: globals.mapped,
            build_memory_bytes: globals.build_memory,
            build_threads: globals.build_threads.map(NonZeroUsize::get),
            ..Config::resolve(&own)?
        };
        let scopes = if self.read_only { Scopes::new([Scope::Read]) } else { Scopes::all() };
        let tenant = folder::tenant(globals).map(str::to_string);
        // Kept until the end: the browser reads it when it comes to it.
        let mut page = None;
        let mut told = Ok(());
        let opened = |url: &str| {
            told = writeln!(out, "{url}").and_then(|()| out.flush());
            if !self.no_open {
                page = open(url);
            }
        };
        nuthatch_server::run_for_browser(config, tenant, scopes, opened)?;
        drop(page);
        told?;
        Ok(Outcome::Done)
    }
}

/// Opens the link through a page that only this user can read: every user can see the arguments of a program, and the
/// link signs in the first visitor.
fn open(url: &str) -> Option<NamedTempFile> {
    let page = page_to(url).and_then(|page| start_browser(&page).map(|()| page));
    page.map_err(|error| output::warning(&format!("cannot open a browser ({error}); open the link yourself"))).ok()
}

fn page_to(url: &str) -> std::io::Result<NamedTempFile> {
    let mut page = tempfile::Builder::new().prefix("nuthatch-").suffix(".html").tempfile()?;
    write!(
        page,
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={url}\"><title>Nuthatch</title>"
    )?;
    page.flush()?;
    Ok(page)
}

fn start_browser(page: &NamedTempFile) -> std::io::Result<()> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    let silent = command.arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = silent.spawn()?;
    // It may run as long as the browser; nobody waits for it but the system.
    std::thread::spawn(move || browser.wait());
    Ok(())
}
