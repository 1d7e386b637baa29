//! Vectors as commands give them: `FP32 blob` or `VALUES n number …`.

use crate::failure::{Failure, Outcome};
use crate::vectors::Set;
use crate::vectors::projection::project;
use crate::words::Words;

/// Dimensions that collections can have.
const DIMS: std::ops::RangeInclusive<usize> = 2..=4096;

/// The vector after the word that says how it is given; `None` when the word says something else.
pub(crate) fn parse(how: &str, words: &mut Words<'_>) -> Outcome<Option<Vec<f32>>> {
    let invalid = || Failure::error("invalid vector specification");
    let vector: Vec<f32> = match how {
        "FP32" => {
            let blob = words.word().map_err(|_| invalid())?;
            if blob.is_empty() || !blob.len().is_multiple_of(4) {
                return Err(invalid());
            }
            blob.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
        "VALUES" => {
            let count = usize::try_from(words.integer().map_err(|_| invalid())?).map_err(|_| invalid())?;
            // So many words must be there: what is promised alone takes no memory.
            if count == 0 || count > words.rest().len() {
                return Err(invalid());
            }
            let numbers = (0..count).map(|_| Ok(words.float().map_err(|_| invalid())? as f32));
            numbers.collect::<Outcome<_>>()?
        }
        _ => return Ok(None),
    };
    match vector.iter().all(|x| x.is_finite()) {
        true => Ok(Some(vector)),
        false => Err(invalid()),
    }
}

/// A dimension that can be stored.
pub(crate) fn check_dim(dim: usize) -> Outcome<()> {
    match DIMS.contains(&dim) {
        true => Ok(()),
        false => Err(Failure::error(format!(
            "a vector of {dim} components; a vector set has {} to {}",
            DIMS.start(),
            DIMS.end()
        ))),
    }
}

/// A given vector as the set stores it.
pub(crate) fn as_stored(set: &Set, vector: Vec<f32>) -> Outcome<Vec<f32>> {
    let expected = set.input_dim.unwrap_or(set.dim);
    if vector.len() != expected {
        return Err(Failure::error(format!("Vector dimension mismatch - got {} but set has {expected}", vector.len())));
    }
    let vector = match set.input_dim {
        Some(_) => project(&vector, set.dim, set.uid),
        None => vector,
    };
    match vector.iter().any(|x| *x != 0.0) {
        true => Ok(vector),
        false => Err(Failure::error("a vector of zeros has no direction; give one that has")),
    }
}
