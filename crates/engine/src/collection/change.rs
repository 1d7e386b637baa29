//! One entry of the change log: which rows a batch added and removed.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

const CHANGE_VERSION: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub added: Vec<u64>,
    pub removed: Vec<u64>,
}

impl Change {
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![CHANGE_VERSION]).expect("numbers always encode")
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&CHANGE_VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|error| Error::internal(format!("a change log entry cannot be decoded: {error}"))),
            _ => Err(Error::internal(
                "a change log entry has a version that this program cannot read; use a newer Nuthatch",
            )),
        }
    }
}
