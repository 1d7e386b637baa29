//! `nuthatch key`: who may ask a server.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use nuthatch_server::config::parse_duration;
use nuthatch_server::{Key, KeyFile, NewKey, Scope, Scopes, TENANT_DEFAULT, Token};
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out, plain};

#[derive(Args)]
pub struct KeyCommand {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a key and print it; it is shown this once
    Create(Create),
    /// List all keys, without what opens anything
    List(List),
    /// End a key now
    Revoke(Revoke),
    /// Make a key like another, which itself ends a little later
    Rotate(Rotate),
}

#[derive(Args)]
struct Create {
    /// Who will have it
    #[arg(value_name = "NAME")]
    name: String,
    /// What it allows: read, write, admin (everything); several times for several
    #[arg(long = "scope", value_name = "SCOPE", default_value = "read", value_parser = |name: &str| name.parse::<Scope>())]
    scopes: Vec<Scope>,
    /// Whose data it opens
    #[arg(long, value_name = "NAME", default_value = TENANT_DEFAULT)]
    tenant: String,
    /// It ends after that time, for example 90d; left out, never
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Revoke {
    /// As `key list` shows it
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
struct Rotate {
    /// As `key list` shows it
    #[arg(value_name = "ID")]
    id: String,
    /// How long the old one still holds
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    overlap: Duration,
    /// The new one ends after that time; left out, never
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl KeyCommand {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let now = Timestamp::now();
        match &self.command {
            What::Create(create) => {
                let folder = folder::made(globals)?;
                let new = NewKey {
                    name: create.name.clone(),
                    tenant: create.tenant.clone(),
                    scopes: Scopes::new(create.scopes.clone()),
                    expires_in: create.expires_in,
                };
                let made = KeyFile::of(&folder).create(new, now)?;
                show_new(out, &made, create.json)
            }
            What::List(list) => {
                let keys = KeyFile::of(&folder::existing(globals)?).read()?.unwrap_or_default();
                list.show(out, &keys, now)
            }
            What::Revoke(revoke) => {
                let key = KeyFile::of(&folder::existing(globals)?).revoke(&revoke.id, now)?;
                output::note(&format!(
                    "Key {} of {} is revoked; a running server refuses it from now on.",
                    key.id, key.name
                ));
                Ok(Outcome::Done)
            }
            What::Rotate(rotate) => {
                let file = KeyFile::of(&folder::existing(globals)?);
                let made = file.rotate(&rotate.id, rotate.overlap, rotate.expires_in, now)?;
                show_new(out, &made, rotate.json)
            }
        }
    }
}

fn show_new(out: &mut Out, (key, Token(token)): &(Key, Token), json: bool) -> Result<Outcome, Failure> {
    match json {
        true => output::json(out, &json!({"id": key.id, "token": token, "expires": key.expires}))?,
        false => {
            writeln!(out, "{token}")?;
            out.flush()?;
            output::note("This is shown once. Send it as `Authorization: Bearer KEY`.");
        }
    }
    Ok(Outcome::Done)
}

impl List {
    fn show(&self, out: &mut Out, keys: &[Key], now: Timestamp) -> Result<Outcome, Failure> {
        if self.json {
            let all = keys.iter().map(|key| {
                json!({
                    "id": key.id, "name": key.name, "tenant": key.tenant, "scopes": key.scopes, "created": key.created,
                    "expires": key.expires, "revoked": key.revoked, "holds": key.holds(now),
                })
            });
            output::json(out, &all.collect::<Vec<_>>())?;
            return Ok(outcome(keys));
        }
        for key in keys {
            let state = match (&key.revoked, &key.expires) {
                (Some(at), _) => format!("revoked {at}"),
                (None, Some(at)) if !key.holds(now) => format!("expired {at}"),
                (None, Some(at)) => format!("until {at}"),
                (None, None) => "holds".into(),
            };
            let about = format!("{}  {}", key.tenant, key.scopes);
            writeln!(out, "{BOLD}{}{BOLD:#}  {}  {DIM}{about}  {state}{DIM:#}", key.id, plain(&key.name))?;
        }
        if keys.is_empty() {
            output::note("No keys.");
        }
        Ok(outcome(keys))
    }
}

fn outcome(keys: &[Key]) -> Outcome {
    if keys.is_empty() { Outcome::NothingFound } else { Outcome::Done }
}
