//! The JSON dialect: how a search, a record and a hit are written, the names of modes, fusions and parts, and the reads that every
//! face answers by their names ([`operations`]), once for all.
//!
//! **Useful for** whoever reads or writes this JSON: the server, the client of the Python package, the command line.
//! **Not for** what one wire has alone: addresses, errors, pages.
//!
//! **Invariant:** what is written here is read here as the same thing, and a field at its default may be left out.

mod accuracy;
mod answer;
mod fields;
mod names;
pub mod operations;
mod record;
mod search;
mod vector;

pub use accuracy::accuracy;
pub use answer::{Answer, Hit, Leg, Legs, Pending, Shown};
pub use fields::{Field, Takes, fields};
pub use names::{FUSIONS, FusionName, MODES, ModeName, Part};
pub use record::{Record, StoredRecord};
pub use search::{Search, further, refine};
pub use vector::{Vector, VectorFormat, into_engine as vectors_into_engine};
