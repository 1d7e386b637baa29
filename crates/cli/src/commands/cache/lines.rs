//! Files of JSON lines, or the input.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use nuthatch_link::Error;

/// The file, or the input for `-`.
pub fn read(path: &Path) -> Result<Box<dyn BufRead>, Error> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| Error::invalid(format!("{}: {error}", path.display())))?;
    Ok(Box::new(BufReader::new(file)))
}

/// Returns an error with the file and the line in which it occurred.
pub fn place(path: &Path, at: usize, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("{}:{}: {error}", path.display(), at + 1))
}
