//! `NH.` commands: collections that other faces made, and what Redis has no word for.

use nuthatch_link::{Include, Mode, Search, payload_to_json};

use crate::commands::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::session::Session;
use crate::vectors::parse_vector;
use crate::words::Words;

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
/// [MODE hybrid | text | vector]
///
/// Answers with the hits (each its id, its score, its text and its payload in JSON), and why an index was not in use.
pub(crate) fn search(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let name = String::from_utf8_lossy(&call.arguments[0]);
    let mut search = Search { include: Include { text: true, payload: true, vector: false }, ..Search::default() };
    let text = |word: &[u8]| {
        String::from_utf8(word.to_vec()).map_err(|_| Failure::error("texts, ids and conditions are UTF-8"))
    };
    let mut words = Words::new(&call.arguments[1..]);
    while !words.is_empty() {
        match words.option()?.as_str() {
            "TEXT" => search.text = Some(text(words.word()?)?),
            "VECTOR" => {
                let how = words.option()?;
                let vector = parse_vector(&how, &mut words)?;
                search.vector = Some(vector.ok_or_else(|| Failure::error("VECTOR takes FP32 or VALUES"))?);
            }
            "LIKE" => search.like = Some(text(words.word()?)?),
            "WHERE" => search = search.filter(&text(words.word()?)?)?,
            "LIMIT" => search.limit = words.positive("LIMIT")?,
            "OFFSET" => {
                let offset = words.integer()?;
                search.offset = usize::try_from(offset).map_err(|_| Failure::error("OFFSET must not be negative"))?;
            }
            "MODE" => search.mode = Some(words.option()?.to_lowercase().parse::<Mode>()?),
            _ => return Err(Failure::syntax()),
        }
    }
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
    Ok(Reply::Map(vec![
        (Reply::bulk("hits"), Reply::Array(hits.collect())),
        // Why something was searched without its index.
        (Reply::bulk("degraded"), Reply::bulks(answer.degraded)),
    ]))
}
