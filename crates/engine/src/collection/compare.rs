//! Vectors between their stored form and what is compared.

use nuthatch_vector::Element;

use crate::Result;
use crate::collection::Core;

impl Core {
    /// The components of a stored vector.
    pub(crate) fn vector_from(&self, bytes: &[u8]) -> Vec<f32> {
        let dim = match self.element {
            Element::Binary => self.writer_dim().unwrap_or(bytes.len() * 8),
            Element::F32 => bytes.len() / 4,
            Element::F16 => bytes.len() / 2,
            Element::Int8 | Element::Uint8 => bytes.len(),
        };
        self.element.decode(bytes, dim)
    }

    /// A vector as it comes back once stored.
    pub(crate) fn as_stored(&self, vector: Vec<f32>) -> Result<Vec<f32>> {
        match self.element {
            Element::F16 => Ok(self.element.decode(&self.element.encode(&vector)?, vector.len())),
            Element::F32 | Element::Int8 | Element::Uint8 | Element::Binary => Ok(vector),
        }
    }
}
