//! `NH.CACHE.` commands: caches of answers, by the calls that every face has.
//!
//! A question is one argument of JSON, or words: what the call is about, then fields with their values.

use nuthatch_dialect::caches;
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::commands::named;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::session::Session;
use crate::vectors::parse_vector;
use crate::words::Words;

/// NH.CACHES: the names of all caches.
pub(crate) fn names(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    Ok(Reply::bulks(session.tenant()?.database.cache_names()?))
}

/// NH.CACHE.CREATE cache [FIELD value …]: creates a missing cache, changes the settings that are given, and answers with all of them.
pub(crate) fn create(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let change = asked(&call.arguments[1..], &[])?;
    let cache = call.context.tenant.database.cache(&text(&call.arguments[0])?)?;
    Ok(named::reply(caches::ask(&cache, "configure", change)?))
}

/// NH.CACHE.LOOKUP cache prompt [SCOPE part value …] [USER name] [VECTOR FP32 blob | VECTOR VALUES n number …] [JUDGED true]
pub(crate) fn lookup(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "lookup", &["prompt"])
}

/// NH.CACHE.STORE cache prompt response [SCOPE part value …] [TAGS tag …] [TTL seconds] [COST json] …; RESPONSE json for one that is no text
pub(crate) fn store(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "store", &["prompt", "response"])
}

/// NH.CACHE.LEASE cache prompt owner [SCOPE part value …] [LEASE seconds]: waits for nothing.
pub(crate) fn lease(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "lease", &["prompt", "owner"])
}

/// NH.CACHE.RELEASE cache prompt owner [SCOPE part value …] [UNKEPT true]
pub(crate) fn release(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "release", &["prompt", "owner"])
}

/// NH.CACHE.REPORT cache ENTRY number [HIT number] WRONG true|false
pub(crate) fn report(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "report", &[])
}

/// NH.CACHE.INVALIDATE cache ENTRY number | TAG tag | SOURCE json | SCOPE part value … | ALL true
pub(crate) fn invalidate(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "invalidate", &[])
}

/// NH.CACHE.STATS cache
pub(crate) fn stats(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "stats", &[])
}

/// NH.CACHE.EXPLAIN cache prompt [SCOPE part value …]
pub(crate) fn explain(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "explain", &["prompt"])
}

/// NH.CACHE.AUDITS cache [LIMIT n]
pub(crate) fn audits(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    ask(call, "audits", &[])
}

fn ask(call: &mut Call<'_, '_>, name: &str, first: &[&str]) -> Outcome<Reply> {
    let mut question = asked(&call.arguments[1..], first)?;
    if name == "lease" {
        // A command that waits would hold its connection.
        question["wait"] = json!(0);
    }
    let cache = call.context.tenant.database.existing_cache(&text(&call.arguments[0])?)?;
    Ok(named::reply(caches::ask(&cache, name, question)?))
}

/// The question of these arguments, which begin with the values of the `first` fields.
fn asked(arguments: &[Vec<u8>], first: &[&str]) -> Outcome<Value> {
    if let [only] = arguments
        && only.first() == Some(&b'{')
    {
        return serde_json::from_slice(only)
            .map_err(|error| Failure::error(format!("the question is no JSON: {error}")));
    }
    let mut words = Words::new(arguments);
    let mut question = Map::new();
    for field in first {
        question.insert((*field).into(), text(words.word()?)?.into());
    }
    while !words.is_empty() {
        let field = words.option()?.to_lowercase();
        match field.as_str() {
            "scope" if first.is_empty() && words.rest().first().is_some_and(|word| word.first() == Some(&b'[')) => {
                question.insert(field, value(words.word()?)?); // the parts of a setting
            }
            "scope" => {
                let (part, value) = (text(words.word()?)?, text(words.word()?)?);
                let scope = question.entry("scope").or_insert_with(|| json!({}));
                scope[part] = value.into();
            }
            "tags" => {
                let tag = text(words.word()?)?;
                match question.entry("tags").or_insert_with(|| json!([])) {
                    Value::Array(tags) => tags.push(tag.into()),
                    _ => return Err(Failure::syntax()),
                }
            }
            "vector" => {
                let how = words.option()?;
                let found = parse_vector(&how, &mut words)?;
                let found = found.ok_or_else(|| Failure::error("VECTOR takes FP32 or VALUES"))?;
                question.insert(field, json!(found));
            }
            "user" | "owner" | "tag" | "prompt" => drop(question.insert(field, text(words.word()?)?.into())),
            _ => drop(question.insert(field, value(words.word()?)?)),
        }
    }
    Ok(Value::Object(question))
}

/// A value as JSON spells it, or a text.
fn value(word: &[u8]) -> Outcome<Value> {
    match serde_json::from_slice(word) {
        Ok(value) => Ok(value),
        Err(_) => Ok(text(word)?.into()),
    }
}

fn text(word: &[u8]) -> Outcome<String> {
    String::from_utf8(word.to_vec()).map_err(|_| Failure::error("names, prompts and values are UTF-8"))
}
