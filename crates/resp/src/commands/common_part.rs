//! LCS: the longest sequence of bytes that two strings have in common, in order and not necessarily side by side.

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::words::Words;

/// Pairs of bytes that are compared at most: each takes four bytes of memory.
const PAIRS_MAX: usize = 8 << 20;

/// A run that both strings have: where it begins in each, and its length.
type Run = (usize, usize, usize);

/// LCS key key [LEN] [IDX] [MINMATCHLEN n] [WITHMATCHLEN]
pub(crate) fn lcs(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (mut length_alone, mut with_places, mut least, mut with_lengths) = (false, false, 0, false);
    let mut words = Words::new(&call.arguments[2..]);
    while !words.is_empty() {
        match words.option()?.as_str() {
            "LEN" => length_alone = true,
            "IDX" => with_places = true,
            "MINMATCHLEN" => least = words.integer()?.max(0) as usize,
            "WITHMATCHLEN" => with_lengths = true,
            _ => return Err(Failure::syntax()),
        }
    }
    if length_alone && with_places {
        return Err(Failure::error("If you want both the length and indexes, please just use IDX."));
    }
    let wrong = |_| Failure::error("The specified keys must contain string values");
    let (one, _) = call.context.string(&call.arguments[0]).map_err(wrong)?.unwrap_or_default();
    let (other, _) = call.context.string(&call.arguments[1]).map_err(wrong)?.unwrap_or_default();
    if (one.len() + 1).saturating_mul(other.len() + 1) > PAIRS_MAX {
        return Err(Failure::error(format!(
            "the strings have {} and {} bytes, and their product may be {PAIRS_MAX}; compare parts of them",
            one.len(),
            other.len()
        )));
    }
    let (common, runs) = longest(&one, &other);
    if length_alone {
        return Ok(Reply::count(common.len()));
    }
    if !with_places {
        return Ok(Reply::Bulk(common));
    }
    let place = |from: usize, length: usize| Reply::Array(vec![Reply::count(from), Reply::count(from + length - 1)]);
    let shown = runs.into_iter().filter(|(.., length)| *length >= least).map(|(at, other, length)| {
        let mut parts = vec![place(at, length), place(other, length)];
        parts.extend(with_lengths.then_some(Reply::count(length)));
        Reply::Array(parts)
    });
    Ok(Reply::Map(vec![
        (Reply::bulk("matches"), Reply::Array(shown.collect())),
        (Reply::bulk("len"), Reply::count(common.len())),
    ]))
}

/// The common bytes, and the runs that they come in, from the last one on.
fn longest(one: &[u8], other: &[u8]) -> (Vec<u8>, Vec<Run>) {
    let width = other.len() + 1;
    // The length of what the first bytes of both have in common.
    let mut lengths = vec![0_u32; (one.len() + 1) * width];
    for (i, a) in one.iter().enumerate() {
        for (j, b) in other.iter().enumerate() {
            lengths[(i + 1) * width + j + 1] = match a == b {
                true => lengths[i * width + j] + 1,
                false => lengths[i * width + j + 1].max(lengths[(i + 1) * width + j]),
            };
        }
    }
    let (mut common, mut runs): (Vec<u8>, Vec<Run>) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (one.len(), other.len());
    while i > 0 && j > 0 {
        if one[i - 1] == other[j - 1] {
            (i, j) = (i - 1, j - 1);
            common.push(one[i]);
            match runs.last_mut() {
                Some((at, other, length)) if (*at, *other) == (i + 1, j + 1) => {
                    (*at, *other, *length) = (i, j, *length + 1)
                }
                _ => runs.push((i, j, 1)),
            }
        } else if lengths[(i - 1) * width + j] > lengths[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    common.reverse();
    (common, runs)
}
