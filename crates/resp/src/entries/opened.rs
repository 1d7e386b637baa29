//! The value of a key while a command works on it.

use crate::aggregate::{Aggregate, Body, Kind, are_many, bytes_of};
use crate::context::CommandContext;
use crate::failure::Outcome;
use crate::value::Value;

/// An aggregate and the key that it is of. Nothing is written before [`save`](Self::save).
pub(super) struct Opened<'c, 'u> {
    pub context: &'c mut CommandContext<'u>,
    key: Vec<u8>,
    pub aggregate: Aggregate,
    expires_at_ms: Option<u64>,
}

impl<'c, 'u> Opened<'c, 'u> {
    /// Of a key that holds this kind, or nothing.
    pub fn of(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Outcome<Self> {
        let (aggregate, expires_at_ms) = context.aggregate(key, kind)?;
        Ok(Self { context, key: key.to_vec(), aggregate, expires_at_ms })
    }

    /// Of no key: what is put in is written over whatever `key` holds.
    pub fn replacing(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Self {
        Self { context, key: key.to_vec(), aggregate: Aggregate::new(kind), expires_at_ms: None }
    }

    /// Whether its entries, and `more` further ones, are to have rows and have none.
    pub fn outgrows(&self, more: usize) -> bool {
        matches!(&self.aggregate.body, Body::Inline(entries) if are_many(entries.len() + more, bytes_of(entries)))
    }

    /// Writes what was changed; without entries there is no key.
    pub fn save(mut self) -> Outcome<()> {
        if self.aggregate.len() == 0 {
            return self.context.delete(&self.key);
        }
        if let Body::Rows(head) = &mut self.aggregate.body {
            head.version += 1;
        }
        self.context.put(&self.key, Value::Aggregate(self.aggregate), self.expires_at_ms)
    }
}
