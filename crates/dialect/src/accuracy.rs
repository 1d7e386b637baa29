//! How well the vector leg looks, as one of three fields says it.

use nuthatch_engine::{Accuracy, Error, Result};

/// Combines `exact`, `ef` and `recall`; with none of them, returns the default.
///
/// # Errors
/// `Invalid` when more than one is given.
pub fn accuracy(exact: bool, ef: Option<usize>, recall: Option<f32>) -> Result<Accuracy> {
    match (exact, ef, recall) {
        (false, None, None) => Ok(Accuracy::default()),
        (false, None, Some(recall)) => Ok(Accuracy::Recall(recall)),
        (false, Some(ef), None) => Ok(Accuracy::Ef(ef)),
        (true, None, None) => Ok(Accuracy::Exact),
        _ => Err(Error::invalid("a search takes one of recall, ef and exact")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_three_at_most_says_how_well_a_search_looks() {
        assert_eq!(accuracy(false, None, None).unwrap(), Accuracy::default());
        assert_eq!(accuracy(true, None, None).unwrap(), Accuracy::Exact);
        assert_eq!(accuracy(false, Some(64), None).unwrap(), Accuracy::Ef(64));
        assert_eq!(accuracy(false, None, Some(0.9)).unwrap(), Accuracy::Recall(0.9));
        for (exact, ef, recall) in [(true, Some(1), None), (true, None, Some(0.9)), (false, Some(1), Some(0.9))] {
            assert!(accuracy(exact, ef, recall).unwrap_err().message.contains("one of recall, ef and exact"));
        }
    }
}
