//! Vectors as commands give them: `FP32 blob` or `VALUES n number …`.

use crate::failure::{Failure, Outcome};
use crate::vector_set::Set;
use crate::vectors::projection::project;
use crate::words::Words;

/// Dimensions that a set can have: what collections hold, and one.
const DIMS: std::ops::RangeInclusive<usize> = 1..=4096;
/// Components that a collection has at least.
const COLLECTION_DIM_MIN: usize = 2;
/// Components of a given vector at most, as in Redis: a set that is to hold one of more than 4,096 reduces it.
const GIVEN_DIM_MAX: usize = 1 << 16;

/// The vector after the word that says how it is given; `None` when the word says something else.
pub(crate) fn parse(how: &str, words: &mut Words<'_>) -> Outcome<Option<Vec<f32>>> {
    let invalid = || Failure::error("invalid vector specification");
    let vector: Vec<f32> = match how {
        "FP32" => {
            let blob = words.word().map_err(|_| invalid())?;
            if blob.is_empty() || !blob.len().is_multiple_of(4) || blob.len() / 4 > GIVEN_DIM_MAX {
                return Err(invalid());
            }
            blob.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
        "VALUES" => {
            let count = usize::try_from(words.integer().map_err(|_| invalid())?).map_err(|_| invalid())?;
            // That many words must follow: a promised count alone takes no memory.
            if count == 0 || count > words.rest().len().min(GIVEN_DIM_MAX) {
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
            "the vector has {dim} components, and a vector set takes up to {most}; put REDUCE {most}, or fewer, before \
            the vector",
            most = DIMS.end()
        ))),
    }
}

/// Returns the number of components that a collection has for vectors of `dim` components.
pub(crate) fn stored_dim(dim: usize) -> usize {
    dim.max(COLLECTION_DIM_MIN)
}

/// A given vector as the set stores it.
pub(crate) fn as_stored(set: &Set, vector: Vec<f32>) -> Outcome<Vec<f32>> {
    let given = vector.len();
    let vector = match set.input_dim {
        Some(expected) if given == expected => project(&vector, set.dim, set.uid),
        Some(expected) => {
            return Err(Failure::error(format!(
                "Input dimension mismatch for projection - got {given} but projection expects {expected}"
            )));
        }
        None => vector,
    };
    in_the_form_of(set, vector)
}

/// A given vector as it is compared with those that the set stores: where they are projected, it may be one that VEMB has given,
/// which is projected already.
pub(crate) fn as_compared(set: &Set, vector: Vec<f32>) -> Outcome<Vec<f32>> {
    match set.input_dim {
        Some(expected) if vector.len() == set.dim && set.dim != expected => in_the_form_of(set, vector),
        _ => as_stored(set, vector),
    }
}

/// A vector of the set's dimension, with the components that its collection has.
fn in_the_form_of(set: &Set, mut vector: Vec<f32>) -> Outcome<Vec<f32>> {
    if vector.len() != set.dim {
        let given = vector.len();
        return Err(Failure::error(format!("Vector dimension mismatch - got {given} but set has {}", set.dim)));
    }
    if vector.iter().all(|x| *x == 0.0) {
        return Err(Failure::error("the vector is zero and has no direction; give a nonzero vector"));
    }
    // Neither lengths nor angles change by it.
    vector.resize(stored_dim(set.dim), 0.0);
    Ok(vector)
}
