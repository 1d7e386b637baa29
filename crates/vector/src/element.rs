//! The type of a stored vector's components, and exact comparison with rows as they are stored.

use half::f16;
use nuthatch_distance::dot;

use crate::{Metric, Result, VectorError};

/// The type of a collection's vector components, fixed when it is made. Queries are always `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Element {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats (IEEE 754 binary16): given as `f32`, rounded to the nearest, at most 65,504.
    F16,
    /// Whole numbers from -128 to 127.
    Int8,
    /// Whole numbers from 0 to 255.
    Uint8,
    /// Zeros and ones, eight to a byte: component `8b + i` is bit `i` of byte `b`.
    Binary,
}

impl Element {
    const ALL: [Self; 5] = [Self::F32, Self::F16, Self::Int8, Self::Uint8, Self::Binary];

    /// The name in options and in messages; [`std::str::FromStr`] reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
            Self::Uint8 => "uint8",
            Self::Binary => "binary",
        }
    }

    /// Bytes of a stored vector of `dim` components.
    pub fn row_bytes(self, dim: usize) -> usize {
        match self {
            Self::F32 => dim * 4,
            Self::F16 => dim * 2,
            Self::Int8 | Self::Uint8 => dim,
            Self::Binary => dim.div_ceil(8),
        }
    }

    /// Whether this type can hold a vector.
    ///
    /// # Errors
    /// [`VectorError::NotRepresentable`] names the first component that it cannot.
    pub fn check(self, vector: &[f32]) -> Result<()> {
        let whole = |x: f32, min: f32, max: f32| x.fract() == 0.0 && (min..=max).contains(&x);
        let misfit = match self {
            Self::F32 => None,
            Self::F16 => vector.iter().position(|x| !f16::from_f32(*x).is_finite()),
            Self::Int8 => vector.iter().position(|x| !whole(*x, -128.0, 127.0)),
            Self::Uint8 => vector.iter().position(|x| !whole(*x, 0.0, 255.0)),
            Self::Binary => vector.iter().position(|x| *x != 0.0 && *x != 1.0),
        };
        match misfit {
            Some(position) => Err(VectorError::NotRepresentable { position, value: vector[position], element: self }),
            None => Ok(()),
        }
    }

    /// The stored form of a vector.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn encode(self, vector: &[f32]) -> Result<Vec<u8>> {
        self.check(vector)?;
        let mut bytes = vec![0; self.row_bytes(vector.len())];
        match self {
            Self::F32 => bytes.chunks_exact_mut(4).zip(vector).for_each(|(to, x)| to.copy_from_slice(&x.to_le_bytes())),
            Self::F16 => bytes
                .chunks_exact_mut(2)
                .zip(vector)
                .for_each(|(to, x)| to.copy_from_slice(&f16::from_f32(*x).to_le_bytes())),
            Self::Int8 => bytes.iter_mut().zip(vector).for_each(|(to, x)| *to = *x as i8 as u8),
            Self::Uint8 => bytes.iter_mut().zip(vector).for_each(|(to, x)| *to = *x as u8),
            Self::Binary => {
                let bits = |eight: &[f32]| eight.iter().enumerate().map(|(i, x)| (*x as u8) << i).sum();
                bytes.iter_mut().zip(vector.chunks(8)).for_each(|(to, eight)| *to = bits(eight));
            }
        }
        Ok(bytes)
    }

    /// The components of a stored vector, into `vector`; what is behind `dim` components is ignored.
    pub fn decode_into(self, bytes: &[u8], dim: usize, vector: &mut Vec<f32>) {
        vector.clear();
        match self {
            Self::F32 => vector.extend(bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]))),
            Self::F16 => vector.extend(bytes.chunks_exact(2).map(|x| f16::from_le_bytes([x[0], x[1]]).to_f32())),
            Self::Int8 => vector.extend(bytes.iter().map(|x| f32::from(*x as i8))),
            Self::Uint8 => vector.extend(bytes.iter().map(|x| f32::from(*x))),
            Self::Binary => vector.extend(bytes.iter().flat_map(|byte| (0..8).map(move |i| f32::from(byte >> i & 1)))),
        }
        vector.truncate(dim);
    }

    /// The same in a vector of its own, of `dim` elements.
    pub fn decode(self, bytes: &[u8], dim: usize) -> Vec<f32> {
        let mut vector = Vec::with_capacity(dim);
        self.decode_into(bytes, dim, &mut vector);
        vector
    }

    pub(crate) fn code(self) -> u32 {
        Self::ALL.iter().position(|element| *element == self).expect("all are listed") as u32
    }

    pub(crate) fn of_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

impl std::str::FromStr for Element {
    type Err = VectorError;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|element| element.as_str() == name)
            .ok_or_else(|| VectorError::UnknownElement { name: name.into() })
    }
}

/// One query, compared exactly with many stored rows: the same bits as [`Metric::similarity`] of the decoded row.
pub struct Exact<'q> {
    metric: Metric,
    element: Element,
    query: &'q [f32],
    query_length: f32,
    row: Vec<f32>,
}

impl<'q> Exact<'q> {
    /// Compares with rows of `element`; `query` is raw and has the rows' dimension.
    pub fn new(metric: Metric, element: Element, query: &'q [f32]) -> Self {
        Self { metric, element, query, query_length: dot(query, query).sqrt(), row: Vec::with_capacity(query.len()) }
    }

    /// Higher is better; see [`Metric::similarity`]. A row of another length than the query's has none.
    pub fn similarity(&mut self, row: &[u8]) -> Option<f32> {
        if row.len() < self.element.row_bytes(self.query.len()) {
            return None;
        }
        let row = &row[..self.element.row_bytes(self.query.len())];
        self.element.decode_into(row, self.query.len(), &mut self.row);
        Some(match self.metric {
            Metric::Cosine => {
                let lengths = self.query_length * dot(&self.row, &self.row).sqrt();
                if lengths > 0.0 { dot(self.query, &self.row) / lengths } else { 0.0 }
            }
            Metric::Dot | Metric::L2 | Metric::Hamming => self.metric.similarity(self.query, &self.row),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_element_can_hold_comes_back_and_the_rest_is_refused_by_position() {
        let values = [
            (Element::F32, vec![1.5, -2.25, 0.1], None),
            (Element::F16, vec![1.5, -2.25, 0.5], Some(vec![1.0, 70_000.0])),
            (Element::Int8, vec![-128.0, 127.0, 3.0], Some(vec![1.0, 0.5])),
            (Element::Uint8, vec![0.0, 255.0, 3.0], Some(vec![1.0, -1.0])),
            (Element::Binary, vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], Some(vec![1.0, 2.0])),
        ];
        for (element, good, bad) in values {
            let bytes = element.encode(&good).unwrap();
            assert_eq!(bytes.len(), element.row_bytes(good.len()));
            assert_eq!(element.decode(&bytes, good.len()), good, "{element}");
            if let Some(bad) = bad {
                assert!(
                    matches!(element.encode(&bad), Err(VectorError::NotRepresentable { position: 1, .. })),
                    "{element}"
                );
            }
            assert_eq!(element.as_str().parse::<Element>().unwrap(), element);
            assert_eq!(Element::of_code(element.code()), Some(element));
        }
    }

    #[test]
    fn a_prepared_comparison_gives_the_same_bits_as_a_plain_one() {
        let query: Vec<f32> = (0..37).map(|i| ((i * 7) % 5) as f32 - 1.3).collect();
        let row: Vec<f32> = (0..37).map(|i| ((i * 3) % 7) as f32 - 2.6).collect();
        for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
            let stored = Element::F32.encode(&row).unwrap();
            let mut exact = Exact::new(metric, Element::F32, &query);
            assert_eq!(exact.similarity(&stored), Some(metric.similarity(&query, &row)));
            assert_eq!(exact.similarity(&stored[1..]), None);
        }
    }
}
