//! Names of collections, keyspaces, graphs, vector fields and tenants.

use crate::{Error, Result};

/// Longest name of a collection in bytes.
const NAME_BYTES_MAX: usize = 200;

pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(fine) {
        return Err(Error::invalid(format!(
            "{name:?} is not a valid name for a {what}; use letters, digits, '-', '_' and '.', at most {NAME_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}
