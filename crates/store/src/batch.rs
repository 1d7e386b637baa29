use crate::Table;

/// One change inside a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Put {
        table: Table,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        table: Table,
        key: Vec<u8>,
    },
    /// Everything in `from..to`.
    DeleteRange {
        table: Table,
        from: Vec<u8>,
        to: Vec<u8>,
    },
}

/// Changes that stand or fall together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    ops: Vec<Op>,
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        self.ops.push(Op::Put { table, key, value });
    }

    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.ops.push(Op::Delete { table, key });
    }

    pub fn delete_range(&mut self, table: Table, from: Vec<u8>, to: Vec<u8>) {
        self.ops.push(Op::DeleteRange { table, from, to });
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    pub fn into_ops(self) -> Vec<Op> {
        self.ops
    }
}
