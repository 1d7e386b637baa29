//! COMMAND: what commands there are.

use crate::commands::{Scope, Spec, TABLE, find};
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::session::Session;
use crate::words::Words;

/// COMMAND [COUNT | LIST | INFO name … | DOCS name … | GETKEYS command …]
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
        "LIST" => Ok(Reply::bulks(TABLE.iter().map(|spec| spec.name.to_lowercase()))),
        "INFO" if names.is_empty() => Ok(Reply::Array(TABLE.iter().map(info).collect())),
        "INFO" => Ok(Reply::Array(named().map(|spec| spec.map_or(Reply::NullArray, info)).collect())),
        "DOCS" if names.is_empty() => Ok(Reply::Map(TABLE.iter().map(docs).collect())),
        "DOCS" => Ok(Reply::Map(named().flatten().map(docs).collect())),
        "GETKEYS" => keys(names),
        _ => Err(Failure::error(format!("unknown subcommand '{subcommand}'. Try COMMAND DOCS."))),
    }
}

fn info(spec: &'static Spec) -> Reply {
    let (first, last, step) = spec.keys;
    let category = match spec.scope {
        Scope::Connection => "@connection",
        Scope::Read => "@read",
        Scope::Write => "@write",
        Scope::Admin => "@admin",
    };
    Reply::Array(vec![
        Reply::bulk(spec.name.to_lowercase()),
        Reply::Int(spec.arity.into()),
        Reply::Array(flags(spec).into_iter().map(Reply::Simple).collect()),
        Reply::Int(first.into()),
        Reply::Int(last.into()),
        Reply::Int(step.into()),
        Reply::Array(vec![Reply::Simple(category)]),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn flags(spec: &Spec) -> Vec<&'static str> {
    let mut flags = vec![match spec.scope {
        Scope::Connection => "fast",
        Scope::Read => "readonly",
        Scope::Write => "write",
        Scope::Admin => "admin",
    }];
    if spec.needs_no_user {
        flags.push("no_auth");
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
