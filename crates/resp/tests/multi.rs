//! MULTI, EXEC and WATCH.

mod support;

use nuthatch_resp::Settings;
use support::{Said, bulk, ok, served};

fn queued() -> Said {
    Said::Simple("QUEUED".into())
}

#[test]
fn queued_commands_run_as_one_and_see_each_other() {
    let served = served(Settings::default());
    let (mut client, mut other) = (served.client(), served.client());
    client.ask("SET a 1");
    assert_eq!(client.ask("MULTI"), ok());
    for command in ["INCR a", "SET b x EX 100", "TTL b", "HSET a f v", "GET b", "RENAME b c", "KEYS *"] {
        assert_eq!(client.ask(command), queued());
    }
    assert_eq!(other.ask("GET b"), Said::Null);
    let Said::Array(replies) = client.ask("EXEC") else { panic!() };
    assert_eq!(replies[..3], [Said::Int(2), ok(), Said::Int(100)]);
    assert!(
        matches!(&replies[3], Said::Error(said) if said.starts_with("WRONGTYPE")),
        "an error does not stop the others"
    );
    assert_eq!(replies[4], bulk("x"));
    assert_eq!(replies[6], Said::Array(vec![bulk("a"), bulk("c")]));
    assert_eq!((other.ask("GET a"), other.ask("GET c")), (bulk("2"), bulk("x")));
}

#[test]
fn a_watched_key_that_changes_calls_it_off() {
    let served = served(Settings::default());
    let (mut client, mut other) = (served.client(), served.client());
    client.ask("SET a 1");
    for (change, done) in [("SET a 2", false), ("SET b 2", true), ("EXPIRE a 100", false), ("DEL a", false)] {
        assert_eq!(client.ask("WATCH a"), ok());
        other.ask(change);
        client.ask("MULTI");
        client.ask("SET seen 1");
        assert_eq!(client.ask("EXEC") != Said::Null, done, "{change}");
    }
    client.ask("WATCH a");
    other.ask("SET a 3");
    client.ask("UNWATCH");
    client.ask("MULTI");
    client.ask("INCR a");
    assert_eq!(client.ask("EXEC"), Said::Array(vec![Said::Int(4)]));
}

#[test]
fn what_cannot_be_queued_calls_it_off() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("MULTI");
    assert!(matches!(client.ask("NOSUCH"), Said::Error(_)));
    client.ask("SET a 1");
    assert!(matches!(client.ask("EXEC"), Said::Error(said) if said.starts_with("EXECABORT")));
    assert_eq!(client.ask("GET a"), Said::Null);
    client.ask("MULTI");
    assert!(matches!(client.ask("MULTI"), Said::Error(said) if said.contains("nested")));
    assert!(matches!(client.ask("WATCH a"), Said::Error(_)));
    client.ask("SET a 1");
    assert_eq!(client.ask("DISCARD"), ok());
    assert_eq!(client.ask("GET a"), Said::Null);
    for command in ["EXEC", "DISCARD"] {
        assert!(matches!(client.ask(command), Said::Error(said) if said.contains("without MULTI")));
    }
}

#[test]
fn vector_sets_take_part() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("MULTI");
    client.ask("VADD v VALUES 2 1 0 a");
    client.ask("VADD v VALUES 2 0 1 b");
    client.ask("SET k x");
    assert_eq!(client.ask("EXEC"), Said::Array(vec![Said::Int(1), Said::Int(1), ok()]));
    assert_eq!(client.ask("VCARD v"), Said::Int(2));
    client.ask("MULTI");
    client.ask("VREM v a");
    client.ask("VREM v b");
    client.ask("FLUSHDB");
    client.ask("VADD w VALUES 2 1 0 a");
    client.ask("EXEC");
    assert_eq!((client.ask("EXISTS v k w"), client.ask("VCARD w")), (Said::Int(1), Said::Int(1)));
    assert_eq!(served.db.collection_names().unwrap().len(), 1);
}

#[test]
fn many_writers_of_one_key_lose_nothing() {
    const WRITERS: usize = 8;
    const TIMES: usize = 100;
    let served = served(Settings::default());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mut client = served.client();
            scope.spawn(move || {
                for _ in 0..TIMES {
                    if writer % 2 == 0 {
                        assert!(matches!(client.ask("INCR n"), Said::Int(_)));
                    } else {
                        client.send(b"MULTI\r\nINCR n\r\nHINCRBY h f 1\r\nEXEC\r\n");
                        (0..3).for_each(|_| drop(client.read()));
                        assert!(matches!(client.read(), Said::Array(replies) if replies.len() == 2));
                    }
                }
            });
        }
    });
    let mut client = served.client();
    assert_eq!(client.ask("GET n"), bulk(&(WRITERS * TIMES).to_string()));
    assert_eq!(client.ask("HGET h f"), bulk(&(WRITERS / 2 * TIMES).to_string()));
}
