//! The Redis protocol over the engine: what Redis clients know as strings, hashes, lists, sets, sorted sets, keys that expire,
//! transactions and vector sets.
//!
//! **What it is.** [`Server`] listens, a thread a connection; each command is written once, against a [`Tenant`]'s database. Keys of the
//! numbered database `n` lie in the keyspace `redis.n`, strings as they are, the rows of large aggregates in `redis.n.rows`; a vector set is
//! a collection.
//! **Useful for** programs that have a Redis client already. **Not for** streams, scripts, publish and subscribe: those commands are
//! answered with errors.
//!
//! **Invariant:** the commands of a connection are run in their order, one after the other; no write is acknowledged before it is as
//! durable as [`Settings::durability`] says; no bytes that a client sends take more memory than [`Settings`] allows.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//! use std::sync::Arc;
//! use nuthatch_link::{Database, Options};
//! use nuthatch_resp::{Open, Server, Settings, Tenant};
//!
//! let db = Database::in_memory(Options::default())?;
//! let gate = Arc::new(Open(Tenant::new(db.clone())));
//! let server = Server::start(TcpListener::bind("127.0.0.1:0")?, gate, Settings::default())?;
//!
//! let mut client = TcpStream::connect(server.address())?;
//! client.write_all(b"SET greeting hello\r\n")?;
//! let mut reply = [0; 5];
//! client.read_exact(&mut reply)?;
//! assert_eq!(&reply, b"+OK\r\n");
//! assert_eq!(db.kv("redis.0")?.get("greeting")?.as_deref(), Some(&b"hello"[..]));
//! server.stop(std::time::Duration::from_secs(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod aggregate;
mod call;
mod clients;
mod commands;
mod connection;
mod context;
mod counts;
mod cursors;
mod dispatch;
mod entries;
mod failure;
mod gate;
mod growth;
mod long_double;
mod number;
mod pattern;
mod pipeline;
mod post_commit;
mod prepared;
pub mod protocol;
mod purge;
mod queued;
mod replies;
mod server;
mod session;
mod settings;
mod shared;
mod tenant;
mod transaction;
mod value;
mod vector_set;
mod vectors;
mod waiting;
mod words;

pub use counts::{CommandCount, Counts, TIMES_UP_TO, Times};
pub use gate::{Gate, Grant, Open, Pass, Refused, Scopes, Turn};
pub use protocol::Limits;
pub use server::{Server, Wrap, reachable};
pub use settings::{HoldReplies, Settings};
pub use shared::Stream;
pub use tenant::Tenant;
