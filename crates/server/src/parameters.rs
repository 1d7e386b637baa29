//! Parameters that an address does not have are refused before anything is done, for all addresses in one place.
//!
//! The OpenAPI document defines the parameters of an address; it is made from the types that read them.
//!
//! **Useful for** requests that mean something else than they would do: `DELETE …?where=…` at an address that drops everything.
//! **Not for** values: the type of each address reads these.
//!
//! **Invariant:** a request of a described address reaches its handler with parameters of that address alone.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, ParameterIn};

use crate::api;
use crate::problem::Problem;

/// By path, the parameters of each method.
type Taken = HashMap<String, Vec<(Method, Vec<String>)>>;

static TAKEN: LazyLock<Taken> = LazyLock::new(|| {
    let paths = api::described().paths.paths.into_iter();
    let of_path = paths.map(|(path, item)| {
        let operations = [
            (Method::GET, item.get),
            (Method::PUT, item.put),
            (Method::POST, item.post),
            (Method::DELETE, item.delete),
            (Method::PATCH, item.patch),
        ];
        let named = operations.into_iter().filter_map(|(method, operation)| Some((method, names(&operation?))));
        (path, named.collect())
    });
    of_path.collect()
});

/// The middleware around all routes.
pub async fn refuse_unknown(request: Request, next: Next) -> Response {
    match unknown(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn unknown(request: &Request) -> Option<Problem> {
    // Nearly every request has none.
    request.uri().query().filter(|query| !query.is_empty())?;
    let path = request.extensions().get::<MatchedPath>()?;
    // A HEAD request is matched as a GET.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let (_, taken) = TAKEN.get(path.as_str())?.iter().find(|(taken, _)| taken == method)?;
    let given = match Query::<Vec<(String, String)>>::try_from_uri(request.uri()) {
        Ok(Query(given)) => given,
        Err(error) => return Some(Problem::invalid(format!("the parameters: {}", error.body_text()))),
    };
    let (name, _) = given.into_iter().find(|(name, _)| !taken.contains(name))?;
    let takes = match taken.as_slice() {
        [] => "this endpoint takes none".to_string(),
        taken => format!("this endpoint takes {}", taken.join(", ")),
    };
    Some(Problem::invalid(format!("unknown parameter {name:?}; {takes}")))
}

fn names(operation: &Operation) -> Vec<String> {
    let all = operation.parameters.iter().flatten();
    all.filter_map(|one| match one {
        RefOr::T(one) if one.parameter_in == ParameterIn::Query => Some(one.name.clone()),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_takes_is_what_its_description_says() {
        let of = |path: &str, wanted: Method| {
            let (_, names) = TAKEN[path].iter().find(|(method, _)| *method == wanted).unwrap();
            names.join(" ")
        };
        assert_eq!(of("/v1/collections/{collection}", Method::DELETE), "");
        assert_eq!(of("/v1/collections/{collection}/files", Method::DELETE), "path durability");
        assert_eq!(of("/v1/collections/{collection}/count", Method::GET), "where");
    }
}
