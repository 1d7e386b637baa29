//! `NH.` commands: collections that other faces made, and what Redis has no word for.

use nuthatch_dialect as dialect;
use nuthatch_dialect::operations::Facet;
use nuthatch_link::payload_to_json;
use serde_json::Map;
use utoipa::PartialSchema;

use crate::call::Call;
use crate::commands::named;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::session::Session;
use crate::vectors::parse_vector;
use crate::words::Words;

/// Fields of a search that mean nothing here: replies have one form, and connections their own time.
const MEANINGLESS: [&str; 4] = ["include", "vector_format", "explain", "timeout_ms"];

/// NH.COLLECTIONS: names, and what they hold.
pub(crate) fn collections(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    let collections = session.tenant()?.database.collections()?.into_iter().map(|info| {
        let facts = [
            ("name", Reply::bulk(info.name)),
            ("records", Reply::Int(info.rows as i64)),
            ("vectors", Reply::Int(info.vectors as i64)),
            ("dim", info.dim.map_or(Reply::Null, Reply::count)),
            ("metric", Reply::bulk(info.metric.to_string())),
            ("embedder", Reply::optional(info.embedder.map(String::into_bytes))),
            ("fields", Reply::bulks(info.fields.into_iter().map(|(name, _)| name))),
        ];
        Reply::Map(facts.into_iter().map(|(name, value)| (Reply::bulk(name), value)).collect())
    });
    Ok(Reply::Array(collections.collect()))
}

/// NH.SEARCH collection [TEXT words] [VECTOR FP32 blob | VECTOR VALUES n number …] [LIKE id] [WHERE condition] [LIMIT n] [OFFSET n]
/// [MODE hybrid | text | vector], and any other field of a search over HTTP by its name: [FUSION weighted] [RECALL 0.9] …
///
/// Answers with the hits (each its id, its score, its text and its payload in JSON), and why an index was not in use.
pub(crate) fn search(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let name = String::from_utf8_lossy(&call.arguments[0]);
    let search = asked(&call.arguments[1..])?.into_engine(None, None)?;
    let collection = call.context.tenant.collection(&name)?;
    let answer = call.context.search(&collection, &search)?;
    let hits = answer.hits.into_iter().map(|hit| {
        let payload = serde_json::Value::Object(payload_to_json(&hit.payload)).to_string();
        let facts = [
            ("id", Reply::bulk(hit.id)),
            ("score", Reply::Double(f64::from(hit.score))),
            ("text", Reply::optional(hit.text.map(String::into_bytes))),
            ("payload", Reply::bulk(payload)),
        ];
        Reply::Map(facts.into_iter().map(|(name, value)| (Reply::bulk(name), value)).collect())
    });
    let mut parts = vec![
        (Reply::bulk("hits"), Reply::Array(hits.collect())),
        // Why something was searched without its index.
        (Reply::bulk("degraded"), Reply::bulks(answer.degraded)),
    ];
    if !answer.facets.is_empty() {
        let facets: Vec<Facet> = answer.facets.into_iter().map(Into::into).collect();
        let facets = serde_json::to_value(facets).map_err(|error| Failure::error(error.to_string()))?;
        parts.push((Reply::bulk("facets"), named::reply(facets)));
    }
    Ok(Reply::Map(parts))
}

/// A search from its words.
fn asked(words: &[Vec<u8>]) -> Outcome<dialect::Search> {
    let text = |word: &[u8]| {
        String::from_utf8(word.to_vec()).map_err(|_| Failure::error("texts, ids and conditions must be UTF-8"))
    };
    let mut known = dialect::fields(&dialect::Search::schema());
    known.retain(|field| !MEANINGLESS.contains(&field.name.as_str()));
    let (mut fields, mut vector, mut words) = (Map::new(), None, Words::new(words));
    while !words.is_empty() {
        let option = words.option()?;
        match option.as_str() {
            "VECTOR" => {
                let how = words.option()?;
                let found = parse_vector(&how, &mut words)?;
                vector = Some(found.ok_or_else(|| Failure::error("VECTOR takes FP32 or VALUES"))?);
            }
            "LIMIT" => drop(fields.insert("limit".into(), words.positive("LIMIT")?.into())),
            "OFFSET" => {
                let offset = usize::try_from(words.integer()?);
                let offset = offset.map_err(|_| Failure::error("OFFSET must not be negative"))?;
                fields.insert("offset".into(), offset.into());
            }
            "MODE" => drop(fields.insert("mode".into(), words.option()?.to_lowercase().into())),
            _ => {
                let field = known.iter().find(|field| field.name.eq_ignore_ascii_case(&option));
                let field = field.ok_or_else(Failure::syntax)?;
                if field.takes != dialect::Takes::Texts {
                    fields.remove(&field.name); // the last one holds
                }
                field.put(&mut fields, &text(words.word()?)?)?;
            }
        }
    }
    Ok(dialect::Search { vector: vector.map(dialect::Vector::Numbers), ..dialect::Search::of(fields)? })
}
