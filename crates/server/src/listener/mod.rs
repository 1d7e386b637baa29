//! Connections: accepting them, speaking HTTP/1.1 and HTTP/2 on them, and ending them in good order.
//!
//! **Invariant:** a client that is slow or silent costs one connection of a bounded number, and that for a bounded time.

mod accept;
mod peer;
mod stalled;
mod tls;

pub use accept::serve;
pub use tls::Tls;
