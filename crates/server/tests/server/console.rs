//! The console's files: what a browser is told about them, and that they are all that their addresses give.

use std::io::Read;

use nuthatch_server::Scope;
use serde_json::json;

use crate::client::Answer;
use crate::place::Place;

/// Of all files together, as they are sent.
const BYTES_MAX: usize = 1024 * 1024;

fn packed(place: &Place, path: &str) -> Answer {
    // The client would unpack it if it were to ask for it by itself.
    place.client().send("GET", path, &[("accept-encoding", "gzip")], Vec::new())
}

/// The addresses that the page names.
fn assets(page: &str) -> Vec<String> {
    let named = page.split('"').filter(|part| part.starts_with("/ui/assets/"));
    named.map(str::to_string).collect()
}

#[test]
fn pages_and_what_they_load_come_with_a_strict_policy_and_are_kept_as_long_as_they_hold() {
    let place = Place::new();
    let client = place.client();
    let to = client.get("/ui");
    assert!(to.status == 200 || to.header("location") == Some("/ui/"), "{to:?}");
    let page = client.get("/ui/");
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let assets = assets(page.text());
    assert!(assets.len() >= 3, "{assets:?}");
    for path in &assets {
        let asset = client.get(path);
        assert_eq!((asset.status, asset.header("cache-control")), (200, Some("public, max-age=31536000, immutable")));
    }
    for path in assets.iter().map(String::as_str).chain(["/ui/", "/ui/licences.txt"]) {
        let answer = client.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("vary", "accept-encoding"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert_eq!(answer.header("set-cookie"), None);
    }
    place.stop();
}

#[test]
fn the_page_holds_nothing_inline_and_names_nothing_elsewhere() {
    let place = Place::new();
    let page = place.client().get("/ui/").text().to_string();
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" on"), "{page}");
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert!(!scripts.is_empty() && scripts.iter().all(|script| script.contains(" src=\"/ui/assets/")), "{page}");
    assert!(scripts.iter().all(|script| script.split_once('>').unwrap().1.starts_with("</script>")), "{page}");
    assert!(!page.contains("://") && !page.contains("\"//"), "{page}");
    place.stop();
}

#[test]
fn the_console_is_small_and_the_same_for_clients_that_take_no_gzip() {
    let place = Place::new();
    let paths = [assets(place.client().get("/ui/").text()), vec!["/ui/".into(), "/ui/licences.txt".into()]].concat();
    let mut total = 0;
    for path in &paths {
        let raw = place.client().send("GET", path, &[("accept-encoding", "identity")], Vec::new());
        assert_eq!(raw.header("content-encoding"), None);
        let packed = packed(&place, path);
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        total += packed.body.len();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.body.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == raw.body, "{path}");
    }
    assert!(total <= BYTES_MAX, "{total} bytes");
    place.stop();
}

#[test]
fn no_address_below_the_console_gives_anything_else() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let secret = json!({"records": [{"id": "a", "text": "plover-7261"}]});
    admin.post("/v1/collections/notes/records", secret).is(200);
    let targets = [
        "keys.json",
        "NUTHATCH",
        "Cargo.toml",
        "etc/passwd",
        "v1/collections",
        "v1/collections/notes/records",
        "metrics",
        "console.js.gz",
        "index.html",
        "src/main.tsx",
        "..",
        ".",
        "",
    ];
    let ways = [
        "",
        "../",
        "../../",
        "../../../../../../",
        "..%2f",
        "..%2f..%2f",
        "%2e%2e/",
        "%2e%2e%2f%2e%2e%2f",
        "..%5c",
        "..\\",
        "....//",
        "..;/",
        "/",
        "//",
        "%00",
        "%2f",
        "%252e%252e%252f",
        "file:///",
        "assets/",
        "assets/../",
    ];
    let mut tries = 0;
    for from in ["/ui/", "/ui/assets/"] {
        for way in ways {
            for target in targets {
                let path = format!("{from}{way}{target}");
                if path == "/ui/" {
                    continue;
                }
                let status = status_of(&place, &path, "plover-7261");
                tries += 1;
                assert!([400, 404].contains(&status), "{path}: {status}");
            }
        }
    }
    assert!(tries > 400, "{tries}");
    for path in ["/ui/", "/ui/licences.txt", "/ui/assets/x.js"] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let answer = admin.send(method, path, &[], b"x".to_vec());
            assert!(matches!(answer.status, 404 | 405), "{method} {path}: {}", answer.status);
        }
    }
    place.stop();
}

/// The status of a request whose path is sent byte for byte; clients would tidy it up.
fn status_of(place: &Place, path: &str, secret: &str) -> u16 {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(place.address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains(secret), "{path}: {answer}");
    answer[9..12].parse().unwrap()
}

#[test]
fn the_files_are_everybodys_and_data_is_not() {
    let place = Place::new();
    place.client().put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let before = place.client().get("/ui/").body;
    place.key("default", &[Scope::Read]);
    let open = place.client();
    assert!(open.get("/ui/").body == before, "the page does not know who asks");
    assert!(open.with_key("nonsense").get("/ui/").body == before);
    open.get("/v1/collections").fails(401, "unauthenticated");
    open.get("/v1/caller").fails(401, "unauthenticated");
    place.stop();
}

#[test]
fn a_server_that_invited_nobody_takes_no_code() {
    let place = Place::new();
    let ask = |code: &str| place.client().post("/ui/session", json!({"code": code}));
    for code in ["", "0", &"0".repeat(64)] {
        ask(code).fails(404, "not_found");
    }
    place.stop();
}
