//! `nuthatch top`: what a folder or a server does, live.
//!
//! [`source`] asks, [`sample`] is one answer, [`exposition`] reads the server's metrics, [`screen`] draws, [`terminal`] shows.

mod exposition;
mod sample;
mod screen;
mod source;
mod terminal;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units;

use self::sample::{Rates, Sample};
use self::source::Source;

#[derive(Args)]
#[command(after_help = "\
Keys: q or Ctrl-C ends, space holds the picture, arrows, PgUp and PgDn move it

nuthatch top                                            # the folder, through the process that holds it
nuthatch top --url https://memory.example --api-key KEY # a server, with its requests
nuthatch top --once --json                              # one sample, for scripts")]
pub struct Top {
    /// Watch this server, with a key of the scope `admin`; requests are counted by servers alone
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The key for the server
    #[arg(long, env = "NUTHATCH_API_KEY", hide_env_values = true, value_name = "KEY", requires = "url")]
    api_key: Option<String>,
    /// Certificate authorities (PEM) for the server, in place of the system's
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
    /// Seconds between two looks
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = units::parse_seconds)]
    every: Duration,
    /// Print one sample and end
    #[arg(long)]
    once: bool,
    /// Print samples as JSON, one a line with a time between them, or one document with `--once`
    #[arg(long)]
    json: bool,
}

impl Top {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let source = match &self.url {
            Some(url) => Source::server(url, self.api_key.as_deref(), self.ca.as_deref(), globals)?,
            None => Source::folder(globals)?,
        };
        let ended = if self.once {
            self.once(&source, out)
        } else if self.json {
            self.lines(&source, out)
        } else {
            terminal::run(&source, self.every)
        };
        source.close()?;
        ended
    }

    fn once(&self, source: &Source, out: &mut Out) -> Result<Outcome, Failure> {
        let sample = source.sample()?;
        match self.json {
            true => output::json(out, &sample.as_json(None))?,
            false => screen::print(out, &sample)?,
        }
        Ok(Outcome::Done)
    }

    /// Until it is stopped, or nobody reads any more.
    fn lines(&self, source: &Source, out: &mut Out) -> Result<Outcome, Failure> {
        let cancel = crate::interrupt::flag("Stopping")?;
        let mut before: Option<Sample> = None;
        loop {
            let sample = source.sample()?;
            let rates = before.as_ref().map(|before| Rates::between(before, &sample));
            serde_json::to_writer(&mut *out, &sample.as_json(rates.as_ref())).map_err(std::io::Error::from)?;
            std::io::Write::write_all(out, b"\n")?;
            std::io::Write::flush(out)?;
            before = Some(sample);
            if !terminal::sleep(self.every, cancel) {
                return Ok(Outcome::Done);
            }
        }
    }
}
