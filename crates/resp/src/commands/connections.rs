//! Commands about the connection: its user and its protocol.

use crate::failure::{Failure, Outcome};
use crate::gate::Refused;
use crate::number;
use crate::protocol::{Protocol, Reply};
use crate::session::Session;
use crate::words::Words;

pub(crate) fn ping(_: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    match arguments {
        [] => Ok(Reply::Simple("PONG")),
        [text] => Ok(Reply::bulk(text.clone())),
        _ => Err(Failure::arity("ping")),
    }
}

pub(crate) fn echo(_: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    Ok(Reply::bulk(arguments[0].clone()))
}

pub(crate) fn quit(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    session.end();
    Ok(Reply::OK)
}

pub(crate) fn reset(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    session.reset()?;
    Ok(Reply::Simple("RESET"))
}

pub(crate) fn select(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let number = number::integer(&arguments[0]).map_err(|_| Failure::error("invalid DB index"))?;
    let number = usize::try_from(number).ok().filter(|number| *number < session.shared.settings.databases);
    session.select(number.ok_or_else(|| Failure::error("DB index is out of range"))?);
    Ok(Reply::OK)
}

/// AUTH [user] password
pub(crate) fn auth(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    match arguments {
        [password] => enter(session, b"default", password)?,
        [user, password] => enter(session, user, password)?,
        _ => return Err(Failure::syntax()),
    }
    Ok(Reply::OK)
}

/// HELLO [2 | 3 [AUTH user password] [SETNAME name]]
pub(crate) fn hello(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut words = Words::new(arguments);
    let mut protocol = session.protocol;
    if !words.is_empty() {
        let wrong = |message| Failure::new("NOPROTO", message);
        protocol = match words.integer() {
            Ok(2) => Protocol::Two,
            Ok(3) => Protocol::Three,
            Ok(_) => return Err(wrong("unsupported protocol version")),
            Err(_) => return Err(Failure::error("Protocol version is not an integer or out of range")),
        };
    }
    let (mut name, mut login) = (None, None);
    while !words.is_empty() {
        match words.option()?.as_str() {
            "AUTH" => login = Some((words.word()?, words.word()?)),
            "SETNAME" => name = Some(client_name(words.word()?)?),
            other => return Err(Failure::error(format!("Syntax error in HELLO option '{}'", other.to_lowercase()))),
        }
    }
    // A request with another error does not log in.
    if let Some((user, password)) = login {
        enter(session, user, password)?;
    }
    if !session.is_authenticated() {
        return Err(Failure::new(
            "NOAUTH",
            "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option \
             can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        session.client.about.lock().name = name;
    }
    session.protocol = protocol;
    let version = if protocol == Protocol::Three { 3 } else { 2 };
    Ok(Reply::Map(vec![
        (Reply::bulk("server"), Reply::bulk("nuthatch")),
        (Reply::bulk("version"), Reply::bulk(session.shared.settings.redis_version)),
        (Reply::bulk("proto"), Reply::Int(version)),
        (Reply::bulk("id"), Reply::Int(session.client.id() as i64)),
        (Reply::bulk("mode"), Reply::bulk("standalone")),
        (Reply::bulk("role"), Reply::bulk("master")),
        (Reply::bulk("modules"), Reply::Array(Vec::new())),
    ]))
}

/// A name that CLIENT LIST can show in a line.
pub(crate) fn client_name(name: &[u8]) -> Outcome<String> {
    let visible = name.iter().all(|byte| (b'!'..=b'~').contains(byte));
    match std::str::from_utf8(name) {
        Ok(name) if visible => Ok(name.to_string()),
        _ => Err(Failure::error("Client names cannot contain spaces, newlines or special characters.")),
    }
}

fn enter(session: &mut Session, user: &[u8], password: &[u8]) -> Outcome<()> {
    let wrong = || Failure::new("WRONGPASS", "invalid username-password pair or user is disabled.");
    let user = std::str::from_utf8(user).map_err(|_| wrong())?;
    let shared = session.shared.clone();
    let grant = shared.gate.authenticate(session.client.address, user, password).map_err(|why| {
        shared.settings.counts.login_failed();
        match why {
            Refused::Wrong => wrong(),
            Refused::TooMany => Failure::error("too many failed logins; wait a while and try again"),
        }
    })?;
    session.enter(grant)
}
