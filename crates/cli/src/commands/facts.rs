//! `nuthatch facts`: what is said of whom, when it was true, and which passages say so.

use std::io::{BufRead, Write};

use clap::{Args, Subcommand, ValueEnum};
use nuthatch_dialect::facts;
use nuthatch_link::{Error, Facts as EngineFacts, Result as EngineResult};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, Out, plain};
use crate::units::{count, thousands};

/// Lines of standard input that are one write.
const LINES_AT_ONCE: usize = 1000;
/// Characters of a passage in an answer.
const SHOWN_CHARS: usize = 200;

#[derive(Args)]
#[command(after_help = "\
nuthatch facts declare works_at --functional
nuthatch facts add Anna works_at Acme --valid-from 2020-01-01 --source notes/a1
nuthatch facts record < facts.jsonl
nuthatch facts find Anna --valid-at 2022-01-01
nuthatch facts why 1
nuthatch facts extract --collection default
nuthatch facts paths Anna Ben --cost strength")]
pub struct Facts {
    /// The facts
    #[arg(short, long, global = true, default_value = "default", value_name = "NAME")]
    facts: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find facts by subject, relation and object
    Find(Find),
    /// Print everything that was ever said of an entity
    History(History),
    /// Print why a fact is believed or is not: its sources, and what they say
    Why(Number),
    /// Record a fact
    Add(Add),
    /// Record facts from standard input, one a line
    ///
    /// A line is a JSON object: {"subject": "Anna", "predicate": "works_at", "object": "Acme"}, or with a "value" in place of the
    /// object; it may have "valid_from", "valid_to", "confidence", "extractor", "replaces", and "sources":
    /// [{"collection": "notes", "id": "a1"}]. A thousand lines are one write.
    Record,
    /// Take facts back
    Retract(Numbers),
    /// Say when a fact ended to be true
    End(End),
    /// Declare of a relation whether a subject has one value of it at a time
    Declare(Declare),
    /// Declare a name another name of an entity
    Alias(Alias),
    /// Take an alias back
    Unalias(Unalias),
    /// List entities, or those that may be the same as one
    Entities(Entities),
    /// List the relations
    Predicates,
    /// Print which facts stand on records
    Trace(Passages),
    /// Let an extractor without a model read a collection
    Extract(Extract),
    /// List what an extractor failed at
    Failures(Failures),
    /// Find the cheapest paths between two entities
    Paths(Paths),
    /// List the entities that matter most
    Rank(Rank),
    /// List entities that belong together
    Groups(Groups),
    /// Note which facts have lost their last source
    Settle,
    /// Erase what was taken from records
    Erase(Erase),
    /// Count facts
    Stats,
    /// List the facts by name
    Ls,
    /// Drop all facts of the name, with what extractors found
    Drop(DropFacts),
}

#[derive(Args)]
struct Find {
    #[arg(value_name = "SUBJECT")]
    subject: Option<String>,
    /// The relation
    #[arg(short, long, value_name = "RELATION")]
    predicate: Option<String>,
    /// The entity that they relate to
    #[arg(short, long, value_name = "ENTITY", conflicts_with = "value")]
    object: Option<String>,
    /// The value: a number, true, false, or a text
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
    /// Only facts that were true then
    #[arg(long, value_name = "TIME")]
    valid_at: Option<String>,
    /// Facts as they were known then
    #[arg(long, value_name = "TIME")]
    known_at: Option<String>,
    /// Also facts that are not believed any more
    #[arg(long)]
    history: bool,
    /// Maximum number of facts, up to 10,000
    #[arg(short, long, default_value_t = 100)]
    limit: usize,
    /// Continue after the fact of this number
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
}

#[derive(Args)]
struct History {
    #[arg(value_name = "SUBJECT")]
    subject: String,
}

#[derive(Args)]
struct Number {
    #[arg(value_name = "NUMBER")]
    number: u64,
}

#[derive(Args)]
struct Numbers {
    #[arg(value_name = "NUMBER", required = true)]
    numbers: Vec<u64>,
}

#[derive(Args)]
struct Add {
    #[arg(value_name = "SUBJECT")]
    subject: String,
    #[arg(value_name = "RELATION")]
    predicate: String,
    /// The entity that it relates the subject to
    #[arg(value_name = "OBJECT", required_unless_present = "value", conflicts_with = "value")]
    object: Option<String>,
    /// A value in place of an entity: a number, true, false, or a text
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
    /// When it began to be true
    #[arg(long, value_name = "TIME")]
    valid_from: Option<String>,
    /// When it ended to be true
    #[arg(long, value_name = "TIME")]
    valid_to: Option<String>,
    /// A record that says so; may be repeated
    #[arg(long, value_name = "COLLECTION/ID", value_parser = source)]
    source: Vec<(String, String)>,
    /// From 0 to 1
    #[arg(long, default_value_t = 1.0)]
    confidence: f64,
}

#[derive(Args)]
struct End {
    #[arg(value_name = "NUMBER")]
    number: u64,
    #[arg(value_name = "TIME")]
    valid_to: String,
}

#[derive(Args)]
struct Declare {
    #[arg(value_name = "RELATION")]
    predicate: String,
    /// One value at a time: a later one ends the one before
    #[arg(long, required_unless_present = "many", conflicts_with = "many")]
    functional: bool,
    /// Any number of values
    #[arg(long)]
    many: bool,
}

#[derive(Args)]
struct Alias {
    #[arg(value_name = "ALIAS")]
    alias: String,
    /// The name that stands for the entity
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Args)]
struct Unalias {
    #[arg(value_name = "ALIAS")]
    alias: String,
}

#[derive(Args)]
struct Entities {
    /// Only entities that begin so, whatever their case and punctuation
    #[arg(value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// Only entities that may be the same as this one
    #[arg(long, value_name = "NAME")]
    like: Option<String>,
    /// Maximum number of entities, up to 10,000
    #[arg(short, long, default_value_t = 100)]
    limit: usize,
}

#[derive(Args)]
struct Passages {
    /// The collection
    #[arg(short, long, default_value = "default", value_name = "NAME")]
    collection: String,
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

#[derive(Args)]
struct Erase {
    #[command(flatten)]
    passages: Passages,
    /// Confirm the erasure
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
struct Extract {
    /// The collection
    #[arg(short, long, default_value = "default", value_name = "NAME")]
    collection: String,
    /// What to look for
    #[arg(long, value_enum, default_value_t = BuiltIn::Links)]
    extractor: BuiltIn,
}

#[derive(Clone, Copy, ValueEnum)]
enum BuiltIn {
    /// Links, addresses, issues, paths, symbols, dates, versions, headings
    Links,
    /// Which of these stand together
    Mentions,
}

#[derive(Args)]
struct Failures {
    /// Its name
    #[arg(value_name = "EXTRACTOR")]
    extractor: String,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "lower")]
enum Way {
    Out,
    In,
    Both,
}

#[derive(Args)]
struct Moments {
    /// Only facts of this relation; may be repeated
    #[arg(short, long = "predicate", value_name = "RELATION")]
    predicates: Vec<String>,
    /// Only facts that were true then
    #[arg(long, value_name = "TIME")]
    valid_at: Option<String>,
    /// Facts as they were known then
    #[arg(long, value_name = "TIME")]
    known_at: Option<String>,
}

#[derive(Args)]
struct Paths {
    #[arg(value_name = "FROM")]
    from: String,
    #[arg(value_name = "TO")]
    to: String,
    /// Which way facts are gone
    #[arg(long, value_enum, default_value = "both")]
    direction: Way,
    /// Cost of a fact: 1 (hops), its confidence (weight), or 1 divided by it (strength)
    #[arg(long, default_value = "hops", value_parser = ["hops", "weight", "strength"])]
    cost: String,
    /// Maximum number of paths, up to 16
    #[arg(long, default_value_t = 1)]
    count: usize,
    #[command(flatten)]
    moments: Moments,
}

#[derive(Args)]
struct Rank {
    /// Where a walk begins again; none: anywhere
    #[arg(value_name = "ENTITY")]
    seeds: Vec<String>,
    /// Which way facts are gone
    #[arg(long, value_enum, default_value = "both")]
    direction: Way,
    /// Maximum number of entities, up to 10,000
    #[arg(short, long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    moments: Moments,
}

#[derive(Args)]
struct Groups {
    /// By any path (components), or by more facts among each other than by chance (communities)
    #[arg(long, default_value = "components", value_parser = ["components", "communities"])]
    by: String,
    /// Maximum number of groups, up to 10,000
    #[arg(short, long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    moments: Moments,
}

#[derive(Args)]
struct DropFacts {
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

impl Facts {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        match &self.command {
            Command::Find(args) => self.list(&args.question()?, globals, out),
            Command::History(args) => self.history(args, globals, out),
            Command::Why(args) => self.why(args, globals, out),
            Command::Add(args) => self.add(args, globals, out),
            Command::Record => self.record(globals, out),
            Command::Retract(args) => {
                let found = self.write(globals, "retract", json!({ "numbers": args.numbers }))?;
                self.say(out, &found, |found| format!("Retracted {}.", facts_of(found, "ended")))
            }
            Command::End(args) => {
                let question = json!({ "number": args.number, "valid_to": args.valid_to });
                let found = self.write(globals, "end", question)?;
                self.say(out, &found, |found| format!("Noted, as fact {}.", found["number"]))
            }
            Command::Declare(args) => {
                let question = json!({ "predicate": args.predicate, "functional": args.functional });
                let found = self.write(globals, "declare", question)?;
                self.say(out, &found, noted)
            }
            Command::Alias(args) => {
                let found = self.write(globals, "alias", json!({ "alias": args.alias, "name": args.name }))?;
                self.say(out, &found, noted)
            }
            Command::Unalias(args) => {
                let found = self.write(globals, "remove_alias", json!({ "alias": args.alias }))?;
                self.say(out, &found, |found| match found["changed"] == true {
                    true => "Removed.".into(),
                    false => "It was no alias.".into(),
                })
            }
            Command::Entities(args) => self.entities(args, globals, out),
            Command::Predicates => self.predicates(globals, out),
            Command::Trace(args) => self.trace(args, globals, out),
            Command::Extract(args) => self.extract(args, globals, out),
            Command::Failures(args) => self.failures(args, globals, out),
            Command::Paths(args) => self.paths(args, globals, out),
            Command::Rank(args) => self.rank(args, globals, out),
            Command::Groups(args) => self.groups(args, globals, out),
            Command::Settle => {
                let found = self.write(globals, "settle", json!({}))?;
                self.say(out, &found, |found| format!("{} lost the last source.", facts_of(found, "ended")))
            }
            Command::Erase(args) => self.erase(args, globals, out),
            Command::Stats => {
                let found = self.read(globals, "stats", json!({}))?;
                self.say(out, &found, |found| format!("{}, {} of them ended", facts_of(found, "facts"), found["ended"]))
            }
            Command::Ls => self.ls(globals, out),
            Command::Drop(args) => self.drop_facts(args, globals, out),
        }
    }

    fn list(&self, question: &Value, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, "list", question.clone())?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        items(&found["facts"]).try_for_each(|fact| writeln!(out, "{}", line(fact)))?;
        if let Some(after) = found["after"].as_u64() {
            writeln!(out, "There are more: --after {after}")?;
        }
        Ok(Outcome::Done)
    }

    fn history(&self, args: &History, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        self.list(&json!({ "subject": args.subject, "history": true, "limit": 10_000 }), globals, out)
    }

    fn why(&self, args: &Number, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, "why", json!({ "number": args.number }))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        let fact = &found["fact"];
        writeln!(out, "{}", line(fact))?;
        writeln!(out, "  recorded {}", text(&fact["recorded"]))?;
        for source in items(&fact["sources"]) {
            let by = match text(&source["extractor"]) {
                "" => String::new(),
                extractor => format!(", by {}", plain(extractor)),
            };
            let recorded = text(&source["recorded"]);
            match source["collection"].as_str() {
                None => writeln!(out, "  a caller stands for it{by}, {recorded}")?,
                Some(collection) => {
                    let gone = if source["stands"] == true { "" } else { ", gone or changed" };
                    let place = format!("{collection}/{}", text(&source["id"]));
                    writeln!(out, "  {}:{}-{}{by}, {recorded}{gone}", plain(&place), source["start"], source["end"])?;
                }
            }
            if let Some(said) = source["text"].as_str() {
                writeln!(out, "    {}", plain(&shortened(said)))?;
            }
        }
        for old in items(&found["revises"]) {
            writeln!(out, "  revises {}", line(old))?;
        }
        if !found["ended_by"].is_null() {
            writeln!(out, "  ended by {}", line(&found["ended_by"]))?;
        }
        Ok(Outcome::Done)
    }

    fn add(&self, args: &Add, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let source = |(collection, id): &(String, String)| json!({ "collection": collection, "id": id });
        let mut fact = json!({
            "subject": args.subject,
            "predicate": args.predicate,
            "sources": args.source.iter().map(source).collect::<Vec<_>>(),
            "confidence": args.confidence,
        });
        put(&mut fact, "object", args.object.clone().map(Value::String));
        put(&mut fact, "value", args.value.as_deref().map(value));
        put(&mut fact, "valid_from", args.valid_from.clone().map(Value::String));
        put(&mut fact, "valid_to", args.valid_to.clone().map(Value::String));
        let database = folder::open_to_write(globals)?;
        let found = facts::ask(&database.facts(&self.facts)?, "record", json!({ "facts": [fact] }))?;
        database.close()?;
        self.say(out, &found, |found| match found["added"] == 1 {
            true => format!("Recorded as fact {}.", found["numbers"][0]),
            false => format!("Known as fact {}.", found["numbers"][0]),
        })
    }

    fn record(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::create(globals)?;
        let into = database.facts(&self.facts)?;
        let (mut read, mut added, mut ended) = (0, 0, 0);
        let mut lines = std::io::stdin().lock().lines().zip(1_u64..).peekable();
        while lines.peek().is_some() {
            let mut new = Vec::with_capacity(LINES_AT_ONCE);
            for (line, number) in lines.by_ref().take(LINES_AT_ONCE) {
                let line = line.map_err(|error| Error::invalid(format!("standard input: {error}")))?;
                if !line.trim().is_empty() {
                    new.push(facts::line_to_record(&line).map_err(|error| {
                        Error::new(error.kind, format!("standard input, line {number}: {}", error.message))
                    })?);
                }
            }
            read += new.len() as u64;
            let recorded = into.record(new)?;
            (added, ended) = (added + recorded.added, ended + recorded.ended);
        }
        database.close()?;
        let found = json!({ "read": read, "added": added, "ended": ended });
        self.say(out, &found, |_| {
            format!("Read {}; {} added, {} ended.", count(read, "fact"), thousands(added), thousands(ended))
        })
    }

    fn entities(&self, args: &Entities, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let mut question = json!({ "prefix": args.prefix, "limit": args.limit });
        put(&mut question, "like", args.like.clone().map(Value::String));
        let found = self.read(globals, "entities", question)?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for entity in items(&found["entities"]) {
            let alias = entity["alias_of"].as_str().map(|name| format!("  is {}", plain(name))).unwrap_or_default();
            writeln!(out, "{:>8}  {}{alias}", number(&entity["facts"]), plain(text(&entity["name"])))?;
        }
        Ok(Outcome::Done)
    }

    fn predicates(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, "predicates", json!({}))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for predicate in items(&found["predicates"]) {
            let functional = if predicate["functional"] == true { "  one value at a time" } else { "" };
            writeln!(out, "{:>8}  {}{functional}", number(&predicate["facts"]), plain(text(&predicate["name"])))?;
        }
        Ok(Outcome::Done)
    }

    fn trace(&self, args: &Passages, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, "trace", args.question())?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        items(&found["facts"]).try_for_each(|fact| writeln!(out, "{}", line(fact)))?;
        let entity = |it: &Value| format!("{} ({})", plain(text(&it["name"])), it["facts"]);
        let entities: Vec<String> = items(&found["entities"]).take(20).map(entity).collect();
        if !entities.is_empty() {
            writeln!(out, "Entities: {}", entities.join(", "))?;
        }
        Ok(Outcome::Done)
    }

    fn extract(&self, args: &Extract, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let extractor = match args.extractor {
            BuiltIn::Links => "links",
            BuiltIn::Mentions => "mentions",
        };
        let database = folder::open_to_write(globals)?;
        let report = database.facts(&self.facts)?.extract(&args.collection, extractor)?;
        database.close()?;
        let found = json!({
            "called": report.called,
            "known": report.known,
            "added": report.added,
            "ended": report.ended,
            "changed": report.changed,
        });
        self.say(out, &found, |found| {
            format!(
                "Read {}, knew {}; {} added, {} ended.",
                count(number(&found["called"]), "text"),
                found["known"],
                facts_of(found, "added"),
                found["ended"]
            )
        })
    }

    fn failures(&self, args: &Failures, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, "failures", json!({ "extractor": args.extractor }))?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for failure in items(&found["failures"]) {
            let why = shortened(text(&failure["why"]));
            let calls = count(number(&failure["calls"]), "call");
            writeln!(out, "{}  {calls}  {}  {}", text(&failure["at"]), plain(text(&failure["id"])), plain(&why))?;
        }
        Ok(Outcome::Done)
    }

    fn paths(&self, args: &Paths, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let mut question = json!({
            "from": args.from,
            "to": args.to,
            "direction": way(args.direction),
            "cost": args.cost,
            "count": args.count,
        });
        args.moments.put(&mut question);
        let found = self.read(globals, "paths", question)?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for path in items(&found["paths"]) {
            write!(out, "{BOLD}{:.3}{BOLD:#}  {}", path["cost"].as_f64().unwrap_or_default(), plain(&args.from))?;
            for step in items(&path["steps"]) {
                let (kind, to) = (plain(text(&step["type"])), plain(text(&step["to"])));
                match step["reversed"] == true {
                    false => write!(out, " -{kind}-> {to}")?,
                    true => write!(out, " <-{kind}- {to}")?,
                }
            }
            writeln!(out)?;
        }
        if items(&found["paths"]).next().is_none() {
            writeln!(out, "No path.")?;
        }
        if found["truncated"] == true {
            writeln!(out, "The search ended early: there may be further, and cheaper paths.")?;
        }
        Ok(Outcome::Done)
    }

    fn rank(&self, args: &Rank, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let mut question = json!({ "seeds": args.seeds, "direction": way(args.direction), "limit": args.limit });
        args.moments.put(&mut question);
        let found = self.read(globals, "rank", question)?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for node in items(&found["nodes"]) {
            writeln!(out, "{:.5}  {}", node["rank"].as_f64().unwrap_or_default(), plain(text(&node["id"])))?;
        }
        Ok(Outcome::Done)
    }

    fn groups(&self, args: &Groups, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let mut question = json!({ "by": args.by, "limit": args.limit, "members": 10 });
        args.moments.put(&mut question);
        let found = self.read(globals, "groups", question)?;
        if self.json {
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        for group in items(&found["groups"]) {
            let members: Vec<String> = items(&group["members"]).map(|it| plain(text(it)).to_string()).collect();
            let size = number(&group["size"]);
            let more = if size > members.len() as u64 { ", …" } else { "" };
            writeln!(out, "{size:>8}  {}{more}", members.join(", "))?;
        }
        Ok(Outcome::Done)
    }

    fn erase(&self, args: &Erase, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if !args.yes {
            return Err(
                Error::invalid("this erases facts that stand on these records alone; add --yes to confirm").into()
            );
        }
        let database = folder::open_to_write(globals)?;
        let facts = database.existing_facts(&self.facts)?;
        let act = AuditedAction::new(globals, database.folder(), "facts.erase", &self.facts);
        let erased = facts::ask(&facts, "erase", args.passages.question());
        let found = act.end(erased, |found| vec![("facts", found["facts"].clone())])?;
        database.close()?;
        self.say(out, &found, |found| {
            format!(
                "Erased {}, {} of others, and what extractors found in {}. `nuthatch reclaim` removes the bytes.",
                facts_of(found, "facts"),
                count(number(&found["sources"]), "source"),
                count(number(&found["memos"]), "text")
            )
        })
    }

    fn ls(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let names = database.facts_names()?;
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "facts": names }))?,
            false => names.iter().try_for_each(|name| writeln!(out, "{}", plain(name)))?,
        }
        Ok(Outcome::Done)
    }

    fn drop_facts(&self, args: &DropFacts, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let name = &self.facts;
        if !args.yes {
            let why = format!("this drops all facts {name:?} with what extractors found; add --yes to confirm");
            return Err(Error::invalid(why).into());
        }
        let database = folder::open_to_write(globals)?;
        database.existing_facts(name)?;
        let act = AuditedAction::new(globals, database.folder(), "facts.drop", name);
        let dropped = act.end(database.drop_facts(name), |dropped| vec![("dropped", json!(dropped))])?;
        database.close()?;
        let found = json!({ "facts": name, "dropped": dropped });
        self.say(out, &found, |_| format!("Dropped facts {}.", plain(name)))
    }

    fn say(&self, out: &mut Out, found: &Value, words: impl FnOnce(&Value) -> String) -> Result<Outcome, Failure> {
        match self.json {
            true => output::json(out, found)?,
            false => writeln!(out, "{}", words(found))?,
        }
        Ok(Outcome::Done)
    }

    fn read(&self, globals: &Globals, call: &str, question: Value) -> EngineResult<Value> {
        let database = folder::open(globals)?;
        let found = facts::read(&*database.existing_facts(&self.facts)?, call, question)?;
        database.close()?;
        Ok(found)
    }

    fn write(&self, globals: &Globals, call: &str, question: Value) -> EngineResult<Value> {
        let database = folder::open_to_write(globals)?;
        let facts: EngineFacts = match call {
            // A declaration may come before the first fact.
            "declare" | "alias" => database.facts(&self.facts)?,
            _ => database.existing_facts(&self.facts)?,
        };
        let found = facts::ask(&facts, call, question)?;
        database.close()?;
        Ok(found)
    }
}

impl Find {
    fn question(&self) -> EngineResult<Value> {
        let mut question = json!({ "history": self.history, "limit": self.limit });
        put(&mut question, "subject", self.subject.clone().map(Value::String));
        put(&mut question, "predicate", self.predicate.clone().map(Value::String));
        put(&mut question, "object", self.object.clone().map(Value::String));
        put(&mut question, "value", self.value.as_deref().map(value));
        put(&mut question, "valid_at", self.valid_at.clone().map(Value::String));
        put(&mut question, "known_at", self.known_at.clone().map(Value::String));
        put(&mut question, "after", self.after.map(Value::from));
        Ok(question)
    }
}

impl Passages {
    fn question(&self) -> Value {
        json!({ "collection": self.collection, "ids": self.ids })
    }
}

impl Moments {
    fn put(&self, question: &mut Value) {
        put(question, "types", Some(json!(self.predicates)));
        put(question, "valid_at", self.valid_at.clone().map(Value::String));
        put(question, "known_at", self.known_at.clone().map(Value::String));
    }
}

fn put(question: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(fields), Some(value)) = (question.as_object_mut(), value) {
        fields.insert(name.into(), value);
    }
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Out => "out",
        Way::In => "in",
        Way::Both => "both",
    }
}

/// A number or a truth value where it reads as one, else a text.
fn value(given: &str) -> Value {
    match serde_json::from_str(given) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(given.into()),
    }
}

fn source(given: &str) -> Result<(String, String), String> {
    let (collection, id) = given.split_once('/').ok_or("write it as COLLECTION/ID, for example notes/a1")?;
    Ok((collection.into(), id.into()))
}

/// A fact in a line.
fn line(fact: &Value) -> String {
    let object = match fact["object"].as_str() {
        Some(name) => plain(name).to_string(),
        None => plain(&fact["value"].to_string()).to_string(),
    };
    let time = |name: &str| fact[name].as_str().map(|time| time.trim_end_matches("T00:00:00Z").to_string());
    let valid = match (time("valid_from"), time("valid_to")) {
        (None, None) => String::new(),
        (from, to) => format!("  {}..{}", from.unwrap_or_default(), to.unwrap_or_default()),
    };
    let ended = match fact["ended"]["why"].as_str() {
        Some(why) => format!("  ended: {why}"),
        None if fact["believed"] == false => "  its sources are gone".into(),
        None => String::new(),
    };
    let (subject, predicate) = (plain(text(&fact["subject"])), plain(text(&fact["predicate"])));
    format!("{:>6}  {subject}  {predicate}  {object}{valid}{ended}", number(&fact["number"]))
}

fn noted(found: &Value) -> String {
    if found["changed"] == true { "Noted.".into() } else { "That was known.".into() }
}

fn facts_of(found: &Value, field: &str) -> String {
    count(number(&found[field]), "fact")
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shortened(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &one_line[..at]),
        None => one_line,
    }
}
