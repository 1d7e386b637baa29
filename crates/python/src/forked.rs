//! What must not be let go of in a fork of the process that made it.

/// A snapshot or a transaction. Letting go of it takes locks of the store, which threads that the fork has not got may hold.
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
