//! The bytes of the protocol: requests in, replies out. No I/O.
//!
//! **Useful for** anything that speaks RESP2 or RESP3 on the server's side. **Not for** clients: a request here is what clients
//! send, an array of byte strings or a line of words, and nothing else.
//!
//! **Invariant:** whatever comes in, decoding ends with a whole command, with "more bytes, please" or with an error; memory grows
//! with the bytes that have come, never with what a length promises; no byte is looked at twice.

mod inline;
mod reply;
mod request;

pub(crate) use reply::{Protocol, Reply, digits};
pub use request::{Command, Decoder, Limits, ProtocolError};
