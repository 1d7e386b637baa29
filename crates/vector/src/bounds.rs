//! Which candidates must be compared exactly.

/// Keeps every candidate that can be among the `limit` best: those whose upper bound reaches the `limit`-th best lower
/// bound. `bounds` gives (lower, upper). The rule of [`VectorMemtable::search`](crate::VectorMemtable::search) and
/// [`Codes::search`](crate::Codes::search), to be applied once more to the candidates of a whole collection, so that
/// one good segment spares the others' comparisons.
pub fn retain_reaching<T>(candidates: &mut Vec<T>, limit: usize, bounds: impl Fn(&T) -> (f32, f32)) {
    if limit == 0 {
        return candidates.clear();
    }
    if candidates.len() > limit {
        let mut lowers: Vec<f32> = candidates.iter().map(|candidate| bounds(candidate).0).collect();
        let (_, reach, _) = lowers.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
        let reach = *reach;
        candidates.retain(|candidate| bounds(candidate).1 >= reach);
    }
}
