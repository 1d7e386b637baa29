//! Keys: who may ask, for which tenant, and what.
//!
//! **What it is.** The file of keys in the data folder, the ring that a running server keeps of it, passwords of Redis' users, and
//! how much of the server each tenant may have.
//! **Not for** accounts of people: a user who forgot a password asks the operator.
//!
//! **Invariant:** no key and no password is stored: a key, which is 256 random bits, is stored as its SHA-256, a
//! password as its argon2id hash, which is slow to try; the file is readable by its owner alone; what a command changes
//! holds for the next request of a running server.

mod file;
mod invitation;
mod key;
mod password;
mod ring;
mod scope;
mod shares;
mod turns;

pub use file::KeyFile;
pub use invitation::Invitation;
pub use key::{Key, NewKey, TENANT_DEFAULT, Token, hex, random};
pub use password::{PASSWORD_BYTES, Passwords, Verdict};
pub use ring::Ring;
pub use scope::{Scope, Scopes};
pub use shares::{Entered, Shares, Slot, Work};
pub use turns::{Turn, Turns};
