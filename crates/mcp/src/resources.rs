//! Resources: collections, their files and their records, and caches of answers, for hosts that let a person pick what goes into a conversation.

use blake3::{Hash, Hasher};
use nuthatch_dialect::caches;
use nuthatch_link::{Collection, Database, Error, ErrorKind, FileInfo, Result, What};
use rmcp::model::{ListResourcesResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::budget::beginning;
use crate::hit_view::HitView;
use crate::sources::Sources;
use crate::tools::passages;
use crate::uri::{Inside, Named, cache_of, cache_uri};

/// Resources of one page.
const PAGE: usize = 200;
/// Answers of one cache that wait for a verdict.
const AUDITS: usize = 20;
/// The longest text of one resource. A resource has no cursor; what is longer is read with the tool `get`.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// The kinds of resources that there are.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, description: &str, media_type: &str| {
        ResourceTemplate::new(uri, name).with_description(description).with_mime_type(media_type)
    };
    vec![
        template("nuthatch://collections/{collection}", "collection", "What a collection holds: records, fields", JSON),
        template(
            "nuthatch://collections/{collection}/files/{path}",
            "file",
            "The passages of a file that was added",
            PLAIN,
        ),
        template("nuthatch://collections/{collection}/records/{id}", "record", "A note, passage or other record", JSON),
        template(
            "nuthatch://caches/{cache}",
            "cache",
            "What a cache of answers holds, has done and has saved, and what waits for a verdict",
            JSON,
        ),
    ]
}

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";

/// One page: collections by name, each followed by its files, then caches. The cursor is the last one's URI.
///
/// # Errors
/// `Invalid` for a cursor that no page gave; those of the store.
pub fn list(database: &Database, cursor: Option<&str>) -> Result<ListResourcesResult> {
    let no_cursor =
        || Error::invalid("this is not a cursor of a resource list; use the cursor that the previous page returned");
    let after_cache = cursor.and_then(cache_of);
    let after = cursor.filter(|_| after_cache.is_none());
    let after = after.map(|cursor| Named::parse(cursor).ok_or_else(no_cursor)).transpose()?;
    let mut listed = Vec::new();
    let collections = if after_cache.is_none() { database.collection_names()? } else { Vec::new() };
    for name in collections {
        if after.as_ref().is_some_and(|after| name < after.collection) {
            continue;
        }
        let is_after =
            |inside: &Inside| after.as_ref().is_none_or(|after| (&name, inside) > (&after.collection, &after.inside));
        if is_after(&Inside::Nothing) {
            listed.push(collection_resource(&name));
        }
        let files = if listed.len() <= PAGE { database.existing_collection(&name)?.files("")? } else { Vec::new() };
        let files = files.into_iter().filter(|file| is_after(&Inside::File(file.path.clone())));
        listed.extend(files.take(PAGE + 1).map(|file| file_resource(&name, file)));
        if listed.len() > PAGE {
            break;
        }
    }
    let caches =
        database.cache_names()?.into_iter().filter(|name| after_cache.as_ref().is_none_or(|after| name > after));
    listed.extend(caches.take((PAGE + 1).saturating_sub(listed.len())).map(|name| cache_resource(&name)));
    let is_more = listed.len() > PAGE;
    listed.truncate(PAGE);
    let mut result = ListResourcesResult::with_all_items(listed);
    result.next_cursor = result.resources.last().filter(|_| is_more).map(|last| last.uri.clone());
    Ok(result)
}

fn collection_resource(name: &str) -> Resource {
    let named = Named { collection: name.into(), inside: Inside::Nothing };
    Resource::new(named.uri(), name).with_description("A collection: records, fields").with_mime_type(JSON)
}

fn cache_resource(name: &str) -> Resource {
    Resource::new(cache_uri(name), name).with_description("A cache of answers: counts, savings").with_mime_type(JSON)
}

fn file_resource(collection: &str, file: FileInfo) -> Resource {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path).to_string();
    let description = format!("{} in collection {collection}, {} passages", file.path, file.passages);
    let named = Named { collection: collection.into(), inside: Inside::File(file.path) };
    Resource::new(named.uri(), name).with_description(description).with_mime_type(PLAIN)
}

/// Reads the resource that a URI names.
///
/// # Errors
/// `NotFound`; those of the store.
pub fn read(database: &Database, uri: &str) -> Result<ResourceContents> {
    if let Some(cache) = cache_of(uri) {
        return Ok(ResourceContents::text(describe_cache(database, &cache)?, uri).with_mime_type(JSON));
    }
    let named = Named::parse(uri).ok_or_else(|| Error::not_found(format!("no resource {uri:?}")))?;
    let collection = database.existing_collection(&named.collection)?;
    let (text, media_type) = match &named.inside {
        Inside::Nothing => (describe(&collection)?, JSON),
        Inside::File(path) => (file_text(&collection, path)?, PLAIN),
        Inside::Record(id) => (record_text(&collection, id)?, JSON),
    };
    Ok(ResourceContents::text(text, uri).with_mime_type(media_type))
}

/// Another one when what a URI names has changed; `None` while there is no such thing. A file's is its revision, so that its passages need
/// not be read.
///
/// # Errors
/// Those of the store.
pub fn state(database: &Database, uri: &str) -> Result<Option<Hash>> {
    let (cache, named) = (cache_of(uri), Named::parse(uri));
    let stated = || {
        if let Some(cache) = &cache {
            return describe_cache(database, cache);
        }
        let Some(named) = &named else { return Err(Error::not_found(format!("no resource {uri:?}"))) };
        let collection = database.existing_collection(&named.collection)?;
        match &named.inside {
            Inside::Nothing => describe(&collection),
            Inside::File(path) => {
                let files = collection.files(path)?;
                let file = files.into_iter().find(|file| file.path == *path);
                file.map(|file| file.revision).ok_or_else(|| Error::not_found("no such file").about(What::File, path))
            }
            Inside::Record(id) => record_text(&collection, id),
        }
    };
    match stated() {
        Ok(text) => Ok(Some(blake3::hash(text.as_bytes()))),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Another one when there are other collections or files.
///
/// # Errors
/// Those of the store.
pub fn list_state(database: &Database) -> Result<Hash> {
    let mut hasher = Hasher::new();
    let mut note = |name: &str| {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    };
    for name in database.collection_names()? {
        note(&name);
        match database.existing_collection(&name).and_then(|collection| collection.files("")) {
            Ok(files) => files.iter().for_each(|file| note(&file.path)),
            Err(error) if error.kind == ErrorKind::NotFound => {} // dropped since
            Err(error) => return Err(error),
        }
        note("");
    }
    for name in database.cache_names()? {
        note(&name);
    }
    Ok(hasher.finalize())
}

fn describe(collection: &Collection) -> Result<String> {
    let info = collection.info()?;
    let fields: serde_json::Map<_, _> = info.fields.into_iter().map(|(field, kinds)| (field, json!(kinds))).collect();
    let described = json!({
        "collection": info.name,
        "records": info.rows,
        "vectors": info.vectors,
        "embedder": info.embedder,
        "language": info.language,
        "fields": fields,
        "degraded": info.degraded,
    });
    Ok(format!("{described:#}"))
}

/// Describes a cache: its contents and activity, and the oldest answers that wait for a verdict.
fn describe_cache(database: &Database, name: &str) -> Result<String> {
    let cache = database.existing_cache(name)?;
    let mut described = caches::ask(&cache, "stats", serde_json::Value::Null)?;
    described["cache"] = json!(name);
    described["waiting"] = caches::ask(&cache, "audits", json!({ "limit": AUDITS }))?["waiting"].take();
    Ok(beginning(&format!("{described:#}"), TEXT_BYTES_MAX).to_string())
}

/// The passages one after the other, each under its source.
fn file_text(collection: &Collection, path: &str) -> Result<String> {
    let not_there =
        || Error::not_found(format!("no file {path:?} in collection {:?}", collection.name())).about(What::File, path);
    let file = collection.files(path)?.into_iter().find(|file| file.path == path).ok_or_else(not_there)?;
    let mut text = String::new();
    for passage in passages(collection, path, 0..file.passages) {
        let HitView { id, source, text: passage, .. } = passage?;
        let passage = format!("[{}]\n{}\n\n", source.unwrap_or(id), passage.trim_end());
        let room = TEXT_BYTES_MAX.saturating_sub(text.len());
        let fitting = beginning(&passage, room);
        text += fitting;
        if fitting.len() < passage.len() {
            text += "\n… (the file is longer: read on with the tool `get`, its `path` and `from_line`)\n";
            break;
        }
    }
    Ok(text)
}

fn record_text(collection: &Collection, id: &str) -> Result<String> {
    let found = collection.get(&[id], false)?.pop().flatten();
    let record = found.ok_or_else(|| {
        Error::not_found(format!("no record {id:?} in collection {:?}", collection.name())).about(What::Record, id)
    })?;
    let found = HitView::record(collection, record, &mut Sources::default())?;
    let shown = serde_json::to_value(found.beginning(TEXT_BYTES_MAX));
    Ok(format!("{:#}", shown.expect("answers are plain JSON")))
}
