//! Operations on a keyspace.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::codec::Bytes;
use crate::database::Database;
use crate::kv::{Entry, KeyPage, KeyScan, KvOp};
use crate::ops::{Op, Repeat, Scope, View, on};

/// The value of a key; `None` when there is none, or it has expired.
#[derive(Serialize, Deserialize)]
pub struct Get(pub Bytes);

impl Op for Get {
    type On = on::Keys;
    type Answer = Option<Bytes>;
    const NAME: &'static str = "keys.get";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        let found = view.rows()?.entries(&[self.0.0])?.pop().flatten();
        Ok(found.map(|entry| Bytes(entry.value)))
    }
}

/// The values of several keys, in their order, as of one moment.
#[derive(Serialize, Deserialize)]
pub struct MultiGet(pub Vec<Bytes>);

impl Op for MultiGet {
    type On = on::Keys;
    type Answer = Vec<Option<Bytes>>;
    const NAME: &'static str = "keys.multi_get";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        let found = view.rows()?.values(&plain(self.0))?;
        Ok(found.into_iter().map(|value| value.map(Bytes)).collect())
    }
}

/// The values of several keys with when they expire, in their order, as of one moment.
#[derive(Serialize, Deserialize)]
pub struct Entries(pub Vec<Bytes>);

impl Op for Entries {
    type On = on::Keys;
    type Answer = Vec<Option<Entry>>;
    const NAME: &'static str = "keys.entries";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.rows()?.entries(&plain(self.0))
    }
}

/// Whether a key is there and has not expired.
#[derive(Serialize, Deserialize)]
pub struct Contains(pub Bytes);

impl Op for Contains {
    type On = on::Keys;
    type Answer = bool;
    const NAME: &'static str = "keys.contains";

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.rows()?.contains(&self.0.0)
    }
}

/// How long a key has to live: `None` when it is not there, `Some(None)` when it never expires.
#[derive(Serialize, Deserialize)]
pub struct ExpiresIn(pub Bytes);

impl Op for ExpiresIn {
    type On = on::Keys;
    type Answer = Option<Option<Duration>>;
    const NAME: &'static str = "keys.expires_in";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.rows()?.expires_in(&self.0.0)
    }
}

impl Op for KeyScan {
    type On = on::Keys;
    type Answer = KeyPage;
    const NAME: &'static str = "keys.scan";

    fn run(self, view: &View<'_>) -> Result<KeyPage> {
        view.rows()?.page(&self)
    }
}

/// About how many keys begin so.
#[derive(Serialize, Deserialize)]
pub struct CountEstimate(pub Bytes);

impl Op for CountEstimate {
    type On = on::Keys;
    type Answer = u64;
    const NAME: &'static str = "keys.count_estimate";

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.rows()?.count_estimate(&self.0.0)
    }
}

/// Changes several keys in one batch.
#[derive(Serialize, Deserialize)]
pub struct MultiPut(pub Vec<KvOp>);

impl Op for MultiPut {
    type On = on::Keys;
    type Answer = ();
    const NAME: &'static str = "keys.multi_put";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        view.keyspace()?.multi_put(self.0)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// Deletes keys; says how many were there.
#[derive(Serialize, Deserialize)]
pub struct Delete(pub Vec<Bytes>);

impl Op for Delete {
    type On = on::Keys;
    type Answer = u64;
    const NAME: &'static str = "keys.delete";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.keyspace()?.delete(&self.0)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.deleted)
    }
}

/// Deletes all keys that begin so, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct DeletePrefix(pub Bytes);

impl Op for DeletePrefix {
    type On = on::Keys;
    type Answer = u64;
    const NAME: &'static str = "keys.delete_prefix";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let keyspace = view.keyspace()?;
        Ok(keyspace.call.before().deleted + keyspace.delete_prefix(self.0)?)
    }
}

/// Sets a key, or deletes it, if its value is the expected one.
#[derive(Serialize, Deserialize)]
pub struct CompareAndSet {
    /// The key.
    pub key: Bytes,
    /// The value that it must have; `None`: it must not be there.
    pub expected: Option<Bytes>,
    /// The value that it gets; `None`: it is deleted.
    pub new: Option<Bytes>,
    /// From now; `None`: the new value never expires.
    pub expires_in: Option<Duration>,
}

impl Op for CompareAndSet {
    type On = on::Keys;
    type Answer = bool;
    const NAME: &'static str = "keys.compare_and_set";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        let (expected, new) = (self.expected.as_ref().map(AsRef::as_ref), self.new.as_ref().map(AsRef::as_ref));
        view.keyspace()?.compare_and_set(&self.key, expected, new, self.expires_in)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

/// Writes the change of a key if value and expiry are the expected ones.
#[derive(Serialize, Deserialize)]
pub struct WriteIf {
    /// The entry that the key must have; `None`: the key must not exist.
    pub expected: Option<Entry>,
    /// The change.
    pub op: KvOp,
}

impl Op for WriteIf {
    type On = on::Keys;
    type Answer = bool;
    const NAME: &'static str = "keys.write_if";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.keyspace()?.write_if(self.expected.as_ref(), self.op)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

/// Adds to a whole number in decimal digits, and says the sum.
#[derive(Serialize, Deserialize)]
pub struct Increment {
    /// The key; one that is not there counts as 0.
    pub key: Bytes,
    /// The amount to add; may be negative.
    pub by: i64,
}

impl Op for Increment {
    type On = on::Keys;
    type Answer = i64;
    const NAME: &'static str = "keys.increment";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<i64> {
        view.keyspace()?.increment(&self.key, self.by)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<i64> {
        Ok(outcome.value)
    }
}

/// Appends to a value, and says its length then.
#[derive(Serialize, Deserialize)]
pub struct Append {
    /// The key; one that is not there counts as empty.
    pub key: Bytes,
    /// The bytes that are added at the end.
    pub more: Bytes,
}

impl Op for Append {
    type On = on::Keys;
    type Answer = u64;
    const NAME: &'static str = "keys.append";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.keyspace()?.append(&self.key, self.more.as_ref())
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.value as u64)
    }
}

/// Changes when a key expires.
#[derive(Serialize, Deserialize)]
pub struct Expire {
    /// The key.
    pub key: Bytes,
    /// From now; `None`: it never expires any more.
    pub expires_in: Option<Duration>,
}

impl Op for Expire {
    type On = on::Keys;
    type Answer = bool;
    const NAME: &'static str = "keys.expire";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.keyspace()?.expire(&self.key, self.expires_in)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

fn plain(keys: Vec<Bytes>) -> Vec<Vec<u8>> {
    keys.into_iter().map(|key| key.0).collect()
}
