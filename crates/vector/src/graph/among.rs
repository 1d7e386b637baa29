//! Whether to walk among the matching nodes alone, and whether what that found can be believed.
//!
//! Where the matching rows form a separate cloud away from the query, most neighbours of their nodes match as well, and
//! a walk over them alone, from the best of a sample, reaches those nearest to the query. It fails where few of them
//! are neighbours of each other, and where so much lies between them and the query that the nearest of them are
//! scattered over a whole face of the cloud. Both can be detected, the first after the walk, the second before it.
//!
//! **Not for** matching rows near the query, or spread everywhere: the walk before this one finds those.

/// A sample's best row may have so large a part of all rows nearer than itself: 1 in this many.
const NEARER_PART: usize = 100;
/// A node that so few of its neighbours match with stands alone: who walks among the matching ones alone does not come to its like.
const ALONE: usize = 1;
/// Of the nearest nodes found, so large a part may stand alone: 1 in this many.
const ALONE_PART: usize = 5;

/// Whether `seeds`, of all over the matching rows, lie so near the query that the way from there can be walked. `entries`, how
/// near the nodes of the entry table are, stand for all rows.
pub(super) fn is_worth_it(seeds: &[(u32, f32)], entries: &[f32]) -> bool {
    let Some(nearest) = seeds.iter().map(|(_, nearness)| *nearness).max_by(f32::total_cmp) else { return false };
    let nearer = entries.iter().filter(|nearness| **nearness > nearest).count();
    nearer * NEARER_PART <= entries.len()
}

/// Whether the nearest nodes found know others that match, by how many neighbours of each do: else there are more that nobody leads to.
pub(super) fn is_dense(matching: &[usize]) -> bool {
    let alone = matching.iter().filter(|matching| **matching <= ALONE).count();
    alone * ALONE_PART <= matching.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_that_many_rows_are_nearer_than_is_no_beginning() {
        let entries: Vec<f32> = (0..256).map(|at| -(at as f32)).collect();
        assert!(is_worth_it(&[(1, -9.0), (2, -1.5)], &entries));
        assert!(!is_worth_it(&[(1, -9.0), (2, -4.5)], &entries));
        assert!(!is_worth_it(&[], &entries));
    }

    #[test]
    fn nodes_that_hardly_know_others_that_match_are_not_believed() {
        assert!(is_dense(&[9, 1, 30, 2, 5, 7, 8, 0, 4, 3]));
        assert!(!is_dense(&[9, 1, 30, 2, 5, 7, 8, 0, 4, 1]));
    }
}
