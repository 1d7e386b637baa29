//! Ctrl-C and SIGTERM for commands that can be stopped half-way.

use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_link::{Error, Result};

use crate::exit::Outcome;
use crate::output;

/// A flag that the first signal sets, saying `note`. A second one ends the program at once, which loses nothing either: each
/// batch is in the store whole or not at all, and an index is in use only when it is finished.
pub fn flag(note: &'static str) -> Result<&'static AtomicBool> {
    listen(move || {
        if FLAG.swap(true, Ordering::SeqCst) {
            std::process::exit(Outcome::Interrupted.code().into());
        }
        output::note(&format!("\n{note} (again to stop at once) …"));
    })
}

/// The same for a command that draws on the terminal: nothing is said, and it always ends by itself.
pub fn silent_flag() -> Result<&'static AtomicBool> {
    listen(|| FLAG.store(true, Ordering::SeqCst))
}

static FLAG: AtomicBool = AtomicBool::new(false);

fn listen(handler: impl FnMut() + Send + 'static) -> Result<&'static AtomicBool> {
    ctrlc::set_handler(handler).map_err(|error| Error::internal(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&FLAG)
}
