//! Reads of records that every face answers by their names: an address for each line of the dialect's list.
//!
//! **Invariant:** the address, its description and what is read of a request are made of the same line.

use std::sync::Arc;

use axum::response::Response;
use axum::routing::post;
use nuthatch_dialect::operations::{Described, Operation, RECORDS};
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, PathItem, Paths, Ref, RefOr, Required, ResponseBuilder, Schema};
use utoipa_axum::router::OpenApiRouter;

use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::extract::{Json, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    RECORDS.iter().fold(OpenApiRouter::new(), |router, operation| {
        let handler = post(move |at: ReadingAt, name: Segments<String>, question: Json<Value>| {
            ask(operation, at, name, question)
        });
        let mut paths = Paths::new();
        let mut schemas = Vec::new();
        let item = PathItem::new(HttpMethod::Post, described(operation, &mut schemas));
        paths.paths.insert(format!("/v1/collections/{{collection}}/{}", operation.name), item);
        router.routes((schemas, paths, handler))
    })
}

async fn ask(
    operation: &'static Operation,
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    let answer = caller.run(move |database| {
        let _held = held;
        operation.ask(&read_point.records(database, &name)?, value)
    });
    Ok(reply::json(&answer.await?))
}

fn described(operation: &Operation, schemas: &mut Vec<(String, RefOr<Schema>)>) -> utoipa::openapi::path::Operation {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    let collection = ParameterBuilder::new().name("collection").parameter_in(ParameterIn::Path);
    let collection = collection.required(Required::True).schema(Some(text)).build();
    let question = RequestBodyBuilder::new().content("application/json", named(operation.question(), schemas));
    let answer = ResponseBuilder::new().description("The answer");
    let answer = answer.content("application/json", named(operation.answer(), schemas)).build();
    AsOf::into_params(|| None)
        .into_iter()
        .fold(OperationBuilder::new().parameter(collection), OperationBuilder::parameter)
        .tag("records")
        .summary(Some(operation.says))
        .security(SecurityRequirement::new("key", ["read"]))
        .request_body(Some(question.required(Some(Required::True)).build()))
        .response("200", answer)
        .build()
}

/// By its name, which stands with those of its parts among the schemas.
fn named(described: Described, schemas: &mut Vec<(String, RefOr<Schema>)>) -> Content {
    let Described { name, schema, parts } = described;
    let content = Content::new(Some(Ref::from_schema_name(&name)));
    schemas.push((name, schema));
    schemas.extend(parts);
    content
}
