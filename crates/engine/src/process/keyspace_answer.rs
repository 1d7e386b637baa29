//! Answering one request on a keyspace.

use crate::call::Done;
use crate::codec::Bytes;
use crate::kv::Keyspace;
use crate::process::answer::Answering;
use crate::process::request::{Encoded, KvCall};
use crate::{EmbedderChoice, Result};

pub(crate) fn answer(answering: &Answering<'_>, keyspace: &Keyspace, call: KvCall) -> Result<Encoded> {
    match (call, answering.repeated()) {
        (KvCall::MultiPut(_), Some(_)) => answering.once_more(&()),
        (KvCall::Delete(_), Some(Done { deleted, .. })) => answering.once_more(&deleted),
        (KvCall::CompareAndSet { .. } | KvCall::Expire { .. } | KvCall::WriteIf { .. }, Some(Done { said, .. })) => {
            answering.once_more(&(said != 0))
        }
        (KvCall::Increment { .. }, Some(Done { said, .. })) => answering.once_more(&said),
        (KvCall::Append { .. }, Some(Done { said, .. })) => answering.once_more(&(said as u64)),
        (call, _) => one(&keyspace.on_behalf_of(&answering.call(EmbedderChoice::None)), call),
    }
}

fn one(keyspace: &Keyspace, call: KvCall) -> Result<Encoded> {
    match call {
        KvCall::Get(key) => Encoded::of(&keyspace.get(key)?.map(Bytes)),
        KvCall::MultiGet(keys) => {
            let values: Vec<_> = keyspace.multi_get(&keys)?.into_iter().map(|value| value.map(Bytes)).collect();
            Encoded::of(&values)
        }
        KvCall::Contains(key) => Encoded::of(&keyspace.contains(key)?),
        KvCall::ExpiresIn(key) => Encoded::of(&keyspace.expires_in(key)?),
        KvCall::Scan(scan) => Encoded::of(&keyspace.scan(&scan)?),
        KvCall::CountEstimate(prefix) => Encoded::of(&keyspace.count_estimate(prefix)?),
        KvCall::MultiPut(ops) => Encoded::of(&keyspace.multi_put(ops)?),
        KvCall::Delete(keys) => Encoded::of(&keyspace.delete(&keys)?),
        // Several batches; the rest of them is done now.
        KvCall::DeletePrefix(prefix) => {
            Encoded::of(&(keyspace.call.before().deleted + keyspace.delete_prefix(prefix)?))
        }
        KvCall::CompareAndSet { key, expected, new, expires_in } => {
            let (expected, new) = (expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref));
            Encoded::of(&keyspace.compare_and_set(key, expected, new, expires_in)?)
        }
        KvCall::Increment { key, by } => Encoded::of(&keyspace.increment(key, by)?),
        KvCall::Append { key, more } => Encoded::of(&keyspace.append(key, more.as_ref())?),
        KvCall::Expire { key, expires_in } => Encoded::of(&keyspace.expire(key, expires_in)?),
        KvCall::Entries(keys) => Encoded::of(&keyspace.entries(&keys)?),
        KvCall::WriteIf { expected, op } => Encoded::of(&keyspace.write_if(expected.as_ref(), op)?),
    }
}
