//! Several commands as one.

use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::session::Session;

pub(crate) fn multi(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    match &session.queue {
        Some(_) => Err(Failure::error("MULTI calls can not be nested")),
        None => {
            session.queue_up();
            Ok(Reply::OK)
        }
    }
}

pub(crate) fn discard(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    if session.queue.take().is_none() {
        return Err(Failure::error("DISCARD without MULTI"));
    }
    session.watched.clear();
    Ok(Reply::OK)
}

pub(crate) fn watch(session: &mut Session, keys: &[Vec<u8>]) -> Outcome<Reply> {
    if session.queue.is_some() {
        return Err(Failure::error("WATCH inside MULTI is not allowed"));
    }
    session.watch(keys)?;
    Ok(Reply::OK)
}

pub(crate) fn unwatch(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    session.watched.clear();
    Ok(Reply::OK)
}
