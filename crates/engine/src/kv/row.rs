//! How a module above spells the rows of its kind of keyspace: a byte for the version of their layout, then postcard.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// A row's value. `of` names whose rows they are.
pub(crate) fn encode<T: Serialize>(value: &T, layout: u8, of: &str) -> Result<Vec<u8>> {
    let bytes = postcard::to_extend(value, vec![layout]);
    bytes.map_err(|error| Error::internal(format!("a row of {of} cannot be encoded: {error}")))
}

/// Decodes a row that [`encode`] wrote with the same layout.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], layout: u8, of: &str) -> Result<T> {
    let broken = |why: &str| Error::internal(format!("a row of {of} cannot be read ({why}); run `nuthatch doctor`"));
    match bytes.split_first() {
        Some((found, rest)) if *found == layout => {
            postcard::from_bytes(rest).map_err(|error| broken(&error.to_string()))
        }
        Some((other, _)) => Err(broken(&format!("layout {other}"))),
        None => Err(broken("it is empty")),
    }
}
