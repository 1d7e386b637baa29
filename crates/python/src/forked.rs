//! Objects that must not be released in a fork of the process that made them.

/// A snapshot or a transaction. Releasing it takes locks of the store, which may be held by threads that the fork does
/// not have.
pub struct Forked<T> {
    value: Option<T>,
    pid: u32,
}

impl<T> Forked<T> {
    pub fn new(value: T) -> Self {
        Self { value: Some(value), pid: std::process::id() }
    }

    pub fn get(&self) -> &T {
        self.value.as_ref().expect("it is only taken when it is dropped")
    }
}

impl<T> Drop for Forked<T> {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
