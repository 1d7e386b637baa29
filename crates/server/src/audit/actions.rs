//! Which requests are noted, and under which name.

use axum::http::Method;

/// The routes that administer. The part of a path in braces is the target of the action.
const ACTIONS: &[(&str, &str, &str)] = &[
    ("PUT", "/v1/tenants/{tenant}", "tenant.create"),
    ("PUT", "/v1/tenants/{tenant}/limits", "tenant.limit"),
    ("DELETE", "/v1/tenants/{tenant}", "tenant.drop"),
    ("DELETE", "/v1/collections/{collection}", "collection.drop"),
    ("POST", "/v1/collections/{collection}/erase", "collection.erase"),
    ("DELETE", "/v1/keyspaces/{keyspace}", "keyspace.drop"),
    ("DELETE", "/v1/graphs/{graph}", "graph.drop"),
    ("DELETE", "/v1/caches/{cache}", "cache.drop"),
    ("DELETE", "/v1/facts/{facts}", "facts.drop"),
    ("POST", "/v1/facts/{facts}/erase", "facts.erase"),
    ("POST", "/v1/reclaim", "reclaim"),
    ("POST", "/v1/backups", "backup.create"),
    ("GET", "/v1/audit", "audit.read"),
];

/// The name of what a request does, if it is noted.
pub fn action_of(method: &Method, route: &str) -> Option<&'static str> {
    ACTIONS.iter().find(|(of, path, _)| *of == method.as_str() && *path == route).map(|(_, _, name)| *name)
}

/// Returns the target of a request of this route: the part of the path where the route has braces.
pub fn target_of(route: &str, path: &str) -> String {
    let place = route.split('/').position(|part| part.starts_with('{'));
    let part = place.and_then(|place| path.split('/').nth(place)).unwrap_or_default();
    percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_a_route_of_the_server() {
        let document = serde_json::to_value(crate::document()).unwrap();
        for (method, path, name) in ACTIONS {
            let is_there = !document["paths"][*path][method.to_lowercase()].is_null();
            assert!(is_there, "{name}: there is no {method} {path}");
        }
    }

    #[test]
    fn the_target_is_what_the_path_names() {
        assert_eq!(target_of("/v1/tenants/{tenant}/limits", "/v1/tenants/am%20ber/limits"), "am ber");
        assert_eq!(target_of("/v1/reclaim", "/v1/reclaim"), "");
    }
}
