//! A value that only the process that made it may touch, not even to drop it: RocksDB, threads and locks do not survive a fork.

use std::mem::ManuallyDrop;

/// Dropped by the process that made it; forgotten by a fork of that process.
pub(crate) struct Owned<T> {
    value: ManuallyDrop<Option<T>>,
    pid: u32,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(Some(value)), pid: std::process::id() }
    }

    /// The caller has made sure that this is the process of the value.
    pub fn get(&self) -> &T {
        self.value.as_ref().expect("taken by drop alone")
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            drop(self.value.take());
        }
    }
}
