//! The HTTP embedder against a server on this machine: what it sends, what it accepts, what it retries, what it refuses.

mod loopback;

use std::time::Duration;

use loopback::{Reply, Server, embeddings};
use nuthatch_embed::{EmbedError, Embedder, HttpEmbedder, HttpOptions};

fn options(server: &Server) -> HttpOptions {
    HttpOptions {
        dim: Some(2),
        api_key: None,
        connect_timeout: Duration::from_secs(5),
        read_timeout: Duration::from_secs(20),
        ..HttpOptions::new(server.base_url(), "test-model")
    }
}

fn open(server: &Server) -> HttpEmbedder {
    HttpEmbedder::new(options(server)).unwrap()
}

/// The vector of a text, as the test's server computes it: its length, and 1.
fn lengths(request: &serde_json::Value) -> Reply {
    embeddings(request, |text| vec![text.len() as f32, 1.0])
}

#[test]
fn sends_batches_of_at_most_the_limit_and_keeps_the_order() {
    let server = Server::start(|_, request| lengths(request));
    let embedder = HttpEmbedder::new(HttpOptions { batch_items_max: 2, ..options(&server) }).unwrap();
    let vectors = embedder.embed_passages(&["a", "bb", "ccc", "dddd", "eeeee"]).unwrap();
    assert_eq!(vectors, [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0], [5.0, 1.0]]);
    let sizes: Vec<usize> = server.requests().iter().map(|r| r.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [2, 2, 1]);
    assert!(embedder.embed_passages(&[]).unwrap().is_empty());
    assert_eq!(server.requests().len(), 3, "an empty batch asks nothing");
}

#[test]
fn sends_the_model_the_float_format_and_the_key() {
    let server = Server::start(|_, request| lengths(request));
    let embedder = HttpEmbedder::new(HttpOptions { api_key: Some("s3cret".into()), ..options(&server) }).unwrap();
    embedder.embed_query("x").unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/embeddings HTTP/1.1");
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["encoding_format"], "float");
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert!(!format!("{:?}", HttpOptions { api_key: Some("s3cret".into()), ..options(&server) }).contains("s3cret"));
}

#[test]
fn puts_prefixes_before_passages_and_questions() {
    let server = Server::start(|_, request| lengths(request));
    let with_prefixes =
        HttpOptions { passage_prefix: "passage: ".into(), query_prefix: "query: ".into(), ..options(&server) };
    let embedder = HttpEmbedder::new(with_prefixes).unwrap();
    embedder.embed_passages(&["p"]).unwrap();
    embedder.embed_query("q").unwrap();
    let inputs: Vec<_> = server.requests().iter().map(|r| r.body["input"][0].clone()).collect();
    assert_eq!(inputs, ["passage: p", "query: q"]);
    assert_ne!(embedder.fingerprint(), open(&server).fingerprint(), "prefixes are part of the mapping");
}

#[test]
fn orders_vectors_by_index_when_they_come_shuffled() {
    let server =
        Server::start(|_, _| Reply::ok(r#"{"data":[{"index":1,"embedding":[2,2]},{"index":0,"embedding":[1,1]}]}"#));
    assert_eq!(open(&server).embed_passages(&["a", "b"]).unwrap(), [[1.0, 1.0], [2.0, 2.0]]);
}

#[test]
fn learns_the_dimension_by_asking_once() {
    let server = Server::start(|_, request| embeddings(request, |_| vec![0.5; 7]));
    let embedder = HttpEmbedder::new(HttpOptions { dim: None, ..options(&server) }).unwrap();
    assert_eq!((embedder.dim(), server.requests().len()), (7, 1));
    assert_eq!(embedder.fingerprint(), "openai:test-model:7", "the host is not in it");
}

#[test]
fn tries_again_after_429_and_503_until_it_succeeds() {
    let server = Server::start(|number, request| match number {
        0 => Reply::status(429, "slow down").with_header("Retry-After: 0"),
        1 => Reply::status(503, "starting"),
        _ => lengths(request),
    });
    assert_eq!(open(&server).embed_query("abc").unwrap(), [3.0, 1.0]);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn gives_up_after_the_last_retry_with_status_and_body() {
    let server = Server::start(|_, _| Reply::status(503, "model is loading"));
    let embedder = HttpEmbedder::new(HttpOptions { retries_max: 1, ..options(&server) }).unwrap();
    let error = embedder.embed_query("x").unwrap_err();
    assert!(matches!(error, EmbedError::Http { status: 503, attempts: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("model is loading") && error.is_transient(), "{error}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn does_not_wait_longer_than_the_caller_allows() {
    let server = Server::start(|_, _| Reply::status(429, "quota").with_header("Retry-After: 3600"));
    let error = open(&server).embed_query("x").unwrap_err();
    assert!(matches!(error, EmbedError::Http { status: 429, attempts: 1, .. }), "{error:?}");
}

#[test]
fn does_not_repeat_a_request_that_was_refused() {
    let server = Server::start(|_, _| Reply::status(401, r#"{"error":{"message":"bad key"}}"#));
    let error = open(&server).embed_query("x").unwrap_err();
    assert!(error.to_string().contains("401") && error.to_string().contains("bad key"), "{error}");
    assert!(!error.is_transient());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn does_not_follow_a_redirect() {
    let elsewhere = Server::start(|_, request| lengths(request));
    let location = format!("Location: {}/embeddings", elsewhere.base_url());
    let server = Server::start(move |_, _| Reply::status(307, "moved").with_header(&location));
    let error = open(&server).embed_query("x").unwrap_err();
    assert!(matches!(error, EmbedError::Http { status: 307, .. }), "{error:?}");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_server_that_never_answers_is_a_time_out() {
    let server = Server::start(|_, _| Reply::silence());
    let impatient = HttpOptions { read_timeout: Duration::from_millis(50), retries_max: 1, ..options(&server) };
    let error = HttpEmbedder::new(impatient).unwrap().embed_query("x").unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable { attempts: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("timeout") && error.is_transient(), "{error}");
}

#[test]
fn a_connection_cut_in_the_middle_of_an_answer_is_tried_again() {
    let server = Server::start(|number, request| if number == 0 { Reply::cut_short() } else { lengths(request) });
    assert_eq!(open(&server).embed_query("ab").unwrap(), [2.0, 1.0]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn nobody_listening_is_said_with_the_address() {
    let base_url = loopback::address_without_listener();
    let options = HttpOptions { dim: Some(2), retries_max: 0, ..HttpOptions::new(base_url.clone(), "m") };
    let error = HttpEmbedder::new(options).unwrap().embed_query("x").unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable { attempts: 1, .. }), "{error:?}");
    assert!(error.to_string().contains(&base_url), "{error}");
}

#[test]
fn refuses_another_dimension_garbage_and_infinities() {
    let refusal =
        |reply: &'static str| open(&Server::start(move |_, _| Reply::ok(reply))).embed_query("x").unwrap_err();
    let wrong = refusal(r#"{"data":[{"index":0,"embedding":[1,2,3]}]}"#);
    assert!(matches!(wrong, EmbedError::WrongDimension { expected: 2, found: 3, .. }), "{wrong:?}");
    for (reply, hint) in [
        ("<html>hello</html>", "<html>hello</html>"),
        (r#"{"data":[{"index":0,"embedding":[1,NaN]}]}"#, "not a list of embeddings"),
        (r#"{"data":[]}"#, "0 embedding(s) for 1 text(s)"),
        ("", "(empty body)"),
    ] {
        let error = refusal(reply);
        assert!(matches!(error, EmbedError::Response { .. }) && error.to_string().contains(hint), "{reply}: {error}");
    }
    // Too large for f32, though a fine JSON number.
    let infinite = refusal(r#"{"data":[{"index":0,"embedding":[1,1e300]}]}"#);
    assert!(matches!(infinite, EmbedError::Response { .. }), "{infinite:?}");
    assert!(infinite.to_string().contains("out of range"), "{infinite}");
}

#[test]
fn an_empty_text_is_sent_as_a_space() {
    let server = Server::start(|_, request| lengths(request));
    open(&server).embed_query("").unwrap();
    assert_eq!(server.requests()[0].body["input"][0], " ");
}

#[test]
fn options_that_cannot_work_are_refused_before_anything_is_sent() {
    let refused = |options: HttpOptions| matches!(HttpEmbedder::new(options), Err(EmbedError::Config { .. }));
    let good = || HttpOptions { dim: Some(2), ..HttpOptions::new("http://localhost:1/v1", "m") };
    assert!(!refused(good()));
    assert!(refused(HttpOptions { base_url: "localhost:11434".into(), ..good() }));
    assert!(refused(HttpOptions { base_url: "http://exa mple/v1".into(), ..good() }));
    assert!(refused(HttpOptions { model: String::new(), ..good() }));
    assert!(refused(HttpOptions { batch_items_max: 0, ..good() }));
    assert!(refused(HttpOptions { dim: Some(0), ..good() }));
    assert!(refused(HttpOptions { api_key: Some("two\nlines".into()), ..good() }));
}
