//! How the server is set, and its clock: CONFIG, TIME.

use nuthatch_link::Durability;

use crate::failure::{Failure, Outcome};
use crate::pattern;
use crate::protocol::Reply;
use crate::session::Session;
use crate::words::Words;

/// TIME: seconds, and microseconds of the second.
pub(crate) fn time(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    let now = session.now_ms();
    Ok(Reply::bulks([(now / 1000).to_string(), (now % 1000 * 1000).to_string()]))
}

/// CONFIG GET pattern …
pub(crate) fn config(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut words = Words::new(arguments);
    match (words.option()?.as_str(), words.rest()) {
        ("GET", wanted @ [_, ..]) => {
            let fits =
                |name: &str| wanted.iter().any(|wanted| pattern::fits(&wanted.to_ascii_lowercase(), name.as_bytes()));
            let found = settings(session).into_iter().filter(|(name, _)| fits(name));
            Ok(Reply::Map(found.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect()))
        }
        ("GET", []) => Err(Failure::arity("config|get")),
        (other, _) => {
            Err(Failure::error(format!("CONFIG {other} is not supported; change the server's own settings instead")))
        }
    }
}

fn settings(session: &Session) -> Vec<(&'static str, String)> {
    let settings = &session.shared.settings;
    let fsync = match settings.durability {
        Durability::Commit => "always",
        Durability::Interval => "everysec",
        Durability::Os => "no",
    };
    vec![
        ("appendfsync", fsync.into()),
        ("appendonly", "yes".into()),
        ("bind", session.shared.address.ip().to_string()),
        ("databases", settings.databases.to_string()),
        ("maxclients", settings.connections_max.to_string()),
        ("maxmemory", "0".into()),
        ("maxmemory-policy", "noeviction".into()),
        ("port", session.shared.address.port().to_string()),
        ("proto-max-bulk-len", settings.limits.argument_bytes_max.to_string()),
        ("save", String::new()),
        ("timeout", settings.idle_after.map_or(0, |after| after.as_secs()).to_string()),
    ]
}
