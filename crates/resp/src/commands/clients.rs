//! CLIENT: this connection and, for administrators, the tenant's others.

use std::sync::Arc;

use crate::clients::Client;
use crate::commands::Scope;
use crate::commands::connections::client_name;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::replies::Replies;
use crate::session::Session;
use crate::words::Words;

pub(crate) fn client(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut words = Words::new(arguments);
    let subcommand = words.option()?;
    let rest = words.rest();
    match (subcommand.as_str(), rest) {
        ("ID", []) => Ok(Reply::Int(session.client.id() as i64)),
        ("GETNAME", []) => {
            let name = session.client.about.lock().name.clone();
            Ok(if name.is_empty() { Reply::Null } else { Reply::bulk(name) })
        }
        ("SETNAME", [name]) => {
            session.client.about.lock().name = client_name(name)?;
            Ok(Reply::OK)
        }
        ("SETINFO", [what, value]) => set_info(session, what, value),
        ("INFO", []) => Ok(Reply::Text(session.client.line() + "\n")),
        ("LIST", _) => {
            if let Err(failure) = allowed(session) {
                session.account("redis.client.list", "", Some(&failure));
                return Err(failure);
            }
            list(session, words)
        }
        ("KILL", [_, ..]) => {
            let killed = allowed(session).and_then(|()| kill(session, rest));
            session.account("redis.client.kill", "", killed.as_ref().err());
            killed
        }
        ("REPLY", [mode]) => reply(session, mode),
        // Nothing is evicted, and nothing remembers when it was last read.
        ("NO-EVICT" | "NO-TOUCH", [_]) => Ok(Reply::OK),
        ("ID" | "GETNAME" | "SETNAME" | "SETINFO" | "INFO" | "KILL" | "REPLY" | "NO-EVICT" | "NO-TOUCH", _) => {
            Err(Failure::arity(&format!("client|{subcommand}")))
        }
        _ => Err(Failure::error(format!("unknown subcommand '{subcommand}'. Try CLIENT LIST."))),
    }
}

/// CLIENT REPLY ON | OFF | SKIP
fn reply(session: &mut Session, mode: &[u8]) -> Outcome<Reply> {
    if session.within {
        return Err(Failure::error("CLIENT REPLY is not allowed in a transaction; send it before MULTI"));
    }
    session.replies = match mode.to_ascii_uppercase().as_slice() {
        b"ON" => Replies::On,
        b"OFF" => Replies::Off,
        b"SKIP" if session.replies == Replies::Off => Replies::Off,
        b"SKIP" => Replies::SkipNext,
        _ => return Err(Failure::syntax()),
    };
    Ok(Reply::OK)
}

fn allowed(session: &Session) -> Outcome<()> {
    match session.grant.as_ref().is_some_and(|grant| Scope::Admin.allows(grant.scopes)) {
        true => Ok(()),
        false => Err(Failure::new("NOPERM", "only administrators may see or end other connections")),
    }
}

fn set_info(session: &Session, what: &[u8], value: &[u8]) -> Outcome<Reply> {
    let value = client_name(value)
        .map_err(|_| Failure::error("lib-name or lib-ver cannot contain spaces, newlines or special characters."))?;
    let mut about = session.client.about.lock();
    match what.to_ascii_uppercase().as_slice() {
        b"LIB-NAME" => about.library = value,
        b"LIB-VER" => about.library_version = value,
        _ => {
            let option = String::from_utf8_lossy(what);
            return Err(Failure::error(format!("Unrecognized option '{option}'")));
        }
    }
    Ok(Reply::OK)
}

/// CLIENT LIST [TYPE normal | …] [ID id …]
fn list(session: &Session, mut words: Words<'_>) -> Outcome<Reply> {
    let mut clients = session.shared.clients.of_tenant(&session.client);
    while !words.is_empty() {
        match words.option()?.as_str() {
            "TYPE" => match words.option()?.as_str() {
                "NORMAL" => {}
                "MASTER" | "REPLICA" | "SLAVE" | "PUBSUB" => clients.clear(),
                other => return Err(Failure::error(format!("Unknown client type '{}'", other.to_lowercase()))),
            },
            "ID" => {
                let mut ids = vec![id(words.word()?)?];
                while !words.is_empty() {
                    ids.push(id(words.word()?)?);
                }
                clients.retain(|client| ids.contains(&client.id()));
            }
            _ => return Err(Failure::syntax()),
        }
    }
    Ok(Reply::Text(clients.iter().map(|client| client.line() + "\n").collect()))
}

/// CLIENT KILL address, or CLIENT KILL [ID id] [ADDR a] [LADDR a] [USER u] [TYPE t] [MAXAGE s]
/// [SKIPME yes | no]
fn kill(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut clients = session.shared.clients.of_tenant(&session.client);
    if let [address] = arguments {
        let address = String::from_utf8_lossy(address);
        clients.retain(|client| client.address.to_string() == address);
        return match end(session, &clients) {
            0 => Err(Failure::error("No such client")),
            _ => Ok(Reply::OK),
        };
    }
    let mut skip_me = true;
    let mut words = Words::new(arguments);
    while !words.is_empty() {
        let option = words.option()?;
        let value = words.word()?;
        let text = String::from_utf8_lossy(value).into_owned();
        match option.as_str() {
            "ID" => {
                let id = id(value)?;
                clients.retain(|client| client.id() == id);
            }
            "ADDR" => clients.retain(|client| client.address.to_string() == text),
            "LADDR" => clients.retain(|client| client.local.to_string() == text),
            "MAXAGE" => {
                let seconds = id(value).map_err(|_| Failure::error("maxage is not an integer or out of range"))?;
                clients.retain(|client| client.age().as_secs() >= seconds);
            }
            "USER" => clients.retain(|client| client.about.lock().user == text),
            "TYPE" if text.eq_ignore_ascii_case("normal") => {}
            "TYPE" => clients.clear(),
            "SKIPME" if text.eq_ignore_ascii_case("yes") => skip_me = true,
            "SKIPME" if text.eq_ignore_ascii_case("no") => skip_me = false,
            _ => return Err(Failure::syntax()),
        }
    }
    if skip_me {
        clients.retain(|client| client.place != session.client.place);
    }
    Ok(Reply::count(end(session, &clients)))
}

/// Ends connections; this one after its reply.
fn end(session: &mut Session, clients: &[Arc<Client>]) -> usize {
    for client in clients {
        match client.place == session.client.place {
            true => session.end(),
            false => client.kill(),
        }
    }
    clients.len()
}

fn id(word: &[u8]) -> Outcome<u64> {
    let id = number::integer(word).ok().and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
    id.ok_or_else(|| Failure::error("Invalid client ID"))
}
