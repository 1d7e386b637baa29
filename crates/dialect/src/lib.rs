//! The JSON dialect: the form of a search, a record and a hit, the names of modes, fusions and parts, and the reads
//! that every face answers by name ([`operations`]), defined once.
//!
//! **Useful for** programs that read or write this JSON: the server, the client of the Python package, the command
//! line.
//! **Not for** parts of a single wire: addresses, errors, pages.
//!
//! **Invariant:** reading a written value gives the same value, and a field at its default may be left out.

mod accuracy;
mod answer;
mod asking;
pub mod caches;
mod change;
pub mod facts;
mod fields;
mod names;
pub mod networks;
pub mod operations;
mod record;
mod search;
mod vector;

pub use accuracy::accuracy;
pub use answer::{Answer, Hit, Leg, Legs, Pending, Shown};
pub use change::{FieldChange, RecordChange};
pub use fields::{Field, Takes, fields};
pub use names::{FUSIONS, FusionName, MODES, ModeName, Part};
pub use record::{Record, StoredRecord};
pub use search::{Search, further, refine};
pub use vector::{FieldVector, Sparse, Vector, VectorFormat, into_engine as vectors_into_engine};
