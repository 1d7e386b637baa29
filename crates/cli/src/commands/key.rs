//! `nuthatch key`: who may ask a server.

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use nuthatch_link::{Error, Result as EngineResult};
use nuthatch_server::config::parse_duration;
use nuthatch_server::{Key, KeyFile, NewKey, PASSWORD_BYTES, Scope, Scopes, TENANT_DEFAULT, Token};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out, name};

#[derive(Args)]
pub struct KeyCommand {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Create a key and print it, this once
    Create(Create),
    /// List all keys, without their secrets
    List(List),
    /// Revoke a key now
    Revoke(Revoke),
    /// Replace a key by a new one like it; the old one ends a little later
    Rotate(Rotate),
    /// Set the password of a key that has one, read from standard input
    Password(Password),
}

#[derive(Args)]
struct Create {
    /// A name for its owner
    #[arg(value_name = "NAME")]
    name: String,
    /// A right: read, write or admin (everything); may be repeated
    #[arg(long = "scope", value_name = "SCOPE", default_value = "read", value_parser = |name: &str| name.parse::<Scope>())]
    scopes: Vec<Scope>,
    /// The tenant whose data it opens
    #[arg(long, value_name = "NAME", default_value = TENANT_DEFAULT)]
    tenant: String,
    /// Expire after this time, for example 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// Make a password instead of a token: read it as one line from standard input; Redis clients
    /// log in as user NAME
    #[arg(long)]
    password: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Password {
    /// The id that `key list` shows
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Revoke {
    /// The id that `key list` shows
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
struct Rotate {
    /// The id that `key list` shows
    #[arg(value_name = "ID")]
    id: String,
    /// How long the old key remains valid
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    overlap: Duration,
    /// Expire the new key after this time [default: never]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl KeyCommand {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let now = nuthatch_server::now();
        match &self.command {
            What::Create(create) => {
                let folder = folder::made(globals)?;
                let new = NewKey::new(create.name.as_str(), Scopes::new(create.scopes.clone()));
                let new = create.of_tenant(NewKey { expires_in: create.expires_in, ..new }, globals)?;
                let act = AuditedAction::new(globals, &folder, "key.create", &create.name)
                    .detail("for", create.tenant.as_str())
                    .detail("scopes", new.scopes.to_string())
                    .detail("password", create.password);
                let file = KeyFile::of(&folder);
                if create.password {
                    let made = password().and_then(|password| file.create_with_password(new, &password, now));
                    let key = act.end(made, id_and_end)?;
                    return show_user(out, &key, create.json);
                }
                let made = act.end(file.create(new, now), |(key, _)| id_and_end(key))?;
                show_new(out, &made, create.json)
            }
            What::List(list) => {
                let keys = KeyFile::of(&folder::existing(globals)?).read()?.unwrap_or_default();
                list.show(out, &keys, now)
            }
            What::Revoke(revoke) => {
                let folder = folder::existing(globals)?;
                let act = AuditedAction::new(globals, &folder, "key.revoke", &revoke.id);
                let key = act.ended(KeyFile::of(&folder).revoke(&revoke.id, now))?;
                output::note(&format!(
                    "Key {} of {} is revoked; a running server refuses it from now on.",
                    key.id, key.name
                ));
                Ok(Outcome::Done)
            }
            What::Rotate(rotate) => {
                let folder = folder::existing(globals)?;
                let act = AuditedAction::new(globals, &folder, "key.rotate", &rotate.id);
                let made = KeyFile::of(&folder).rotate(&rotate.id, rotate.overlap, rotate.expires_in, now);
                let made = act.end(made, |(key, _)| id_and_end(key))?;
                show_new(out, &made, rotate.json)
            }
            What::Password(change) => {
                let folder = folder::existing(globals)?;
                let act = AuditedAction::new(globals, &folder, "key.password", &change.id);
                let file = KeyFile::of(&folder);
                let key = act.ended(password().and_then(|password| file.set_password(&change.id, &password, now)))?;
                output::note(&format!("The user {} now has the new password.", key.name));
                Ok(Outcome::Done)
            }
        }
    }
}

impl Create {
    /// The key, for the tenant that has the name now.
    fn of_tenant(&self, new: NewKey, globals: &Globals) -> Result<NewKey, Failure> {
        if self.tenant == TENANT_DEFAULT {
            return Ok(new);
        }
        let database = folder::open_whole(globals)?;
        let new = new.of(&database.tenant(&self.tenant)?);
        database.close()?;
        Ok(new)
    }
}

fn id_and_end(key: &Key) -> Vec<(&'static str, Value)> {
    vec![("key", json!(key.id)), ("expires", json!(key.expires))]
}

/// One line of standard input. Never an option: those are seen in process lists.
fn password() -> EngineResult<Vec<u8>> {
    let mut line = Vec::new();
    let most = *PASSWORD_BYTES.end() as u64 + 2;
    let read = std::io::stdin().lock().take(most).read_until(b'\n', &mut line);
    read.map_err(|error| Error::io(Path::new("standard input"), &error))?;
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    Ok(line)
}

fn show_user(out: &mut Out, key: &Key, json: bool) -> Result<Outcome, Failure> {
    match json {
        true => output::json(out, &json!({"id": key.id, "user": key.name, "expires": key.expires}))?,
        false => {
            writeln!(out, "{}", key.id)?;
            out.flush()?;
            output::note(&format!("Redis clients log in with `AUTH {} PASSWORD`.", key.name));
        }
    }
    Ok(Outcome::Done)
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
                    "password": key.argon2id.is_some(),
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
            let with = if key.argon2id.is_some() { "  password" } else { "" };
            let about = format!("{}  {}{with}", key.tenant, key.scopes);
            writeln!(out, "{BOLD}{}{BOLD:#}  {}  {DIM}{about}  {state}{DIM:#}", key.id, name(&key.name))?;
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
