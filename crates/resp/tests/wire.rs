//! Bytes: whatever comes, in whatever pieces; order; limits; who may come in.

mod support;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Options};
use nuthatch_resp::protocol::{Decoder, Limits};
use nuthatch_resp::{Gate, Grant, Refused, Scopes, Server, Settings, Tenant};
use proptest::prelude::*;
use support::{Client, Said, bulk, encoded, ok, served};

fn rounds() -> ProptestConfig {
    let cases = if std::env::var_os("NUTHATCH_LONG").is_some() { 200_000 } else { 2_000 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Bytes that look like the protocol, mostly.
fn nearly_commands() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\r\n".to_vec()),
        3 => (-2_i64..1 << 40).prop_map(|n| format!("*{n}\r\n").into_bytes()),
        2 => (-2_i64..5).prop_map(|n| format!("*{n}\r\n").into_bytes()),
        4 => (-2_i64..9).prop_map(|n| format!("${n}\r\n").into_bytes()),
        1 => (0_i64..i64::MAX).prop_map(|n| format!("${n}\r\n").into_bytes()),
        4 => prop::collection::vec(any::<u8>(), 0..9),
        2 => "[ a-z\"'\\\\x0-9]{0,12}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(rounds())]

    #[test]
    fn any_bytes_are_commands_an_error_or_the_beginning_of_more(bytes in nearly_commands(), at_once in 1_usize..64) {
        let limits = Limits { arguments_max: 1000, argument_bytes_max: 1000, command_bytes_max: 4000 };
        let (mut whole, mut pieces) = (Decoder::new(limits), Decoder::new(limits));
        let drained = |decoder: &mut Decoder, out: &mut Vec<_>| loop {
            match decoder.next_command() {
                Ok(Some(command)) => out.push(Ok(command)),
                Ok(None) => return true,
                Err(error) => {
                    out.push(Err(error));
                    return false;
                }
            }
        };
        let (mut one, mut other) = (Vec::new(), Vec::new());
        whole.feed(&bytes);
        drained(&mut whole, &mut one);
        for piece in bytes.chunks(at_once) {
            pieces.feed(piece);
            if !drained(&mut pieces, &mut other) {
                break;
            }
        }
        // However it was cut, it is the same.
        prop_assert_eq!(one, other);
        prop_assert!(pieces.held_bytes() <= 4 * bytes.len() + 4096 + 128);
    }

    #[test]
    fn what_was_encoded_comes_back(
        commands in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..8), 1..8),
        at_once in 1_usize..200,
    ) {
        let bytes: Vec<u8> = commands.iter().flat_map(|command| {
            encoded(&command.iter().map(Vec::as_slice).collect::<Vec<_>>())
        }).collect();
        let mut decoder = Decoder::new(Limits::default());
        let mut found = Vec::new();
        for piece in bytes.chunks(at_once) {
            decoder.feed(piece);
            while let Some(command) = decoder.next_command().unwrap() {
                found.push(command);
            }
        }
        prop_assert_eq!(found, commands);
        prop_assert!(!decoder.is_within_command());
    }
}

#[test]
fn any_arguments_get_a_reply_and_the_connection_goes_on() {
    let served = served(Settings::default());
    let mut client = served.client();
    let Said::Array(names) = client.ask("COMMAND LIST") else { panic!() };
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let mut roll = |most: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % most
    };
    let words: Vec<&[u8]> = vec![
        b"k",
        b"v",
        b"h",
        b"",
        b"0",
        b"-1",
        b"10",
        b"1e3",
        b"VALUES",
        b"FP32",
        b"2",
        b"1",
        b"ELE",
        b"COUNT",
        b"WITHSCORES",
        b"EX",
        b"NX",
        b"GET",
        b"9223372036854775807",
        b"-9223372036854775808",
        b"*",
        b"[",
        b"MATCH",
        b"\xff\xfe",
        b"nan",
        b"inf",
        b"FILTER",
        b".a > 1",
        b"{\"a\":1}",
        b"SETATTR",
        b"REDUCE",
        b"\0\0\x80?\0\0\x80?",
        b"RAW",
        b"LIST",
        b"TEXT",
        b"(a",
        b"+",
    ];
    let rounds = if std::env::var_os("NUTHATCH_LONG").is_some() { 50_000 } else { 3_000 };
    for _ in 0..rounds {
        let Said::Bulk(name) = &names[roll(names.len() as u64) as usize] else { panic!() };
        if [&b"quit"[..], b"nh.search", b"hello", b"client"].contains(&name.as_slice()) {
            continue; // QUIT ends it, HELLO changes the forms, CLIENT KILL may end it.
        }
        if [&b"bl"[..], b"brpop", b"bz"].iter().any(|waiting| name.starts_with(waiting)) {
            continue; // They may wait for ever.
        }
        let mut command = vec![name.as_slice()];
        (0..roll(7)).for_each(|_| command.push(words[roll(words.len() as u64) as usize]));
        client.ask_words(&command);
    }
    client.ask("DISCARD");
    assert_eq!(client.ask("PING"), Said::Simple("PONG".into()));
}

#[test]
fn a_pipeline_is_answered_in_its_order_whatever_its_pieces() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut bytes = Vec::new();
    for n in 0..1000 {
        bytes.extend(encoded(&[b"SET", b"k", n.to_string().as_bytes()]));
        bytes.extend(b"GET k\r\n");
    }
    std::thread::scope(|scope| {
        let mut writer = Client::connect(&served.server);
        assert_eq!(writer.ask("PING"), Said::Simple("PONG".into()));
        scope.spawn(move || {
            for piece in bytes.chunks(1013) {
                writer.send(piece);
            }
            for n in 0..1000 {
                assert_eq!((writer.read(), writer.read()), (ok(), bulk(&n.to_string())));
            }
        });
    });
    assert_eq!(client.ask("GET k"), bulk("999"));
}

#[test]
fn a_client_that_does_not_read_is_not_run_ahead_of() {
    let settings = Settings { output_bytes: 10_000, ..Settings::default() };
    let served = served(settings);
    let mut client = served.client();
    client.ask_words(&[b"SET", b"big", &[b'x'; 1_000_000]]);
    // A thousand replies of a megabyte: what the sockets hold, and then the server waits.
    client.send(&b"GET big\r\n".repeat(1000));
    client.send(b"SET done 1\r\n");
    let mut other = served.client();
    assert_eq!(other.ask("GET done"), Said::Null);
    for _ in 0..1000 {
        assert!(matches!(client.read(), Said::Bulk(value) if value.len() == 1_000_000));
    }
    assert_eq!(client.read(), ok());
    assert_eq!(other.ask("GET done"), bulk("1"));
}

#[test]
fn bytes_that_are_no_command_end_the_connection_with_a_word() {
    let served = served(Settings::default());
    for (bytes, word) in [
        (&b"*2\r\n$3\r\nGET\r\n:5\r\n"[..], "expected '$', got ':'"),
        (b"*9999999999\r\n", "invalid multibulk length"),
        (b"*1\r\n$999999999999\r\n", "invalid bulk length"),
        (b"SET 'a\r\n", "unbalanced quotes"),
    ] {
        let mut client = served.client();
        client.send(bytes);
        assert!(matches!(client.read(), Said::Error(said) if said.contains(word)), "{word}");
        assert!(client.is_closed());
    }
}

#[test]
fn half_commands_of_all_clients_share_their_room() {
    let settings = Settings { input_bytes_max: 4 << 20, ..Settings::default() };
    let served = served(settings);
    let half = [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\n".to_vec(), vec![b'x'; 1 << 20]].concat();
    let mut clients: Vec<Client> = (0..8).map(|_| served.client()).collect();
    clients.iter_mut().for_each(|client| client.try_send(&half));
    let mut good = served.client();
    // A megabyte each, and room for four: at least as many are ended.
    while served.server.connections() > 5 {
        assert_eq!(good.ask("PING"), Said::Simple("PONG".into()));
    }
    assert_eq!(good.ask("SET k v"), ok());
}

#[test]
fn one_client_too_many_is_told_so() {
    let settings = Settings { connections_max: 3, ..Settings::default() };
    let served = served(settings);
    let mut clients: Vec<Client> = (0..3).map(|_| served.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.ask("PING"), Said::Simple("PONG".into())));
    let mut fourth = served.client();
    assert!(matches!(fourth.read(), Said::Error(said) if said == "ERR max number of clients reached"));
    assert!(fourth.is_closed());
    clients[0].ask("QUIT");
    assert!(clients[0].is_closed());
    while served.server.connections() == 3 {
        std::thread::yield_now();
    }
    assert_eq!(served.client().ask("PING"), Said::Simple("PONG".into()));
}

#[test]
fn clients_stay_out_of_what_they_may_not() {
    struct Two(Arc<Tenant>, Arc<Tenant>);
    impl Gate for Two {
        fn stranger(&self, _: SocketAddr) -> Option<Grant> {
            None
        }

        fn authenticate(&self, _: SocketAddr, user: &str, password: &[u8]) -> Result<Grant, Refused> {
            let (tenant, scopes) = match (user, password) {
                ("default", b"one") => (&self.0, Scopes::ALL),
                ("reader", b"two") => (&self.1, Scopes::READ),
                ("writer", b"two") => (&self.1, Scopes::ALL),
                _ => return Err(Refused::Wrong),
            };
            Ok(Grant { user: user.into(), tenant: tenant.clone(), scopes, pass: None })
        }
    }
    let [one, two] = [(), ()].map(|()| Tenant::new(Database::in_memory(Options::default()).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start(listener, Arc::new(Two(one, two)), Settings::default()).unwrap();
    let mut first = Client::connect(&server);
    assert_eq!(first.ask("GET k"), Said::Error("NOAUTH Authentication required.".into()));
    assert!(matches!(first.ask("HELLO 3"), Said::Error(said) if said.starts_with("NOAUTH")));
    assert!(matches!(first.ask("AUTH wrong"), Said::Error(said) if said.starts_with("WRONGPASS")));
    assert_eq!(first.ask("AUTH one"), ok());
    assert_eq!(first.ask("SET k first"), ok());
    let mut second = Client::connect(&server);
    assert!(matches!(second.ask("HELLO 3 AUTH writer two SETNAME w"), Said::Map(_)));
    assert_eq!(second.ask("GET k"), Said::Null, "another tenant's keys are not there");
    assert_eq!(second.ask("SET k second"), ok());
    let mut third = Client::connect(&server);
    third.ask("AUTH reader two");
    assert_eq!(third.ask("GET k"), bulk("second"));
    for refused in ["SET k x", "FLUSHALL", "VADD v VALUES 2 1 0 e", "CLIENT LIST", "CONFIG GET *"] {
        assert!(matches!(third.ask(refused), Said::Error(said) if said.starts_with("NOPERM")), "{refused}");
    }
    let Said::Bulk(list) = second.ask("CLIENT LIST") else { panic!() };
    assert_eq!(String::from_utf8(list).unwrap().lines().count(), 2, "a tenant's own connections");
    let mut stranger = Client::connect(&server);
    stranger.send(b"*11\r\n");
    assert!(matches!(stranger.read(), Said::Error(said) if said.contains("unauthenticated")));
}

#[test]
fn stopping_lets_clients_finish_what_they_have_sent() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("PING"), Said::Simple("PONG".into()));
    client.send(&b"INCR n\r\n".repeat(500));
    served.server.stop(Duration::from_secs(60));
    assert_eq!(served.server.connections(), 0);
    let counted = served.db.kv("redis.0").unwrap().get("n").unwrap();
    let mut replies = 0;
    if let Some(counted) = counted {
        let counted: i64 = String::from_utf8(counted).unwrap().parse().unwrap();
        for n in 1..=counted {
            assert_eq!(client.read(), Said::Int(n));
            replies += 1;
        }
        assert_eq!(replies, counted);
    }
    assert!(client.is_closed());
}

#[test]
fn a_client_that_sends_a_byte_now_and_then_is_ended() {
    let settings = Settings { stalled_after: Duration::from_millis(300), ..Settings::default() };
    let served = served(settings);
    let mut slow = served.client();
    assert_eq!(slow.ask("PING"), Said::Simple("PONG".into()));
    slow.send(b"*2\r\n$3\r\nGET\r\n$5000\r\n");
    // Each byte comes in time, and the command never does.
    while served.server.connections() > 0 {
        slow.try_send(b"a");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut idle = served.client();
    assert_eq!(idle.ask("PING"), Said::Simple("PONG".into()));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(idle.ask("PING"), Said::Simple("PONG".into()), "between commands there is all the time");
}

#[test]
fn changes_of_a_pipeline_share_a_transaction_and_fail_each_by_itself() {
    let served = served(Settings::default());
    let mut client = served.client();
    // Beyond what one value holds, so that there are rows.
    for n in 0..20 {
        let mut words = vec![b"HSET".to_vec(), b"h".to_vec()];
        (0..20).for_each(|field| words.extend([format!("f{n}.{field}").into_bytes(), vec![b'v'; 100]]));
        assert_eq!(client.ask_words(&words.iter().map(Vec::as_slice).collect::<Vec<_>>()), Said::Int(20));
    }
    let commands = "SET s 1\r\nHSET h a 1\r\nHSET h a 2 b 3\r\nHSET s a 1\r\nLPUSH h x\r\nSADD set m m\r\nSADD set m\r\n\
                    MSET h 1 t 2\r\nHSET h c 1\r\nZADD z 1 m\r\nZADD z x m\r\nHDEL h a\r\nSET s 2\r\nHLEN h\r\n";
    client.send(commands.as_bytes());
    let is_wrong =
        |said: Said, code: &str| assert!(matches!(&said, Said::Error(line) if line.starts_with(code)), "{said:?}");
    assert_eq!((client.read(), client.read(), client.read()), (ok(), Said::Int(1), Said::Int(1)));
    (0..2).for_each(|_| is_wrong(client.read(), "WRONGTYPE"));
    assert_eq!((client.read(), client.read(), client.read()), (Said::Int(1), Said::Int(0), ok()));
    is_wrong(client.read(), "WRONGTYPE");
    assert_eq!(client.read(), Said::Int(1));
    is_wrong(client.read(), "ERR");
    is_wrong(client.read(), "WRONGTYPE");
    assert_eq!(client.read(), ok());
    is_wrong(client.read(), "WRONGTYPE");
    assert_eq!((client.ask("GET h"), client.ask("GET s"), client.ask("GET t")), (bulk("1"), bulk("2"), bulk("2")));
    assert_eq!(client.ask("ZSCORE z m"), bulk("1"));
}

#[test]
fn pipelines_of_several_clients_change_one_hash_and_none_is_lost() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 30;
    let served = served(Settings::default());
    let clients: Vec<_> = (0..CLIENTS).map(|_| served.client()).collect();
    std::thread::scope(|scope| {
        for (number, mut client) in clients.into_iter().enumerate() {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut bytes = Vec::new();
                    for n in 0..10 {
                        bytes.extend(format!("HSET h f{number}.{round}.{n} v\r\nLPUSH l x\r\n").into_bytes());
                    }
                    client.send(&bytes);
                    for _ in 0..10 {
                        assert_eq!(client.read(), Said::Int(1));
                        assert!(matches!(client.read(), Said::Int(_)));
                    }
                }
            });
        }
    });
    let mut client = served.client();
    let all = Said::Int((CLIENTS * ROUNDS * 10) as i64);
    assert_eq!((client.ask("HLEN h"), client.ask("LLEN l")), (all.clone(), all));
}

#[test]
fn writes_of_a_pipeline_are_written_together_and_answered_each_by_itself() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut bytes = Vec::new();
    let commands: Vec<Vec<&[u8]>> = vec![
        vec![b"SET", b"a", b"1"],
        vec![b"SET", b"b", b"2", b"EX", b"100"],
        vec![b"SET", b"", b"no key is empty"],
        vec![b"SETEX", b"c", b"0", b"no time is none"],
        vec![b"SET", b"a", b"3"],
        vec![b"GET", b"a"],
        vec![b"MSET", b"d", b"4", b"e", b"5"],
        vec![b"SET", b"a", b"6", b"NX"],
        vec![b"INCR", b"a"],
        vec![b"SET", b"a", b"7"],
        vec![b"MULTI"],
        vec![b"SET", b"a", b"8"],
        vec![b"EXEC"],
        vec![b"SET", b"a", b"9"],
        vec![b"NOSUCH"],
        vec![b"SET", b"f", b"10"],
    ];
    commands.iter().for_each(|command| bytes.extend(encoded(command)));
    client.send(&bytes);
    assert_eq!((client.read(), client.read()), (ok(), ok()));
    assert!(matches!(client.read(), Said::Error(_)) && matches!(client.read(), Said::Error(_)));
    assert_eq!((client.read(), client.read(), client.read()), (ok(), bulk("3"), ok()));
    assert_eq!((client.read(), client.read(), client.read()), (Said::Null, Said::Int(4), ok()));
    assert_eq!((client.read(), client.read()), (ok(), Said::Simple("QUEUED".into())));
    assert_eq!((client.read(), client.read()), (Said::Array(vec![ok()]), ok()));
    assert!(matches!(client.read(), Said::Error(said) if said.contains("NOSUCH")));
    assert_eq!(client.read(), ok());
    let kept = ["a", "b", "d", "e", "f"].map(|key| served.db.kv("redis.0").unwrap().get(key).unwrap().unwrap());
    assert_eq!(kept.map(|value| String::from_utf8(value).unwrap()), ["9", "2", "4", "5", "10"]);
    assert!(matches!(client.ask("TTL b"), Said::Int(1..=100)));
    // Thousands, over several batches.
    let many: Vec<u8> = (0..5000)
        .flat_map(|n| encoded(&[b"SET", format!("k{}", n % 3000).as_bytes(), n.to_string().as_bytes()]))
        .collect();
    std::thread::scope(|scope| {
        let mut writer = Client::connect(&served.server);
        scope.spawn(move || {
            writer.send(&many);
            (0..5000).for_each(|_| assert_eq!(writer.read(), ok()));
        });
    });
    assert_eq!((client.ask("GET k0"), client.ask("GET k2999")), (bulk("3000"), bulk("2999")));
}
