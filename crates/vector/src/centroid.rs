//! The mean that a segment's rows are coded around.

use crate::validate::validate_dim;
use crate::{Metric, Result, validate};

/// Sums rows into the centroid that [`CodesWriter`](crate::CodesWriter) wants: their mean, or under cosine the mean of their
/// directions. A sample of a few thousand rows is enough; codes are right around any point, and tightest around the mean.
pub struct Centroid {
    metric: Metric,
    sums: Vec<f64>,
    rows: u64,
}

impl Centroid {
    /// Without rows. Fails for a dimension that is not supported.
    pub fn new(dim: usize, metric: Metric) -> Result<Self> {
        validate_dim(dim)?;
        Ok(Self { metric, sums: vec![0.0; dim], rows: 0 })
    }

    /// Adds one raw row.
    pub fn add(&mut self, row: &[f32]) -> Result<()> {
        validate(row, self.sums.len(), self.metric)?;
        let scale = match self.metric {
            Metric::Cosine => 1.0 / crate::validate::norm(row),
            Metric::Dot | Metric::L2 | Metric::Hamming => 1.0,
        };
        for (sum, x) in self.sums.iter_mut().zip(row) {
            *sum += f64::from(*x) * scale;
        }
        self.rows += 1;
        Ok(())
    }

    /// The mean; zeros when nothing was added.
    pub fn mean(&self) -> Vec<f32> {
        let rows = self.rows.max(1) as f64;
        self.sums.iter().map(|sum| (sum / rows) as f32).collect()
    }
}
