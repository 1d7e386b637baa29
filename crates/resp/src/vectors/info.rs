//! The properties of a vector set, and the neighbours of its elements.

use nuthatch_link::{Collection, Include, Scan, Search};

use crate::call::Call;
use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::protocol::{Protocol, Reply};
use crate::vectors::element::{element_of, id_of};
use crate::vectors::{RECORDS_AT_ONCE, score_of};

/// Fields up to which one condition names them all.
const FIELDS_NAMED_MAX: usize = 64;

/// VINFO key
pub(crate) fn vinfo(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let Some((set, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::NullArray) };
    let size = call.context.count(&collection)? as i64;
    let info = collection.info()?;
    let facts = [
        ("quant-type", Reply::bulk(set.quantization.name())),
        ("hnsw-m", Reply::count(set.links)),
        ("vector-dim", Reply::count(set.dim)),
        ("projection-input-dim", Reply::count(set.input_dim.unwrap_or(0))),
        ("size", Reply::Int(size)),
        // A graph has no levels. Clients expect more than 0 where there are elements, as redis-py's own tests do.
        ("max-level", Reply::Int(1)),
        ("attributes-count", Reply::Int(attributes_count(call.context, &collection, &info.fields)? as i64)),
        ("vset-uid", Reply::Int(set.uid as i64)),
        ("hnsw-max-node-uid", Reply::Int(size)),
        ("collection", Reply::bulk(set.collection)),
        ("graphs", Reply::count(info.vector_graphs)),
        ("fresh", Reply::Int(info.fresh_rows as i64)),
    ];
    Ok(Reply::Map(facts.into_iter().map(|(name, value)| (Reply::bulk(name), value)).collect()))
}

/// Elements with an attribute that filters can read. `fields` are those that there have been.
fn attributes_count(
    context: &mut CommandContext<'_>,
    collection: &Collection,
    fields: &[(String, Vec<String>)],
) -> Outcome<u64> {
    let is_plain = fields.iter().all(|(name, _)| !name.contains('"'));
    if fields.is_empty() {
        return Ok(0);
    }
    if is_plain && fields.len() <= FIELDS_NAMED_MAX {
        // The indexes of the fields tell, without a look at the elements.
        let any: Vec<String> = fields.iter().map(|(name, _)| format!("exists(\"{name}\")")).collect();
        return Ok(collection.count(Some(&any.join(" or ")))?);
    }
    let (mut count, mut scan) = (0, Scan { limit: RECORDS_AT_ONCE, ..Scan::default() });
    loop {
        let page = context.records(collection, &scan)?;
        count += page.records.iter().filter(|record| !record.payload.is_empty()).count() as u64;
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => return Ok(count),
        }
    }
}

/// VLINKS key element [WITHSCORES]: the nearest elements, as one level.
pub(crate) fn vlinks(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let with_scores = match &call.arguments[2..] {
        [] => false,
        [option] if option.eq_ignore_ascii_case(b"WITHSCORES") => true,
        _ => return Err(Failure::syntax()),
    };
    let Some((set, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::NullArray) };
    let id = id_of(&call.arguments[1])?;
    if call.context.record(&collection, &id, false)?.is_none() {
        return Ok(Reply::NullArray);
    }
    let include = Include { text: false, payload: false, vector: false };
    let near = call.context.search(&collection, &Search { include, ..Search::like(id).limit(set.links) })?;
    let near = near.hits.into_iter().map(|hit| (Reply::Bulk(element_of(&hit.id)), Reply::Double(score_of(hit.score))));
    let level = match (with_scores, call.protocol) {
        (false, _) => Reply::Array(near.map(|(element, _)| element).collect()),
        (true, Protocol::Three) => Reply::Map(near.collect()),
        (true, Protocol::Two) => Reply::Array(near.flat_map(|(element, score)| [element, score]).collect()),
    };
    Ok(Reply::Array(vec![level]))
}
