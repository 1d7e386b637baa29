//! COMMAND: what commands there are.

use crate::commands::{Scope, Spec, TABLE, Timeout, find};
use crate::failure::{Failure, Outcome};
use crate::pattern;
use crate::protocol::Reply;
use crate::session::Session;
use crate::words::Words;

/// The module that Redis has vector sets from.
const VECTOR_SETS: &str = "vectorset";

/// COMMAND [COUNT | LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern] | INFO name … | DOCS name … | GETKEYS command …]
pub(crate) fn command(_: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut words = Words::new(arguments);
    if words.is_empty() {
        return Ok(Reply::Array(TABLE.iter().map(info).collect()));
    }
    let subcommand = words.option()?;
    let names = words.rest();
    let named = || names.iter().map(|name| find(name));
    match subcommand.as_str() {
        "COUNT" => Ok(Reply::count(TABLE.len())),
        "LIST" => list(names),
        "INFO" if names.is_empty() => Ok(Reply::Array(TABLE.iter().map(info).collect())),
        "INFO" => Ok(Reply::Array(named().map(|spec| spec.map_or(Reply::NullArray, info)).collect())),
        "DOCS" if names.is_empty() => Ok(Reply::Map(TABLE.iter().map(docs).collect())),
        "DOCS" => Ok(Reply::Map(named().flatten().map(docs).collect())),
        "GETKEYS" => keys(names),
        _ => Err(Failure::error(format!("unknown subcommand '{subcommand}'. Try COMMAND DOCS."))),
    }
}

/// Names, of those commands that the filter lets through.
fn list(filter: &[Vec<u8>]) -> Outcome<Reply> {
    let names = |fits: &dyn Fn(&Spec) -> bool| {
        Ok(Reply::bulks(TABLE.iter().filter(|spec| fits(spec)).map(|spec| spec.name.to_lowercase())))
    };
    let [filter_by, kind, value] = filter else {
        return if filter.is_empty() { names(&|_| true) } else { Err(Failure::syntax()) };
    };
    if !filter_by.eq_ignore_ascii_case(b"FILTERBY") {
        return Err(Failure::syntax());
    }
    let wanted = value.to_ascii_lowercase();
    match kind.to_ascii_uppercase().as_slice() {
        b"MODULE" => names(&|spec| spec.group == "vector set" && wanted == VECTOR_SETS.as_bytes()),
        b"ACLCAT" => names(&|spec| categories(spec).iter().any(|name| name.as_bytes()[1..] == wanted)),
        b"PATTERN" => names(&|spec| pattern::fits(&wanted, spec.name.to_lowercase().as_bytes())),
        _ => Err(Failure::syntax()),
    }
}

/// As Redis sorts commands, those of ours included.
fn categories(spec: &Spec) -> Vec<&'static str> {
    let by_scope = match spec.scope {
        Scope::Connection => None,
        Scope::Read => Some("@read"),
        Scope::Write | Scope::ReadWrite => Some("@write"),
        Scope::Admin => Some("@admin"),
    };
    let by_group = match spec.group {
        "connection" => Some("@connection"),
        "transactions" => Some("@transaction"),
        "string" => Some("@string"),
        "bitmap" => Some("@bitmap"),
        "generic" => Some("@keyspace"),
        "hash" => Some("@hash"),
        "list" => Some("@list"),
        "set" => Some("@set"),
        "sorted set" => Some("@sortedset"),
        "geo" => Some("@geo"),
        "vector set" => Some("@vectorset"),
        "nuthatch" => Some("@nuthatch"),
        _ => None,
    };
    let is_dangerous = matches!(spec.name, "KEYS" | "FLUSHDB" | "FLUSHALL" | "INFO" | "CONFIG");
    by_scope.into_iter().chain(by_group).chain(is_dangerous.then_some("@dangerous")).collect()
}

fn info(spec: &'static Spec) -> Reply {
    let (first, last, step) = spec.keys;
    Reply::Array(vec![
        Reply::bulk(spec.name.to_lowercase()),
        Reply::Int(spec.arity.into()),
        Reply::Array(flags(spec).into_iter().map(Reply::Simple).collect()),
        Reply::Int(first.into()),
        Reply::Int(last.into()),
        Reply::Int(step.into()),
        Reply::Array(categories(spec).into_iter().map(Reply::Simple).collect()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn flags(spec: &Spec) -> Vec<&'static str> {
    let mut flags = vec![match spec.scope {
        Scope::Connection => "fast",
        Scope::Read => "readonly",
        Scope::Write | Scope::ReadWrite => "write",
        Scope::Admin => "admin",
    }];
    if spec.needs_no_user {
        flags.push("no_auth");
    }
    if spec.timeout != Timeout::None {
        flags.push("blocking");
    }
    flags
}

fn docs(spec: &'static Spec) -> (Reply, Reply) {
    let said = [("summary", spec.summary), ("group", spec.group)];
    let said = said.into_iter().map(|(name, value)| (Reply::bulk(name), Reply::bulk(value)));
    (Reply::bulk(spec.name.to_lowercase()), Reply::Map(said.collect()))
}

fn keys(command: &[Vec<u8>]) -> Outcome<Reply> {
    let spec = command.first().and_then(|name| find(name));
    let spec = spec.ok_or_else(|| Failure::error("Invalid command specified"))?;
    if !spec.takes(command.len()) {
        return Err(Failure::error("Invalid number of arguments specified for command"));
    }
    let (first, last, step) = spec.keys;
    if first == 0 {
        return Err(Failure::error("The command has no key arguments"));
    }
    let last = if last < 0 { command.len() as i32 + last } else { last };
    let places = (first..=last).step_by(step.max(1) as usize);
    Ok(Reply::bulks(places.filter_map(|at| command.get(at as usize)).cloned()))
}
