//! ripgrep's search over one content at a time.
//!
//! **What it is.** A [`Request`] says what ripgrep's flags say. [`Grep::new`] compiles it once; [`Grep::wants`] tells
//! which paths it is about, [`Grep::search`] searches the bytes of one of them and prints what it finds, and
//! [`Grep::finish`] prints what comes at the end.
//!
//! **What it is useful for.** Searching contents that no file holds: the versions of a tree. It is built of the crates
//! that ripgrep is built of, so patterns, flags and print are ripgrep's.
//!
//! For those who keep an index, [`Needed`] tells from a request which grams a content must have to match, and
//! [`GramSet`] which a content has.
//!
//! **What it is not for.** It reads no file, walks no folder, knows no store, and starts no thread. Which
//! contents exist, and in which order they come ([`path_order`] is the order of `--sort path`), is the caller's matter.
//!
//! **The invariant it keeps.** A content's matches are those that ripgrep finds in the same bytes, in a file that it came
//! upon in a folder. Nothing is passed over silently: what a limit of the caller cut short says so ([`Found::truncated`]).
//!
//! ```
//! use nuthatch_grep::{Grep, Request};
//!
//! let request = Request { patterns: vec!["fn \\w+".into()], line_number: Some(true), ..Request::default() };
//! let mut grep = Grep::new(&request)?;
//! let mut out = Vec::new();
//! for (path, content) in [("src/lib.rs", "// a\nfn main() {}\n"), ("b.txt", "none")] {
//!     if grep.wants(path) {
//!         grep.search(path, content.as_bytes(), &mut out)?;
//!     }
//! }
//! grep.finish(&mut out)?;
//! assert_eq!(out, b"src/lib.rs:2:fn main() {}\n");
//! # Ok::<(), nuthatch_grep::GrepError>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod clipped;
mod end;
mod error;
mod grams;
mod grep;
mod paper;
mod paths;
mod pattern;
mod printer;
mod request;
mod searcher;
mod sink;

pub use error::GrepError;
pub use grams::{Bits, BlockBuilder, CONTENTS_A_BLOCK, Gram, GramSet, Needed, PARTS, Postings, no_bits, part_of};
pub use grep::{Apart, Found, Grep, Progress};
pub use paths::{Paths, path_order};
pub use request::{GLOBS_MAX, Output, PATTERN_BYTES_MAX, PROGRAM_BYTES_MAX, Request};
