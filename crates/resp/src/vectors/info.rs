//! What a vector set is, and who is next to whom.

use nuthatch_engine::{Include, Search};

use crate::commands::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::{Protocol, Reply};
use crate::vectors::element::{element_of, id_of};
use crate::vectors::score_of;

/// VINFO key
pub(crate) fn vinfo(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let Some((set, collection)) = call.unit.set(&call.arguments[0])? else { return Ok(Reply::NullArray) };
    let size = call.unit.count(&collection)? as i64;
    let info = collection.info()?;
    let facts = [
        ("quant-type", Reply::bulk(set.quantization.name())),
        ("hnsw-m", Reply::count(set.links)),
        ("vector-dim", Reply::count(set.dim)),
        ("projection-input-dim", Reply::count(set.input_dim.unwrap_or(0))),
        ("size", Reply::Int(size)),
        // There are no levels: a graph is one.
        ("max-level", Reply::Int(1)),
        ("vset-uid", Reply::Int(set.uid as i64)),
        ("hnsw-max-node-uid", Reply::Int(size)),
        ("collection", Reply::bulk(set.collection)),
        ("graphs", Reply::count(info.graphs)),
        ("fresh", Reply::Int(info.fresh_rows as i64)),
    ];
    Ok(Reply::Map(facts.into_iter().map(|(name, value)| (Reply::bulk(name), value)).collect()))
}

/// VLINKS key element [WITHSCORES]: the nearest elements, as one level.
pub(crate) fn vlinks(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let with_scores = match &call.arguments[2..] {
        [] => false,
        [option] if option.eq_ignore_ascii_case(b"WITHSCORES") => true,
        _ => return Err(Failure::syntax()),
    };
    let Some((set, collection)) = call.unit.set(&call.arguments[0])? else { return Ok(Reply::NullArray) };
    let id = id_of(&call.arguments[1])?;
    if call.unit.record(&collection, &id, false)?.is_none() {
        return Ok(Reply::NullArray);
    }
    let include = Include { text: false, payload: false, vector: false };
    let near = call.unit.search(&collection, &Search { include, ..Search::like(id).limit(set.links) })?;
    let near = near.hits.into_iter().map(|hit| (Reply::Bulk(element_of(&hit.id)), Reply::Double(score_of(hit.score))));
    let level = match (with_scores, call.protocol) {
        (false, _) => Reply::Array(near.map(|(element, _)| element).collect()),
        (true, Protocol::Three) => Reply::Map(near.collect()),
        (true, Protocol::Two) => Reply::Array(near.flat_map(|(element, score)| [element, score]).collect()),
    };
    Ok(Reply::Array(vec![level]))
}
