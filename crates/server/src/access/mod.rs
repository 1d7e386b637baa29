//! Keys: who may ask, for which tenant, and what.
//!
//! **What it is.** The file of keys in the data folder, and the ring that a running server keeps of it.
//! **Not for** passwords of people: a key is 256 random bits, so one fast hash keeps it, where a password needs a slow one.
//!
//! **Invariant:** no key is stored, only its SHA-256; the file is readable by its owner alone; what a command changes holds for
//! the next request of a running server.

mod file;
mod key;
mod ring;
mod scope;
mod turns;

pub use file::KeyFile;
pub use key::{Key, NewKey, TENANT_DEFAULT, Token};
pub use ring::Ring;
pub use scope::{Scope, Scopes};
pub use turns::{Turn, Turns};
