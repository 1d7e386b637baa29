use crate::Table;

/// Of a batch and of each of its changes in the log, besides keys and values.
const LOG_BATCH_BYTES: usize = 64;
const LOG_OP_BYTES: usize = 12;

/// One change inside a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes a key, whether it was there or not.
    Put {
        /// The table of the key.
        table: Table,
        /// With the prefix of its shard in front.
        key: Vec<u8>,
        /// All bytes that the key has from then on.
        value: Vec<u8>,
    },
    /// Removes a key; one that is not there is no error.
    Delete {
        /// The table of the key.
        table: Table,
        /// With the prefix of its shard in front.
        key: Vec<u8>,
    },
    /// Everything in `from..to`.
    DeleteRange {
        /// The table of the keys.
        table: Table,
        /// The first key that goes, if it is there.
        from: Vec<u8>,
        /// The first key behind them, which stays.
        to: Vec<u8>,
    },
}

/// Changes that stand or fall together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    ops: Vec<Op>,
}

impl Batch {
    /// Without any change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds [`Op::Put`].
    pub fn put(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        self.ops.push(Op::Put { table, key, value });
    }

    /// Adds [`Op::Delete`].
    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.ops.push(Op::Delete { table, key });
    }

    /// Adds [`Op::DeleteRange`]: the keys in `from..to`.
    pub fn delete_range(&mut self, table: Table, from: Vec<u8>, to: Vec<u8>) {
        self.ops.push(Op::DeleteRange { table, from, to });
    }

    /// True when it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// The keys that it writes or removes; of a range, the first.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.ops.iter().map(|op| match op {
            Op::Put { key, .. } | Op::Delete { key, .. } | Op::DeleteRange { from: key, .. } => &key[..],
        })
    }

    /// Returns its approximate size in the log.
    pub fn log_bytes(&self) -> usize {
        let op = |op: &Op| match op {
            Op::Put { key, value, .. } => key.len() + value.len(),
            Op::Delete { key, .. } => key.len(),
            Op::DeleteRange { from, to, .. } => from.len() + to.len(),
        };
        LOG_BATCH_BYTES + self.ops.iter().map(|each| LOG_OP_BYTES + op(each)).sum::<usize>()
    }

    /// The changes, in the order in which they apply.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The same, without the batch.
    pub fn into_ops(self) -> Vec<Op> {
        self.ops
    }
}
