//! Elements: how many, whether, and none any more.

use crate::after::After;
use crate::commands::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::vectors::element::id_of;

pub(crate) fn vcard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    match call.unit.set(&call.arguments[0])? {
        Some((_, collection)) => Ok(Reply::Int(call.unit.count(&collection)? as i64)),
        None => Ok(Reply::Int(0)),
    }
}

pub(crate) fn vdim(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    match call.unit.set(&call.arguments[0])? {
        Some((set, _)) => Ok(Reply::count(set.dim)),
        None => Err(Failure::error("key does not exist")),
    }
}

pub(crate) fn vismember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let Some((_, collection)) = call.unit.set(&call.arguments[0])? else { return Ok(Reply::Bool(false)) };
    Ok(Reply::Bool(call.unit.record(&collection, &id_of(&call.arguments[1])?, false)?.is_some()))
}

/// The last element takes the key with it.
pub(crate) fn vrem(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (key, element) = (&call.arguments[0], &call.arguments[1]);
    let Some((set, collection)) = call.unit.set(key)? else { return Ok(Reply::Bool(false)) };
    let tenant = call.unit.tenant;
    let _element = tenant.lock_element(&set.collection, element);
    let id = id_of(element)?;
    if call.unit.record(&collection, &id, false)?.is_none() {
        return Ok(Reply::Bool(false));
    }
    call.unit.remove(&collection, &id)?;
    if call.unit.count(&collection)? <= 1 {
        call.unit.after(After::DropIfEmpty(key.clone()));
    }
    Ok(Reply::Bool(true))
}
