//! Elements: how many, whether, and none any more.

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::post_commit::PostCommit;
use crate::protocol::Reply;
use crate::vectors::element::id_of;

pub(crate) fn vcard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    match call.context.set(&call.arguments[0])? {
        Some((_, collection)) => Ok(Reply::Int(call.context.count(&collection)? as i64)),
        None => Ok(Reply::Int(0)),
    }
}

pub(crate) fn vdim(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    match call.context.set(&call.arguments[0])? {
        Some((set, _)) => Ok(Reply::count(set.dim)),
        None => Err(Failure::error("key does not exist")),
    }
}

pub(crate) fn vismember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let Some((_, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::Bool(false)) };
    Ok(Reply::Bool(call.context.record(&collection, &id_of(&call.arguments[1])?, false)?.is_some()))
}

/// The last element takes the key with it.
pub(crate) fn vrem(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (key, element) = (&call.arguments[0], &call.arguments[1]);
    let Some((set, collection)) = call.context.set(key)? else { return Ok(Reply::Bool(false)) };
    let tenant = call.context.tenant;
    let _element = tenant.lock_element(&set.collection, element);
    let id = id_of(element)?;
    if call.context.record(&collection, &id, false)?.is_none() {
        return Ok(Reply::Bool(false));
    }
    call.context.remove(&collection, &id)?;
    if call.context.count(&collection)? <= 1 {
        call.context.post_commit(PostCommit::DropIfEmpty(key.clone()));
    }
    Ok(Reply::Bool(true))
}
