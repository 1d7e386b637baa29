//! The OpenAPI document: made of the routes and types that the server is compiled with.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Response};
use utoipa::{OpenApi as _, ToSchema};

use crate::api;
use crate::api::durable::Durable;
use crate::problem::Problem;

const BEARER: &str = "key";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Nuthatch",
        description = "Records with texts, vectors and payloads, searched together; keys and values; files as passages. Errors are \
                       problem documents (RFC 9457) with a kind and a remedy. With a key of the default tenant and the scope `admin`, the \
                       header `x-nuthatch-tenant` (percent-encoded) names the tenant whose data a request is about.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "collections", description = "Records of one kind, searched together"),
        (name = "records", description = "Writing, reading and deleting records"),
        (name = "search", description = "Finding records by text, vector, both, or likeness"),
        (name = "files", description = "Documents, kept as passages"),
        (name = "keyspaces", description = "Keys and values"),
        (name = "graphs", description = "Typed nodes and edges"),
        (name = "batches", description = "Writes that stand or fall together"),
        (name = "snapshots", description = "Reading several things as of one moment, and writing by what was read"),
        (name = "administration", description = "Statistics, checks, reclaiming, backups: for keys with the scope `admin`"),
        (name = "process", description = "Whether the server lives and is ready, its figures, this document"),
    ),
)]
struct Base;

/// The document, as `/openapi.json` serves it.
pub fn document() -> OpenApi {
    let mut document = Base::openapi();
    document.merge(api::described());
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert(BEARER.into(), RefOr::T(bearer));
    // Named by no body: the one by all errors, the other by a parameter.
    components.schemas.insert(Problem::name().into(), <Problem as utoipa::PartialSchema>::schema());
    components.schemas.insert(Durable::name().into(), <Durable as utoipa::PartialSchema>::schema());
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

fn failed() -> Response {
    let mut response = Response::new("It could not be done; the document says why and what to do");
    let content = Content::new(Some(Ref::from_schema_name(Problem::name())));
    response.content.insert("application/problem+json".into(), RefOr::T(content));
    response
}
