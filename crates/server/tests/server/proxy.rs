//! The caching proxy, before a provider in this process.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;

use flate2::Compression;
use flate2::write::GzEncoder;
use nuthatch_server::config::{Layers, ProxyConfig, TlsFiles};
use nuthatch_server::{Config, Scope, Server, TENANT_DEFAULT};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::place::Place;
use crate::provider::{self, Piece, Provider, Said, usual};

const CHAT: &str = "/v1/chat/completions";
const SECRET: &str = "sk-a-secret-of-the-provider-0123456789";

/// The settings of a proxy before that provider.
fn config(provider: &Provider, more: &[(&'static str, &str)]) -> Option<ProxyConfig> {
    let upstream = format!("http://{}/v1", provider.address);
    let layers = Layers::default().flag("cache_upstream", upstream).flag("cache_listen", "127.0.0.1:0");
    let layers = more.iter().fold(layers, |layers, (key, value)| layers.flag(key, *value));
    Config::resolve(&layers).unwrap().proxy
}

fn place(provider: &Provider, more: &[(&'static str, &str)]) -> Place {
    let proxy = config(provider, more);
    Place::with(|config| config.proxy = proxy)
}

fn client(place: &Place) -> Client {
    Client::new(format!("http://{}", place.proxy.unwrap()))
}

fn chat(text: &str) -> Value {
    json!({ "model": "gpt", "messages": [{ "role": "user", "content": text }] })
}

fn with(mut request: Value, name: &str, value: Value) -> Value {
    request[name] = value;
    request
}

fn ask(client: &Client, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut all = vec![("content-type", "application/json"), ("authorization", SECRET)];
    all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
    all.extend_from_slice(headers);
    client.send("POST", path, &all, body.to_string().into_bytes())
}

/// As the requests of [`open`].
fn ask_without_key(client: &Client, body: &Value) -> Answer {
    client.send("POST", CHAT, &[("content-type", "application/json")], body.to_string().into_bytes())
}

fn entries(place: &Place) -> u64 {
    let stats = place.client().get("/v1/caches/default/stats");
    if stats.status == 404 { 0 } else { stats.is(200)["entries"].as_u64().unwrap() }
}

#[track_caller]
fn said(answer: &Answer, word: &str, name: &str, value: &str) {
    assert_eq!(answer.header("x-nuthatch-cache"), Some(word), "{answer:?}");
    assert_eq!(answer.header(&format!("x-nuthatch-cache-{name}")), Some(value), "{answer:?}");
}

/// For each API: its path, a question without and with a stream, and the stream.
fn apis() -> Vec<(&'static str, Value, Vec<u8>)> {
    let text = "Names to numbers.";
    let message =
        json!({ "model": "claude", "max_tokens": 9, "messages": [{ "role": "user", "content": "What is DNS?" }] });
    let response = json!({ "model": "gpt", "input": "What is DNS?", "store": false });
    vec![
        (CHAT, chat("What is DNS?"), provider::chat_events(text).concat()),
        ("/v1/messages", message, provider::messages_events(text).concat()),
        ("/v1/responses", response, provider::responses_events(text).concat()),
    ]
}

#[test]
fn a_question_is_asked_once_and_its_answer_comes_again_whole_and_as_a_stream() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    for (path, request, events) in apis() {
        let before = provider.asked();
        let first = ask(&client, path, &[], &request);
        said(&first, "MISS", "stored", "yes");
        let again = ask(&client, path, &[], &request);
        said(&again, "HIT", "tier", "exact");
        assert_eq!(first.is(200), again.is(200));
        let streamed = ask(&client, path, &[], &with(request.clone(), "stream", json!(true)));
        said(&streamed, "HIT", "tier", "exact");
        assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
        assert!(streamed.text().contains("Names to numbers."), "{path}");
        assert_eq!(provider.asked(), before + 1, "{path}");
        // The other way round: a stream is stored, and serves a caller that does not want one.
        let other: Value = serde_json::from_str(&request.to_string().replace("DNS", "BGP")).unwrap();
        let streamed = ask(&client, path, &[], &with(other.clone(), "stream", json!(true)));
        said(&streamed, "MISS", "reason", "absent");
        assert_eq!(streamed.body, events, "as it came, byte for byte");
        let whole = ask(&client, path, &[], &other);
        said(&whole, "HIT", "tier", "exact");
        assert!(whole.text().contains("Names to numbers."));
    }
    place.stop();
}

#[test]
fn the_same_question_in_another_form_is_the_same() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    ask(&client, CHAT, &[], &chat("What is DNS?"));
    said(&ask(&client, CHAT, &[], &chat("what's  DNS")), "HIT", "tier", "canonical");
    for (name, value) in [("model", json!("other")), ("temperature", json!(0.5)), ("unknown_field", json!(1))] {
        said(&ask(&client, CHAT, &[], &with(chat("What is DNS?"), name, value)), "MISS", "reason", "absent");
    }
    let unknown = |text: &str| with(chat(text), "unknown_field", json!(1));
    said(&ask(&client, CHAT, &[], &unknown("What is DNS?")), "HIT", "tier", "exact");
    said(&ask(&client, CHAT, &[], &unknown("what is DNS")), "MISS", "reason", "absent");
    for (name, value) in [("user", json!("anna")), ("metadata", json!({ "a": 1 })), ("store", json!(true))] {
        said(&ask(&client, CHAT, &[], &with(chat("What is DNS?"), name, value)), "HIT", "tier", "exact");
    }
    place.stop();
}

#[test]
fn a_stream_reaches_the_client_before_it_ends() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let (go, wait) = channel();
    let mut wait = Some(wait);
    provider.says(move |_| {
        let events = provider::chat_events("Names to numbers.");
        let mut pieces: Vec<Piece> = events.into_iter().map(Piece::Bytes).collect();
        pieces.insert(2, Piece::After(wait.take().unwrap()));
        Said { pieces, ..Said::events(Vec::new()) }
    });
    let mut stream = open(&place, &with(chat("What is DNS?"), "stream", json!(true)));
    let mut some = Vec::new();
    while !String::from_utf8_lossy(&some).contains("Names") {
        let mut byte = [0; 1];
        stream.read_exact(&mut byte).unwrap();
        some.extend_from_slice(&byte);
    }
    assert_eq!(entries(&place), 0, "it has not ended");
    go.send(()).unwrap();
    stream.read_to_end(&mut some).unwrap();
    assert!(String::from_utf8_lossy(&some).contains("[DONE]"));
    assert_eq!(entries(&place), 1);
    place.stop();
}

/// A connection with a request for a chat completion on it.
fn open(place: &Place, request: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(place.proxy.unwrap()).unwrap();
    let body = request.to_string();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_never_stored() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    for (path, request, events) in apis() {
        let request = with(request, "stream", json!(true));
        let before = entries(&place);
        for is_cut in [true, false] {
            for end in (0..events.len()).step_by(if is_cut { 1 } else { 7 }) {
                let some = events[..end].to_vec();
                provider.says(move |_| Said { is_cut, ..Said::events(vec![some.clone()]) });
                let mut stream = TcpStream::connect(place.proxy.unwrap()).unwrap();
                let body = request.to_string();
                let length = body.len();
                let head = format!(
                    "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
                );
                stream.write_all((head + &body).as_bytes()).unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                assert_eq!(all.ends_with(b"0\r\n\r\n"), !is_cut, "{path} ended after {end} bytes");
            }
        }
        assert_eq!(entries(&place), before, "{path}");
        provider.says(|seen| usual(seen, "Names to numbers."));
        ask(&client, path, &[], &request);
        assert_eq!(entries(&place), before + 1, "{path}");
    }
    place.stop();
}

#[test]
fn a_client_that_goes_away_in_a_stream_leaves_nothing() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let (go, wait) = channel();
    let mut wait = Some(wait);
    provider.says(move |_| {
        let mut pieces: Vec<Piece> = provider::chat_events("Names to numbers.").into_iter().map(Piece::Bytes).collect();
        pieces.insert(3, Piece::After(wait.take().unwrap()));
        Said { pieces, ..Said::events(Vec::new()) }
    });
    let mut stream = open(&place, &with(chat("What is DNS?"), "stream", json!(true)));
    let mut some = [0; 400];
    stream.read_exact(&mut some).unwrap();
    drop(stream);
    // The proxy releases the request, and only then does the provider continue.
    let under_way = || place.client().get("/metrics").text().contains("nuthatch_http_requests_under_way 1\n");
    while !under_way() {
        std::thread::yield_now();
    }
    go.send(()).unwrap();
    provider.says(|seen| usual(seen, "Other."));
    said(&ask_without_key(&client(&place), &chat("What is DNS?")), "MISS", "reason", "absent");
    place.stop();
}

#[test]
fn the_same_questions_at_the_same_time_are_asked_once() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let go = held_up(&provider);
    let answers: Vec<Answer> = std::thread::scope(|threads| {
        let asking: Vec<_> = (0..24)
            .map(|at| {
                let client = client(&place);
                let request = with(chat("What is DNS?"), "stream", json!(at % 2 == 0));
                threads.spawn(move || ask(&client, CHAT, &[], &request))
            })
            .collect();
        wait_until_asked(&provider, 1);
        go.send(()).unwrap();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(provider.asked(), 1);
    assert!(answers.iter().all(|answer| answer.text().contains("numbers.")));
    let missed = answers.iter().filter(|answer| answer.header("x-nuthatch-cache") == Some("MISS")).count();
    assert_eq!(missed, 1);
    place.stop();
}

#[test]
fn those_who_waited_for_an_answer_that_is_not_kept_ask_by_themselves() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    provider.says(|_| Said { status: 429, ..Said::json(&json!({ "error": { "message": "slow down" } })) });
    std::thread::scope(|threads| {
        for _ in 0..8 {
            let client = client(&place);
            threads.spawn(move || {
                let answer = ask(&client, CHAT, &[], &chat("What is DNS?"));
                assert_eq!(answer.is(429)["error"]["message"], "slow down");
            });
        }
    });
    assert_eq!((provider.asked(), entries(&place)), (8, 0));
    place.stop();
}

/// A second server over the folder of the first.
fn beside(first: &Place, provider: &Provider) -> Place {
    let proxy = config(provider, &[]);
    let folder = first.folder.path().join("memory");
    Place::with(|config| (config.proxy, config.data_dir) = (proxy, Some(folder)))
}

/// Lets a provider answer its first request when the test says so.
fn held_up(provider: &Provider) -> std::sync::mpsc::Sender<()> {
    let (go, wait) = channel();
    let mut wait = Some(wait);
    provider.says(move |seen| {
        let Said { pieces, .. } = usual(seen, "Names to numbers.");
        let pieces = wait.take().map(Piece::After).into_iter().chain(pieces).collect();
        Said { pieces, ..usual(seen, "") }
    });
    go
}

fn wait_until_asked(provider: &Provider, times: usize) {
    while provider.asked() < times {
        std::thread::yield_now();
    }
}

/// Returns the cache's counts of misses and of requests that waited for another caller's answer.
fn missed_and_awaited(place: &Place) -> (u64, u64) {
    let counts = place.client().get("/v1/caches/default/stats").is(200)["counts"].clone();
    (counts["misses"].as_u64().unwrap(), counts["awaited"].as_u64().unwrap())
}

#[test]
fn servers_over_one_folder_ask_the_same_question_once() {
    let provider = Provider::new();
    let first = place(&provider, &[]);
    let second = beside(&first, &provider);
    let embed = json!({ "model": "e", "input": ["one", "two", "three"] });
    let asked = [(CHAT, chat("What is DNS?")), ("/v1/embeddings", embed)];
    for (path, request) in asked {
        let before = provider.asked();
        let go = held_up(&provider);
        let answers: Vec<Answer> = std::thread::scope(|threads| {
            let asking: Vec<_> = (0..24)
                .map(|at| {
                    let client = client([&first, &second][at % 2]);
                    let request = match path {
                        CHAT => with(request.clone(), "stream", json!(at % 4 < 2)),
                        _ => request.clone(),
                    };
                    threads.spawn(move || ask(&client, path, &[], &request))
                })
                .collect();
            wait_until_asked(&provider, before + 1);
            go.send(()).unwrap();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(provider.asked(), before + 1, "{path}");
        assert!(answers.iter().all(|answer| answer.status == 200));
        let missed = answers.iter().filter(|answer| answer.header("x-nuthatch-cache") == Some("MISS")).count();
        assert_eq!(missed, 1, "{path}");
        if path == CHAT {
            let (missed, awaited) = missed_and_awaited(&first);
            assert_eq!(missed - awaited, 1, "one miss led to an answer that was paid for");
        }
    }
    second.stop();
    first.stop();
}

#[test]
fn the_question_of_a_client_that_goes_away_passes_to_one_of_those_who_wait() {
    let provider = Provider::new();
    let first = place(&provider, &[]);
    let second = beside(&first, &provider);
    let (_never, wait) = channel();
    let mut wait = Some(wait);
    provider.says(move |seen| {
        let mut pieces: Vec<Piece> = provider::chat_events("Names to numbers.").into_iter().map(Piece::Bytes).collect();
        match wait.take() {
            Some(wait) => pieces.insert(3, Piece::After(wait)),
            None => return usual(seen, "Names to numbers."),
        }
        Said { pieces, ..Said::events(Vec::new()) }
    });
    let mut leaving = open(&first, &with(chat("What is DNS?"), "stream", json!(true)));
    leaving.read_exact(&mut [0; 400]).unwrap();
    std::thread::scope(|threads| {
        let asking: Vec<_> = (0..16)
            .map(|at| {
                let client = client([&first, &second][at % 2]);
                threads.spawn(move || ask_without_key(&client, &chat("What is DNS?")))
            })
            .collect();
        // All but the one that left have asked the cache, and wait.
        while missed_and_awaited(&first).0 < 17 {
            std::thread::yield_now();
        }
        assert_eq!(provider.asked(), 1);
        drop(leaving);
        for one in asking {
            assert_eq!(one.join().unwrap().status, 200);
        }
    });
    assert_eq!(provider.asked(), 2);
    second.stop();
    first.stop();
}

#[test]
fn requests_that_cannot_have_the_stored_answer_wait_for_one_that_they_can_have() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let streamed = with(chat("What is DNS?"), "stream", json!(true));
    ask(&client(&place), CHAT, &[], &streamed);
    let (go, wait) = channel();
    let mut wait = Some(wait);
    provider.says(move |_| {
        let usage = json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt", "choices": [], "usage": usage });
        let mut events = provider::chat_events("Names to numbers.");
        events.insert(events.len() - 1, format!("data: {chunk}\n\n").into_bytes());
        let pieces = wait.take().map(Piece::After).into_iter().chain(events.into_iter().map(Piece::Bytes)).collect();
        Said { pieces, ..Said::events(Vec::new()) }
    });
    let wanted = with(streamed, "stream_options", json!({ "include_usage": true }));
    let answers: Vec<Answer> = std::thread::scope(|threads| {
        let asking: Vec<_> = (0..8)
            .map(|_| {
                let (client, wanted) = (client(&place), &wanted);
                threads.spawn(move || ask(&client, CHAT, &[], wanted))
            })
            .collect();
        wait_until_asked(&provider, 2);
        go.send(()).unwrap();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(provider.asked(), 2);
    assert!(answers.iter().all(|answer| answer.text().contains("\"total_tokens\":7")), "{answers:?}");
    place.stop();
}

#[test]
fn what_no_cache_answers_goes_to_the_provider_as_it_is() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    let image = json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "data:," } }] }]);
    for (path, request, why) in [
        (CHAT, with(chat("a"), "n", json!(2)), "several answers"),
        (CHAT, with(chat("a"), "logprobs", json!(true)), "logprobs"),
        (CHAT, with(chat("a"), "temperature", json!(1.5)), "temperature"),
        (CHAT, with(chat("a"), "messages", image), "media"),
        (CHAT, json!("no object"), "unreadable"),
        ("/v1/responses", json!({ "model": "m", "input": "a" }), "stored at the provider"),
        ("/v1/embeddings", json!({ "model": "m" }), "unreadable"),
    ] {
        for _ in 0..2 {
            said(&ask(&client, path, &[], &request), "BYPASS", "reason", why);
        }
        assert_eq!(provider.seen().last().unwrap().json(), request);
    }
    said(&ask(&client, CHAT, &[("x-nuthatch-cache", "off")], &chat("a")), "BYPASS", "reason", "off");
    let odd = client.send("POST", CHAT, &[("content-encoding", "gzip")], chat("a").to_string().into_bytes());
    said(&odd, "BYPASS", "reason", "unreadable");
    assert_eq!((provider.asked(), entries(&place)), (16, 0));
    place.stop();
}

#[test]
fn answers_that_are_not_to_be_kept_reach_the_client_and_are_not_stored() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    let changed = |path: &str, value: Value| {
        let mut body = provider::chat("Names.");
        *body.pointer_mut(path).unwrap() = value;
        body
    };
    let long = "x".repeat(5 << 20);
    for (body, why) in [
        (changed("/choices/0/finish_reason", json!("length")), "unfinished"),
        (changed("/choices/0/message/refusal", json!("I cannot.")), "refusal"),
        (changed("/choices/0/message/content", json!(" ")), "empty"),
        (changed("/choices", json!([])), "choices"),
        (changed("/choices/0/message/content", json!(long)), "too large"),
        (json!([1]), "unreadable"),
    ] {
        let says = body.clone();
        provider.says(move |_| Said::json(&says));
        let answer = ask(&client, CHAT, &[], &chat("What is DNS?"));
        said(&answer, "MISS", "stored", why);
        assert_eq!(answer.is(200), body);
    }
    let as_json = with(chat("What is DNS?"), "response_format", json!({ "type": "json_object" }));
    provider.says(|seen| usual(seen, "{ broken"));
    said(&ask(&client, CHAT, &[], &as_json), "MISS", "stored", "broken");
    provider.says(|_| Said { status: 201, ..Said::json(&provider::chat("Names.")) });
    said(&ask(&client, CHAT, &[], &chat("What is DNS?")), "MISS", "stored", "unreadable");
    assert_eq!(entries(&place), 0);
    place.stop();
}

#[test]
fn failures_of_the_provider_pass_and_are_not_stored() {
    let provider = Provider::new();
    let place = place(&provider, &[("cache_timeout", "200ms")]);
    let client = client(&place);
    provider.says(|_| Said {
        status: 529,
        headers: vec![
            ("retry-after", "7".into()),
            ("x-request-id", "req-9".into()),
            ("content-type", "application/json".into()),
        ],
        ..Said::json(&json!({ "error": { "message": "overloaded" } }))
    });
    let answer = ask(&client, CHAT, &[], &chat("a"));
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.header("x-request-id")),
        (529, Some("7"), Some("req-9"))
    );
    said(&answer, "MISS", "stored", "status");
    for is_stream in [false, true] {
        let (never, wait) = channel::<()>();
        let mut wait = Some(wait);
        provider.says(move |_| Said { pieces: vec![Piece::After(wait.take().unwrap())], ..Said::json(&Value::Null) });
        let late = ask(&client, CHAT, &[], &with(chat("a"), "stream", json!(is_stream)));
        assert!(late.is(504)["error"]["message"].as_str().unwrap().contains("ended early"));
        drop(never);
    }
    provider.says(|_| Said { is_cut: true, ..Said::json(&provider::chat("Names.")) });
    assert!(ask(&client, CHAT, &[], &chat("a")).is(502)["error"]["message"].as_str().unwrap().contains("ended early"));
    assert_eq!(entries(&place), 0);
    place.stop();
}

#[test]
fn a_provider_that_is_not_there_is_named_and_its_key_is_not() {
    let provider = Provider::saying(|_| panic!("nobody comes here"));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = format!("http://{nobody}");
    let place = place(&provider, &[("cache_upstream", &upstream)]);
    let answer = ask(&client(&place), "/v1/messages", &[], &json!({ "messages": [] }));
    let said = answer.is(502);
    assert_eq!(said["type"], "error", "in the words of the API");
    assert!(said["error"]["message"].as_str().unwrap().contains("127.0.0.1") && !answer.text().contains(SECRET));
    place.stop();
}

#[test]
fn other_paths_pass_untouched() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    provider.says(|_| Said {
        status: 207,
        headers: vec![
            ("x-odd", "1".into()),
            ("content-type", "application/octet-stream".into()),
            ("x-request-id", "r".into()),
        ],
        ..Said::of("", vec![vec![0, 1, 2, 255], vec![7; 100_000]])
    });
    for (method, path) in
        [("GET", "/v1/models?a=b%20c&a"), ("DELETE", "/v1/files/x%2Fy"), ("PUT", "/v1/collections/notes")]
    {
        let headers =
            [("authorization", SECRET), ("accept-encoding", "br"), ("x-mine", "2"), ("x-nuthatch-key", "mine")];
        let body = if method == "PUT" { vec![9; 300_000] } else { Vec::new() };
        let answer = client.send(method, path, &headers, body.clone());
        assert_eq!((answer.status, answer.header("x-odd"), answer.header("x-request-id")), (207, Some("1"), Some("r")));
        assert_eq!(answer.body, [vec![0, 1, 2, 255], vec![7; 100_000]].concat());
        assert_eq!((answer.header("x-nuthatch-cache"), answer.header("cache-status")), (None, None));
        let seen = provider.seen().pop().unwrap();
        assert_eq!((seen.method.as_str(), seen.path.as_str(), &seen.body), (method, path, &body));
        assert_eq!(seen.header("authorization"), Some(SECRET));
        assert_eq!((seen.header("x-mine"), seen.header("accept-encoding")), (Some("2"), Some("br")));
        assert_eq!(seen.header("x-nuthatch-key"), None, "our own key is for us");
        assert_eq!(seen.header("host"), Some(provider.address.to_string().as_str()));
    }
    assert_eq!(client.get("/nuthatch/readyz").status, 200);
    place.stop();
}

#[test]
fn compressed_answers_are_read_and_sent_on_plain() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    let events = provider::chat_events("Names to numbers.").concat();
    for (text, plain, kind) in [
        ("one", provider::chat("Names.").to_string().into_bytes(), "application/json"),
        ("two", events.clone(), "text/event-stream"),
    ] {
        let packed = gzip(&plain);
        provider.says(move |_| {
            let said = Said::of(kind, packed.chunks(7).map(<[u8]>::to_vec).collect());
            Said { headers: vec![("content-type", kind.into()), ("content-encoding", "gzip".into())], ..said }
        });
        let answer = ask(&client, CHAT, &[], &with(chat(text), "stream", json!(kind != "application/json")));
        assert_eq!((answer.header("content-encoding"), &answer.body), (None, &plain), "{text}");
        said(&ask(&client, CHAT, &[], &chat(text)), "HIT", "tier", "exact");
    }
    assert_eq!(provider.seen()[0].header("accept-encoding"), Some("identity"));
    // Cut off, whatever the cut leaves readable.
    let packed = gzip(&events);
    for end in 1..packed.len() - 8 {
        let some = packed[..end].to_vec();
        provider.says(move |_| {
            let headers = vec![("content-type", "text/event-stream".into()), ("content-encoding", "gzip".into())];
            Said { headers, is_cut: true, ..Said::events(vec![some.clone()]) }
        });
        let mut stream = open(&place, &with(chat("three"), "stream", json!(true)));
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    provider.says(|seen| usual(seen, "Another."));
    let found = ask_without_key(&client, &chat("three")).is(200);
    let text = &found["choices"][0]["message"]["content"];
    assert!(text == "Another." || text == "Names to numbers.", "all of it or nothing: {text}");
    // An encoding that is not known passes as it is.
    provider.says(|_| {
        let headers = vec![("content-type", "application/json".into()), ("content-encoding", "zz".into())];
        Said { headers, ..Said::json(&provider::chat("Names.")) }
    });
    let answer = ask(&client, CHAT, &[], &chat("four"));
    said(&answer, "MISS", "stored", "unreadable");
    assert_eq!(answer.header("content-encoding"), Some("zz"));
    place.stop();
}

#[test]
fn callers_share_answers_only_where_they_are_told_to() {
    let provider = Provider::new();
    let asked = |identity: &str, headers: [&[(&str, &str)]; 2], users: [&str; 2]| {
        let place = place(&provider, &[("cache_identity", identity)]);
        let before = provider.asked();
        for (headers, user) in headers.into_iter().zip(users) {
            ask(&client(&place), CHAT, headers, &with(chat("What is DNS?"), "user", json!(user)));
        }
        place.stop();
        provider.asked() - before
    };
    let [anna, ben]: [&[(&str, &str)]; 2] = [&[("authorization", "Bearer anna")], &[("authorization", "Bearer ben")]];
    assert_eq!(asked("key", [anna, anna], ["a", "b"]), 1);
    assert_eq!(asked("key", [anna, ben], ["a", "a"]), 2);
    assert_eq!(asked("key", [&[("x-api-key", "1")], &[("x-api-key", "2")]], ["a", "a"]), 2);
    assert_eq!(asked("key", [&[("openai-project", "1")], &[("openai-project", "2")]], ["a", "a"]), 2);
    assert_eq!(asked("user", [anna, ben], ["a", "a"]), 1);
    assert_eq!(asked("user", [anna, anna], ["a", "b"]), 2);
    assert_eq!(asked("header:x-team", [&[("x-team", "1")], &[("x-team", "2")]], ["a", "a"]), 2);
    assert_eq!(asked("header:x-team,key", [anna, ben], ["a", "a"]), 2);
    assert_eq!(asked("none", [anna, ben], ["a", "b"]), 1);
}

#[test]
fn a_request_says_what_the_cache_may_do() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    let with_header = |name: &str, value: &str| ask(&client, CHAT, &[(name, value)], &chat("What is DNS?"));
    let nothing = with_header("cache-control", "only-if-cached");
    assert_eq!((nothing.status, nothing.header("x-should-retry")), (504, Some("false")));
    said(&with_header("cache-control", "no-store"), "MISS", "stored", "no-store");
    assert_eq!(entries(&place), 0);
    let first = with_header("x-nuthatch-tags", "help, more");
    said(&first, "MISS", "stored", "yes");
    assert_eq!(first.header("cache-status"), Some("nuthatch; fwd=miss; stored; detail=\"absent\""));
    assert_eq!(provider.seen().last().unwrap().header("x-nuthatch-tags"), None);
    let hit = with_header("cache-control", "only-if-cached, max-age=3600");
    said(&hit, "HIT", "tier", "exact");
    assert_eq!((hit.header("cache-status"), hit.header("age")), (Some("nuthatch; hit; detail=exact"), Some("0")));
    assert_eq!((hit.header("x-cache"), hit.header("x-nuthatch-cache-entry").is_some()), (Some("HIT"), true));
    said(&with_header("cache-control", "max-age=0"), "MISS", "reason", "too old");
    said(&with_header("cache-control", "no-cache"), "MISS", "reason", "refresh");
    said(&with_header("x-nuthatch-cache", "refresh"), "MISS", "reason", "refresh");
    let shadow = with_header("x-nuthatch-cache", "shadow");
    said(&shadow, "MISS", "would", "exact");
    said(&with_header("x-nuthatch-scope", "team=red"), "MISS", "reason", "absent");
    said(&with_header("x-nuthatch-scope", "team=red"), "HIT", "tier", "exact");
    assert!(
        with_header("x-nuthatch-scope", "caller=x").is(400)["error"]["message"].as_str().unwrap().contains("caller")
    );
    assert!(with_header("x-nuthatch-cache", "maybe").is(400)["error"]["message"].as_str().unwrap().contains("shadow"));
    let portkey = with_header("x-portkey-cache-namespace", "n");
    assert_eq!(portkey.header("x-portkey-cache-status"), Some("MISS"));
    let helicone = with_header("helicone-cache-enabled", "true");
    assert_eq!((helicone.header("helicone-cache"), helicone.header("cf-aig-cache-status")), (Some("HIT"), None));
    said(&with_header("cf-aig-skip-cache", "true"), "BYPASS", "reason", "off");
    let litellm = with(chat("What is DNS?"), "cache", json!({ "no-cache": true }));
    said(&ask(&client, CHAT, &[], &litellm), "MISS", "reason", "refresh");
    assert_eq!(provider.seen().last().unwrap().json(), chat("What is DNS?"), "the provider would refuse it");
    let removed = place.client().post("/v1/caches/default/invalidate", json!({ "tag": "help" })).is(200);
    assert_eq!(removed["removed"], 0, "the refreshed answer has no tags");
    place.stop();
}

#[test]
fn an_answer_falls_with_the_records_that_it_was_made_from() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let (client, api) = (client(&place), place.client());
    api.put("/v1/collections/notes", json!({ "embedder": "none" }));
    let store =
        |text: &str| api.post("/v1/collections/notes/records", json!({ "records": [{ "id": "a,1", "text": text }] }));
    store("The door code is 1234").is(200);
    let with_source = || ask(&client, CHAT, &[("x-nuthatch-sources", "notes/a%2C1")], &chat("What is the door code?"));
    said(&with_source(), "MISS", "stored", "yes");
    said(&with_source(), "HIT", "tier", "exact");
    store("The door code is 5678").is(200);
    said(&with_source(), "MISS", "reason", "stale");
    place.stop();
}

#[test]
fn embeddings_are_asked_for_one_by_one_and_come_back_in_their_order() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    let path = "/v1/embeddings";
    let request = |input: Value| json!({ "model": "e", "input": input });
    let all = ask(&client, path, &[], &request(json!(["one", "three"])));
    said(&all, "MISS", "stored", "yes");
    let again = ask(&client, path, &[], &request(json!(["one", "three"])));
    said(&again, "HIT", "tier", "exact");
    assert_eq!(all.is(200), again.is(200));
    let some = ask(&client, path, &[], &request(json!(["three", "eleven", "one", "a"])));
    said(&some, "MISS", "reason", "partly");
    assert_eq!(provider.seen().last().unwrap().json()["input"], json!(["eleven", "a"]));
    let found = some.is(200);
    let lengths: Vec<&Value> = found["data"].as_array().unwrap().iter().map(|item| &item["embedding"][0]).collect();
    assert_eq!(lengths, [7, 8, 5, 3]);
    assert_eq!(found["data"][3]["index"], 3);
    said(&ask(&client, path, &[], &request(json!("a"))), "HIT", "tier", "exact");
    let other = with(request(json!("a")), "dimensions", json!(2));
    said(&ask(&client, path, &[], &other), "MISS", "reason", "absent");
    provider.says(|_| Said::json(&provider::embeddings(&json!(["x", "y", "z"]))));
    said(&ask(&client, path, &[], &request(json!("new"))), "MISS", "stored", "unreadable");
    assert_eq!(
        ask(&client, path, &[], &request(json!(["a", "new"]))).status,
        502,
        "no vector is given to the wrong text"
    );
    place.stop();
}

#[test]
fn bodies_are_bounded_and_long_streams_pass_without_being_kept() {
    let provider = Provider::new();
    let proxy = config(&provider, &[]);
    let place = Place::with(|config| {
        config.proxy = proxy;
        config.body_max_bytes = 2000;
        config.bodies_memory_bytes = 20_000;
    });
    let client = client(&place);
    assert!(ask(&client, CHAT, &[], &chat(&"x".repeat(3000))).is(413)["error"]["message"].is_string());
    let text = "word ".repeat(3000);
    let (one, other) = (text.clone(), text.clone());
    provider.says(move |seen| usual(seen, &one));
    let answer = ask(&client, CHAT, &[], &with(chat("a"), "stream", json!(true)));
    assert_eq!(answer.body, provider::chat_events(&other).concat(), "memory is short, and the answer is whole");
    let whole = ask(&client, CHAT, &[], &chat("b"));
    assert_eq!(whole.is(200), provider::chat(&text), "15 KB fit");
    assert_eq!(entries(&place), 1);
    provider.says(|seen| usual(seen, &"word ".repeat(6000)));
    let long = ask(&client, CHAT, &[], &chat("c"));
    said(&long, "MISS", "stored", "too large");
    assert_eq!(long.is(200), provider::chat(&"word ".repeat(6000)));
    place.stop();
}

#[test]
fn keys_of_the_provider_are_in_no_file() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    let client = client(&place);
    for (path, request, _) in apis() {
        ask(&client, path, &[], &request);
        ask(&client, path, &[("x-api-key", SECRET), ("cookie", SECRET)], &with(request, "stream", json!(true)));
    }
    assert_eq!(provider.seen()[0].header("authorization"), Some(SECRET));
    let folder = place.stop();
    let mut folders = vec![folder.path().to_path_buf()];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if let Ok(bytes) = std::fs::read(entry.path()) {
                files += 1;
                let found = bytes.windows(12).any(|some| some == &SECRET.as_bytes()[..12]);
                assert!(!found, "{}", entry.path().display());
            }
        }
    }
    assert!(files > 3);
}

#[test]
fn with_keys_of_our_own_each_tenant_has_its_own_answers() {
    let provider = Provider::new();
    let place = place(&provider, &[("cache_identity", "none")]);
    place.client().put("/v1/tenants/acme", json!({})).is(201);
    let ours = place.key(TENANT_DEFAULT, &[Scope::Read, Scope::Write]);
    let theirs = place.key("acme", &[Scope::Read, Scope::Write]);
    let reader = place.key(TENANT_DEFAULT, &[Scope::Read]);
    let client = client(&place);
    let with_key = |key: &str| ask(&client, CHAT, &[("x-nuthatch-key", key)], &chat("What is DNS?"));
    assert_eq!((ask(&client, CHAT, &[], &chat("a")).status, with_key("nobody").status), (401, 401));
    assert_eq!(client.get("/v1/models").status, 401, "other paths want a key, too");
    assert_eq!(with_key(&reader).status, 403);
    assert_eq!(provider.asked(), 0);
    for key in [&ours, &theirs] {
        said(&with_key(key), "MISS", "stored", "yes");
        said(&with_key(key), "HIT", "tier", "exact");
    }
    let seen = provider.seen();
    assert!(
        seen.iter().all(|seen| seen.header("x-nuthatch-key").is_none() && seen.header("authorization") == Some(SECRET))
    );
    place.stop();
}

#[test]
fn with_a_key_for_the_provider_clients_send_ours_in_the_usual_place() {
    let provider = Provider::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{SECRET}\n")).unwrap();
    let place = place(&provider, &[("cache_upstream_key", file.path().to_str().unwrap())]);
    let ours = place.key(TENANT_DEFAULT, &[Scope::Read, Scope::Write]);
    let client = client(&place);
    let bearer = format!("Bearer {ours}");
    said(&ask(&client, CHAT, &[("authorization", &bearer)], &chat("What is DNS?")), "MISS", "stored", "yes");
    let seen = provider.seen().pop().unwrap();
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(seen.header("x-api-key"), Some(SECRET));
    let message = json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "Hi" }] });
    let answer = client.send("POST", "/v1/messages", &[("x-api-key", &ours)], message.to_string().into_bytes());
    said(&answer, "MISS", "stored", "yes");
    assert_eq!(ask(&client, CHAT, &[("authorization", "Bearer wrong")], &chat("a")).status, 401);
    place.stop();
}

#[test]
fn pages_of_other_sites_are_refused() {
    let provider = Provider::new();
    let place = place(&provider, &[]);
    for header in [("origin", "https://example.org"), ("host", "example.org")] {
        assert_eq!(ask(&client(&place), CHAT, &[header], &chat("a")).status, 403);
    }
    assert_eq!(provider.asked(), 0);
    place.stop();
}

#[test]
fn answers_by_tier_and_what_they_saved_are_counted() {
    let provider = Provider::new();
    let place = place(&provider, &[("cache_prices", "gpt-4o=2.5/10/1.25")]);
    let client = client(&place);
    ask(&client, CHAT, &[], &chat("What is DNS?"));
    let hit = ask(&client, CHAT, &[], &chat("what is DNS"));
    // 800 tokens at 2.5, 200 that the provider had cached at 1.25, 500 of the answer at 10, per million.
    assert_eq!(hit.header("x-nuthatch-cache-saved-usd"), Some("0.00725000"));
    ask(&client, CHAT, &[], &with(chat("a"), "n", json!(2)));
    for text in [place.client().get("/metrics"), client.get("/nuthatch/metrics")].iter().map(Answer::text) {
        for line in [
            "nuthatch_cache_proxy_requests_total{api=\"chat\",outcome=\"hit\",detail=\"canonical\"} 1",
            "nuthatch_cache_proxy_requests_total{api=\"chat\",outcome=\"miss\",detail=\"absent\"} 1",
            "nuthatch_cache_proxy_requests_total{api=\"chat\",outcome=\"bypass\",detail=\"several answers\"} 1",
            "nuthatch_cache_proxy_answers_total{api=\"chat\",result=\"yes\"} 1",
            "nuthatch_cache_proxy_tokens_saved_total{api=\"chat\",kind=\"input\"} 1000",
            "nuthatch_cache_proxy_saved_usd_total 0.00725",
            // Metrics of the provider's answers; the answer to a request that bypasses the cache is not inspected.
            "gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",error_type=\"\"} 1",
            "gen_ai_client_token_usage_sum{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_token_type=\"input\"} 1000.0",
            "gen_ai_client_token_usage_sum{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_token_type=\"output\"} 500.0",
            "nuthatch_cache_hits{cache=\"default\",tier=\"canonical\"} 1.0",
            "nuthatch_cache_saved_usd{cache=\"default\"} 0.00725",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
    provider.says(|_| Said { status: 429, ..Said::json(&json!({ "error": { "message": "slow down" } })) });
    ask(&client, CHAT, &[], &chat("b"));
    let text = client.get("/nuthatch/metrics");
    let failed = "gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",error_type=\"429\"} 1";
    assert!(text.text().contains(failed), "{text:?}");
    let stats = client.get("/nuthatch/stats").is(200);
    assert_eq!((&stats["saved"]["tokens"], &stats["cache"]["counts"]["canonical"]), (&json!(1500), &json!(1)));
    place.stop();
}

#[test]
fn dollars_are_added_up_without_rounding_errors() {
    let provider = Provider::new();
    let place = place(&provider, &[("cache_prices", "gpt-4o=2.5/10/1.25")]);
    let client = client(&place);
    for _ in 0..11 {
        ask(&client, CHAT, &[], &chat("What is DNS?"));
    }
    // Ten times 0.00725: as fractions, they add up to 0.07250000000000001.
    let metrics = client.get("/nuthatch/metrics");
    for line in
        ["nuthatch_cache_proxy_saved_usd_total 0.0725\n", "nuthatch_cache_saved_usd{cache=\"default\"} 0.0725\n"]
    {
        assert!(metrics.text().contains(line), "{line}\n{}", metrics.text());
    }
    place.stop();
}

#[test]
fn the_cache_is_set_as_the_configuration_says() {
    let provider = Provider::new();
    let place = place(&provider, &[("cache_ttl", "1h"), ("cache_max_entries", "2"), ("cache_mode", "shadow")]);
    let client = client(&place);
    for _ in 0..2 {
        ask(&client, CHAT, &[], &chat("What is DNS?"));
    }
    let stats = place.client().get("/v1/caches/default/stats").is(200);
    let settings = &stats["settings"];
    assert_eq!(
        (&settings["ttl"], &settings["max_entries"], &settings["mode"]),
        (&json!(3600.0), &json!(2), &json!("shadow"))
    );
    assert_eq!((provider.asked(), &stats["counts"]["shadow_hits"]), (2, &json!(1)));
    place.stop();
}

#[test]
fn a_provider_with_tls_is_asked_if_its_certificate_is_trusted() {
    let file = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name);
    let canned = Provider::new();
    let proxy = config(&canned, &[("cache_upstream", "canned")]);
    let provider = Place::with(|config| {
        config.proxy = proxy;
        config.tls = Some(TlsFiles { certificate: file("server.pem"), key: file("server.key"), client_ca: None });
    });
    let upstream = format!("https://localhost:{}/v1", provider.proxy.unwrap().port());
    let ca = file("ca.pem");
    let trusting = place(&canned, &[("cache_upstream", &upstream), ("cache_upstream_ca", ca.to_str().unwrap())]);
    let ask = |place: &Place| ask(&client(place), CHAT, &[], &chat("What is DNS?"));
    // The other server may still be opening its folder.
    while ask(&trusting).status == 503 {
        std::thread::yield_now();
    }
    assert!(ask(&trusting).is(200)["choices"][0]["message"]["content"].as_str().unwrap().contains("numbers"));
    let doubting = place(&canned, &[("cache_upstream", &upstream)]);
    assert!(ask(&doubting).is(502)["error"]["message"].as_str().unwrap().contains("cannot be reached"));
    let file = tempfile::NamedTempFile::new().unwrap();
    for (setting, said) in [("cache_upstream_key", "no key in it"), ("cache_upstream_ca", "no certificate in it")] {
        let folder = tempfile::tempdir().unwrap();
        let proxy = config(&canned, &[(setting, file.path().to_str().unwrap())]);
        let config = Config { proxy, ..crate::place::config(folder.path()) };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let error = runtime.block_on(Server::bind(config)).err().unwrap();
        assert!(error.message.contains(said), "{}", error.message);
    }
    for place in [trusting, doubting, provider] {
        place.stop();
    }
}
