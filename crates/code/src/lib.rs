//! Facts of source code: definitions, references and imports of one file, and what a reference means among many.
//!
//! **Useful for** answering who calls what without a compiler and without a build: [`facts_of`] is a pure function of a
//! language and of bytes, [`Facts::encode`] keeps what it found, and [`resolve`] says which definitions a reference may
//! mean, and how sure that is. Where an indexer that knows types has said what names mean, [`Documents`] reads it, and it wins.
//! **Not for** types: what a value is at run time, overloads and traits are not worked out, and nothing claims so.
//!
//! **Invariant:** the same bytes give the same facts, no bytes cause a panic, and a reference that may mean several
//! definitions names all of them.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod c;
mod encode;
mod facts;
mod go;
mod java;
mod language;
mod module;
mod names;
mod parse;
mod python;
mod resolve;
mod rust;
mod scip;
mod script;
mod walk;

pub use facts::{Definition, FACTS_VERSION, Facts, Import, Kind, Reading, Receiver, Reference, Use};
pub use language::{Family, Language};
pub use module::may_be_module;
pub use names::{Found, Names, hash_of, look};
pub use parse::{PARSED_BYTES_MAX, parse};
pub use resolve::{Candidate, Class, Meaning, Place, resolve};
pub use scip::{Columns, Document, Documents, Occurrence, Symbol, Symbols};
pub use walk::facts_of;
