//! The OpenAPI document: made of the routes and types that the server is compiled with.

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Response, Schema, Server};
use utoipa::{OpenApi as _, ToSchema};

use crate::api::described;
use crate::api::durable::Durable;
use crate::problem::{Problem, Subject};

const BEARER: &str = "key";
const OCTETS: &str = "application/octet-stream";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Nuthatch",
        description = "Stores records with texts, vectors and payloads and searches them together; stores keys and values, \
            graphs, facts, answers, files as passages, and files as they are. Errors are problem documents (RFC 9457) with a kind and a remedy. \
            With a key of the default tenant and the scope `admin`, the header `x-nuthatch-tenant` \
            (percent-encoded) chooses the tenant of a request.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "collections", description = "Records of one kind, searched together"),
        (name = "records", description = "Writing, reading and deleting records"),
        (name = "search", description = "Finding records by text, by vector, by both, or by similarity"),
        (name = "files", description = "Documents, stored as passages"),
        (name = "keyspaces", description = "Keys and values"),
        (name = "graphs", description = "Typed nodes and edges"),
        (name = "trees", description = "Files as they are, with versions and named snapshots"),
        (name = "caches", description = "Answers to prompts, found again by prompt, form or meaning"),
        (name = "facts", description = "What is said of whom, when it is true, when that was known, and where it says so"),
        (name = "batches", description = "Atomic writes"),
        (name = "snapshots", description = "Consistent reads of several things, and writes that depend on them"),
        (name = "administration", description = "Statistics, checks, reclaiming, backups: for keys with the scope `admin`"),
        (name = "process", description = "Liveness, readiness, metrics, and this document"),
    ),
)]
struct Base;

/// The document, as `/openapi.json` serves it.
pub fn document() -> OpenApi {
    let mut document = Base::openapi();
    document.merge(described());
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert(BEARER.into(), RefOr::T(bearer));
    // Named by no body: these two by all errors, the last by a parameter.
    components.schemas.insert(Problem::name().into(), <Problem as utoipa::PartialSchema>::schema());
    components.schemas.insert(Subject::name().into(), <Subject as utoipa::PartialSchema>::schema());
    components.schemas.insert(Durable::name().into(), <Durable as utoipa::PartialSchema>::schema());
    // The server that the document was asked of.
    document.servers = Some(vec![Server::new("/")]);
    // The rest of a path is a parameter as any other: its slashes may be percent-encoded or not.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    for (path, item) in &mut document.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
            ("head", &mut item.head),
            ("patch", &mut item.patch),
        ];
        for (method, operation) in operations {
            let Some(operation) = operation else { continue };
            operation.operation_id = Some(operation_name(method, path));
            // One sentence for all: errors are the same everywhere.
            operation.responses.responses.insert("default".into(), RefOr::T(failed()));
            // Those that ask for no key say so.
            operation.security.get_or_insert_default();
            describe_bytes(operation);
        }
    }
    document
}

/// `post_collections_collection_search`: what functions of generated clients are called. No two operations share it.
fn operation_name(method: &str, path: &str) -> String {
    let parts = path.split(['/', '-', '.']).filter(|part| !part.is_empty() && *part != "v1");
    let names = parts.map(|part| part.trim_matches(['{', '}']));
    [method].into_iter().chain(names).collect::<Vec<_>>().join("_")
}

/// Bodies of bytes are bytes: the derived description of a `Vec<u8>` is a list of numbers.
fn describe_bytes(operation: &mut Operation) {
    let requests = operation.request_body.iter_mut().filter_map(written_out);
    let of_request = requests.flat_map(|body| body.content.iter_mut());
    let responses = operation.responses.responses.values_mut().filter_map(written_out);
    let of_responses = responses.flat_map(|response| response.content.iter_mut());
    for (media_type, content) in of_request.chain(of_responses) {
        if let (OCTETS, RefOr::T(content)) = (media_type.as_str(), content) {
            content.schema = Some(RefOr::T(bytes()));
        }
    }
}

/// Returns a part that is written out here; nothing for a reference.
fn written_out<T>(part: &mut RefOr<T>) -> Option<&mut T> {
    match part {
        RefOr::T(part) => Some(part),
        RefOr::Ref(_) => None,
    }
}

fn bytes() -> Schema {
    let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
    ObjectBuilder::new().schema_type(Type::String).format(Some(format)).build().into()
}

fn failed() -> Response {
    let mut response = Response::new("The request failed; the document says why and what to do next");
    let content = Content::new(Some(Ref::from_schema_name(Problem::name())));
    response.content.insert("application/problem+json".into(), RefOr::T(content));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification requires this, and generators insist on it.
    #[test]
    fn every_answer_has_a_description_and_bytes_are_no_list_of_numbers() {
        let document = serde_json::to_value(document()).unwrap();
        let methods = document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap());
        let operations: Vec<_> =
            methods.filter_map(|(_, operation)| Some((operation, operation.get("responses")?))).collect();
        assert!(operations.len() > 70);
        for (operation, responses) in operations {
            for (status, response) in responses.as_object().unwrap() {
                let described = response["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(described, "{} {status}", operation["operationId"]);
            }
            assert!(operation["security"].is_array(), "{}", operation["operationId"]);
            let bytes = [&operation["requestBody"], &responses["200"]].map(|body| &body["content"][OCTETS]["schema"]);
            for schema in bytes.into_iter().filter(|schema| !schema.is_null()) {
                assert_eq!((&schema["type"], &schema["format"]), (&"string".into(), &"binary".into()));
            }
        }
    }
}
