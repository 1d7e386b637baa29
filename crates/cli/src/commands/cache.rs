//! `nuthatch cache`: what caches of answers hold, what they would give, verdicts on what they gave, and the proxy before a provider.

mod calibrate;
mod carry;
mod lines;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use nuthatch_dialect::caches;
use nuthatch_link::{Cache as EngineCache, Error, Result as EngineResult};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::commands::cache_serve::{CacheDemo, CacheServe};
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, Out, plain};
use crate::units::count;

/// Characters of a prompt in a list.
const SHOWN_CHARS: usize = 60;

#[derive(Args)]
#[command(after_help = "\
nuthatch cache stats --cache answers
nuthatch cache explain \"how do I reset my password\" --cache answers --scope user=anna
nuthatch cache audits --cache answers
nuthatch cache report 17 4 --right --cache answers
nuthatch cache warm faq.jsonl --cache answers --create
nuthatch cache calibrate pairs.jsonl
nuthatch cache serve --upstream https://api.openai.com/v1 --cache answers")]
pub struct Cache {
    /// The cache
    #[arg(short, long, global = true, default_value = "default", value_name = "NAME")]
    cache: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print what a cache holds and has done, and what its promise stands on
    Stats,
    /// Print what a lookup of a prompt would find
    Explain(Explain),
    /// List answers that wait for a verdict
    Audits(Audits),
    /// Report whether an answer was right
    Report(Report),
    /// Store answers that are known, from JSON lines with prompt and response
    Warm(Warm),
    /// Measure labelled pairs of prompts: what a threshold would do with them, and which a difference rules out
    Calibrate(calibrate::Calibrate),
    /// Print all answers as JSON lines, for `import`; settings and ledger stay
    Export,
    /// Store the answers of an export
    Import(carry::Import),
    /// Give all answers vectors of the model that is installed now
    Reembed,
    /// Remove answers: all of them, or those with a tag; the ledger stays
    Clear(Clear),
    /// List the caches
    Ls,
    /// Drop a cache with its answers and its ledger
    Drop(DropCache),
    /// Answer for a provider of models: requests that were answered before come from the cache, others from there
    Serve(CacheServe),
    /// Open a page with a chat through the cache that shows what it does
    Demo(CacheDemo),
}

#[derive(Args)]
struct Explain {
    #[arg(value_name = "PROMPT")]
    prompt: String,
    /// A part of the scope; may be repeated
    #[arg(long, value_name = "PART=VALUE", value_parser = part)]
    scope: Vec<(String, String)>,
}

#[derive(Args)]
struct Audits {
    /// Maximum number of answers, up to 10,000
    #[arg(short, long, default_value_t = 20)]
    limit: usize,
}

#[derive(Args)]
struct Report {
    /// The number of the hit
    #[arg(value_name = "HIT")]
    hit: u64,
    /// The number of the answer
    #[arg(value_name = "ENTRY")]
    entry: u64,
    /// It was right
    #[arg(long, required_unless_present = "wrong", conflicts_with = "wrong")]
    right: bool,
    /// It was wrong
    #[arg(long)]
    wrong: bool,
}

#[derive(Args)]
struct Warm {
    /// Each line has `prompt` and `response`, and may have `scope`, `vector`, `sources`, `tags`, `ttl`, `cost`. `-` for the input
    #[arg(value_name = "FILE")]
    answers: PathBuf,
    /// Create the cache if it is missing
    #[arg(long)]
    create: bool,
}

#[derive(Args)]
struct Clear {
    /// Only answers with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Confirm the removal of all answers
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
struct DropCache {
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

impl Cache {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        match &self.command {
            Command::Stats => self.stats(globals, out),
            Command::Explain(args) => self.explain(args, globals, out),
            Command::Audits(args) => self.audits(args, globals, out),
            Command::Report(args) => self.report(args, globals, out),
            Command::Warm(args) => self.warm(args, globals, out),
            Command::Calibrate(args) => args.run(self.json, out),
            Command::Export => {
                let database = folder::open(globals)?;
                carry::export(&database.existing_cache(&self.cache)?, out)?;
                database.close()?;
                Ok(Outcome::Done)
            }
            Command::Import(args) => {
                let kept = self.write(globals, |cache| args.run(cache))?;
                self.counted("kept", "Kept", kept, out)
            }
            Command::Reembed => {
                let embedded = self.write(globals, carry::reembed)?;
                self.counted("embedded", "Embedded", embedded, out)
            }
            Command::Clear(args) => self.clear(args, globals, out),
            Command::Ls => self.ls(globals, out),
            Command::Drop(args) => self.drop_cache(args, globals, out),
            Command::Serve(args) => args.run(&self.cache, self.json, globals),
            Command::Demo(args) => args.run(&self.cache, globals, out),
        }
    }

    fn stats(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, |cache| caches::ask(cache, "stats", Value::Null))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        let (counts, ledger, settings) = (&found["counts"], &found["ledger"], &found["settings"]);
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}  {}, {} bytes",
            plain(&self.cache),
            count(number(&found["entries"]), "answer"),
            found["bytes"]
        )?;
        for name in ["exact", "canonical", "alias", "semantic", "misses", "stored", "evicted", "expired", "stale"] {
            writeln!(out, "{name:>10}  {}", counts[name])?;
        }
        for (reason, missed) in counts["missed"].as_object().into_iter().flatten().filter(|(_, missed)| **missed != 0) {
            writeln!(out, "{:>10}  {missed} {reason}", "missed")?;
        }
        match settings["budget"].as_f64() {
            Some(budget) if budget > 0.0 => {
                writeln!(
                    out,
                    "Of {} by meaning, at most {:.1} are wrong with probability {}; {:.1} may be. {} known to be wrong, {} waiting for a verdict.",
                    count(number(&ledger["hits"]), "answer"),
                    ledger["bound"].as_f64().unwrap_or_default(),
                    1.0 - settings["failure"].as_f64().unwrap_or_default(),
                    ledger["allowed"].as_f64().unwrap_or_default(),
                    ledger["known_wrong"],
                    ledger["pending"],
                )?;
            }
            _ => writeln!(out, "It has no budget, and gives no answer by meaning.")?,
        }
        if let Some(wrong) = ledger["wrong"].as_object() {
            let share = |name: &str| 100.0 * wrong[name].as_f64().unwrap_or_default();
            writeln!(
                out,
                "An estimated {:.2} % of them are wrong, between {:.2} and {:.2} %.",
                share("share"),
                share("low"),
                share("high")
            )?;
        }
        let savings = &found["savings"];
        let usd = |name: &str| savings[name].as_f64().unwrap_or_default();
        if number(&savings["tokens"]) > 0 || usd("gross_usd") > 0.0 {
            writeln!(
                out,
                "Saved {} tokens and {:.4} USD net: {:.4} gross, less {:.4} for wrong answers, {:.4} for verdicts, {:.4} for vectors.",
                savings["tokens"],
                usd("net_usd"),
                usd("gross_usd"),
                usd("wrong_usd"),
                usd("judging_usd"),
                usd("embedding_usd")
            )?;
        }
        Ok(Outcome::Done)
    }

    fn explain(&self, args: &Explain, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let scope: BTreeMap<&str, &str> = args.scope.iter().map(|(part, value)| (&**part, &**value)).collect();
        let question = json!({ "prompt": args.prompt, "scope": scope });
        let found = self.read(globals, |cache| caches::ask(cache, "explain", question))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "form: {}", plain(text(&found["canonical"])))?;
        match found["tier"].as_str() {
            Some(tier) if found["stale"] == true => {
                writeln!(out, "answer {} ({tier}) is out of date: a source has changed", found["entry"])?;
            }
            Some(tier) => writeln!(out, "answer {} ({tier})", found["entry"])?,
            None if found["compared"] == false => writeln!(out, "no answer; meanings were not compared")?,
            None => writeln!(out, "no answer for the prompt itself")?,
        }
        for near in found["candidates"].as_array().into_iter().flatten() {
            let why = match (&near["veto"], &near["stale"], &near["worth"]) {
                (Value::String(veto), ..) => format!("ruled out: {veto}"),
                (_, Value::Bool(true), _) => "out of date".to_string(),
                (.., Value::Bool(false)) => "too risky for the budget".to_string(),
                _ => "possible".to_string(),
            };
            let (similarity, risk) = (&near["similarity"], &near["risk"]);
            writeln!(
                out,
                "{:>6}  cosine {:.3}  risk {:.4}  {why}  {}",
                number(&near["entry"]),
                similarity.as_f64().unwrap_or_default(),
                risk.as_f64().unwrap_or_default(),
                plain(&shortened(text(&near["prompt"])))
            )?;
        }
        Ok(Outcome::Done)
    }

    fn audits(&self, args: &Audits, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let question = json!({ "limit": args.limit });
        let found = self.read(globals, |cache| caches::ask(cache, "audits", question))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for waiting in found["waiting"].as_array().into_iter().flatten() {
            writeln!(
                out,
                "{} {}  {}  got the answer to  {}: {}",
                waiting["hit"],
                waiting["entry"],
                plain(&shortened(text(&waiting["asked"]))),
                plain(&shortened(text(&waiting["prompt"]))),
                plain(&shortened(&waiting["response"].to_string()))
            )?;
        }
        Ok(Outcome::Done)
    }

    fn report(&self, args: &Report, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let question = json!({ "hit": args.hit, "entry": args.entry, "wrong": args.wrong });
        let found = self.write(globals, |cache| caches::ask(cache, "report", question))?;
        match self.json {
            true => output::json(out, &found)?,
            false if found["new"] == true => writeln!(out, "Noted.")?,
            false => writeln!(out, "That was known.")?,
        }
        Ok(Outcome::Done)
    }

    fn warm(&self, args: &Warm, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_to_write(globals)?;
        let cache = if args.create { database.cache(&self.cache)? } else { database.existing_cache(&self.cache)? };
        let mut stored = 0;
        for (at, line) in lines::read(&args.answers)?.lines().enumerate() {
            let wrong = |error: &dyn std::fmt::Display| lines::place(&args.answers, at, error);
            let line = line.map_err(|error| wrong(&error))?;
            if line.trim().is_empty() {
                continue;
            }
            let answer = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
            let found = caches::ask(&cache, "store", answer).map_err(|error| wrong(&error))?;
            stored += u64::from(found["stored"] == true);
        }
        database.close()?;
        self.counted("stored", "Stored", stored, out)
    }

    fn counted(&self, name: &str, did: &str, answers: u64, out: &mut Out) -> Result<Outcome, Failure> {
        match self.json {
            true => output::json(out, &json!({ (name): answers }))?,
            false => writeln!(out, "{did} {}.", count(answers, "answer"))?,
        }
        Ok(Outcome::Done)
    }

    fn clear(&self, args: &Clear, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let which = match &args.tag {
            Some(tag) => json!({ "tag": tag }),
            None if args.yes => json!({ "all": true }),
            None => {
                let why = format!(
                    "this removes all answers of cache {:?}; add --yes to confirm, or name a --tag",
                    self.cache
                );
                return Err(Error::invalid(why).into());
            }
        };
        let found = self.write(globals, |cache| caches::ask(cache, "invalidate", which))?;
        match self.json {
            true => output::json(out, &found)?,
            false => writeln!(out, "Removed {}.", count(number(&found["removed"]), "answer"))?,
        }
        Ok(Outcome::Done)
    }

    fn ls(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let names = database.cache_names()?;
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "caches": names }))?,
            false => names.iter().try_for_each(|name| writeln!(out, "{}", plain(name)))?,
        }
        Ok(Outcome::Done)
    }

    fn drop_cache(&self, args: &DropCache, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let name = &self.cache;
        if !args.yes {
            let why = format!("this drops cache {name:?} with its answers and its ledger; add --yes to confirm");
            return Err(Error::invalid(why).into());
        }
        let database = folder::open_to_write(globals)?;
        database.existing_cache(name)?;
        let act = AuditedAction::new(globals, database.folder(), "cache.drop", name);
        let dropped = act.end(database.drop_cache(name), |dropped| vec![("dropped", json!(dropped))])?;
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "cache": name, "dropped": dropped }))?,
            false => writeln!(out, "Dropped cache {}.", plain(name))?,
        }
        Ok(Outcome::Done)
    }

    fn read<T>(&self, globals: &Globals, read: impl FnOnce(&EngineCache) -> EngineResult<T>) -> EngineResult<T> {
        let database = folder::open(globals)?;
        let found = read(&database.existing_cache(&self.cache)?)?;
        database.close()?;
        Ok(found)
    }

    fn write<T>(&self, globals: &Globals, write: impl FnOnce(&EngineCache) -> EngineResult<T>) -> EngineResult<T> {
        let database = folder::open_to_write(globals)?;
        let found = write(&database.existing_cache(&self.cache)?)?;
        database.close()?;
        Ok(found)
    }
}

fn part(given: &str) -> Result<(String, String), String> {
    let (part, value) = given.split_once('=').ok_or("write it as PART=VALUE, for example user=anna")?;
    Ok((part.into(), value.into()))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}
