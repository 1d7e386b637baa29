//! The replies of commands, over both protocols.

mod support;

use nuthatch_resp::Settings;
use support::{Said, bulk, bulks, ok, served};

#[test]
fn strings_are_what_every_other_face_reads() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("SET greeting hello"), ok());
    assert_eq!(served.db.kv("redis.0").unwrap().get("greeting").unwrap().unwrap(), b"hello");
    served.db.kv("redis.0").unwrap().put("from elsewhere", "x").unwrap();
    assert_eq!(client.ask_words(&[b"GET", b"from elsewhere"]), bulk("x"));
    assert_eq!(client.ask("GET missing"), Said::Null);
    assert_eq!(client.ask("set n 41"), ok());
    assert_eq!(client.ask("INCR n"), Said::Int(42));
    assert_eq!(client.ask("APPEND greeting !"), Said::Int(6));
    assert_eq!(client.ask("GETRANGE greeting 1 -2"), bulk("ello"));
    assert_eq!(client.ask("SETRANGE gap 2 x"), Said::Int(3));
    assert_eq!(client.ask("GET gap"), bulk("\0\0x"));
    assert_eq!(client.ask("MSETNX new 1 n 2"), Said::Int(0));
    assert_eq!(client.ask("MGET n new"), Said::Array(vec![bulk("42"), Said::Null]));
    assert_eq!(client.ask("INCRBYFLOAT n 0.5"), bulk("42.5"));
    assert!(matches!(client.ask("INCR n"), Said::Error(said) if said.starts_with("ERR value is not an integer")));
}

#[test]
fn sums_of_decimal_numbers_are_those_of_redis() {
    let served = served(Settings::default());
    let mut client = served.client();
    for (value, by, sum) in [
        ("9007199254740993", "0", "9007199254740993"),
        ("0.1", "0.2", "0.3"),
        ("5.0e3", "2.0e2", "5200"),
        ("18446744073709551615", "-1", "18446744073709551614"),
        ("1e17", "0.1", "100000000000000000.1015625"),
        ("0x10", "-.5", "15.5"),
    ] {
        client.ask(&format!("SET n {value}"));
        client.ask(&format!("HSET h f {value}"));
        for command in ["INCRBYFLOAT n", "HINCRBYFLOAT h f"] {
            assert_eq!(client.ask(&format!("{command} {by}")), bulk(sum), "{command} {value} {by}");
        }
        assert_eq!((client.ask("GET n"), client.ask("HGET h f")), (bulk(sum), bulk(sum)));
    }
    assert_eq!((client.ask("INCRBYFLOAT new 3.0"), client.ask("HINCRBYFLOAT h new 1e-3")), (bulk("3"), bulk("0.001")));
    let error = |said: &str| Said::Error(format!("ERR {said}"));
    for (value, by, of_a_key, of_a_field) in [
        ("1", "x", "value is not a valid float", "value is not a valid float"),
        ("1", "nan", "value is not a valid float", "value is not a valid float"),
        ("1", "1e5000", "value is not a valid float", "value is not a valid float"),
        ("x", "1", "value is not a valid float", "hash value is not a float"),
        ("1", "-inf", "increment would produce NaN or Infinity", "value is NaN or Infinity"),
        ("inf", "1", "increment would produce NaN or Infinity", "increment would produce NaN or Infinity"),
    ] {
        client.ask(&format!("SET n {value}"));
        client.ask(&format!("HSET h f {value}"));
        assert_eq!(client.ask(&format!("INCRBYFLOAT n {by}")), error(of_a_key), "{value} {by}");
        assert_eq!(client.ask(&format!("HINCRBYFLOAT h f {by}")), error(of_a_field), "{value} {by}");
        assert_eq!((client.ask("GET n"), client.ask("HGET h f")), (bulk(value), bulk(value)), "nothing was changed");
    }
}

#[test]
fn a_keyspace_that_another_face_drops_is_there_again_with_the_next_command() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("SET a 1");
    served.db.drop_keyspace("redis.0").unwrap();
    assert!(matches!(client.ask("GET a"), Said::Error(_)), "the command that meets it is told");
    assert_eq!((client.ask("GET a"), client.ask("SET a 2"), client.ask("GET a")), (Said::Null, ok(), bulk("2")));
    // Anything else that is missing is still an error.
    assert!(matches!(client.ask("NH.SEARCH none TEXT x"), Said::Error(said) if said.starts_with("ERR")));
    assert_eq!(client.ask("GET a"), bulk("2"));
}

#[test]
fn randomkey_gives_every_key_however_the_names_lie() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("RANDOMKEY"), Said::Null);
    client.ask("SET a 1");
    (0..20).for_each(|n| drop(client.ask(&format!("SET user:{n} 1"))));
    // One in 21 each time: that one of them never comes in 2,000 happens once in 10^41 runs.
    let mut missing: std::collections::HashSet<Vec<u8>> =
        (0..20).map(|n| format!("user:{n}").into_bytes()).chain([b"a".to_vec()]).collect();
    for _ in 0..2000 {
        let Said::Bulk(key) = client.ask("RANDOMKEY") else { panic!() };
        missing.remove(&key);
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn info_has_every_figure_that_clients_look_for() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("SET a 1");
    let Said::Bulk(said) = client.ask("INFO") else { panic!() };
    let said = String::from_utf8(said).unwrap();
    let of = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{name} in {said}"))
    };
    // `redis-cli --stat` and monitors read these as numbers.
    for name in [
        "used_memory",
        "used_memory_rss",
        "used_memory_peak",
        "maxmemory",
        "connected_clients",
        "blocked_clients",
        "total_commands_processed",
        "total_connections_received",
        "rdb_bgsave_in_progress",
        "aof_rewrite_in_progress",
        "loading",
    ] {
        assert!(of(name).parse::<u64>().is_ok(), "{name}:{}", of(name));
    }
    for name in ["used_cpu_sys", "used_cpu_user", "mem_fragmentation_ratio"] {
        assert!(of(name).parse::<f64>().is_ok_and(|number| number >= 0.0), "{name}:{}", of(name));
    }
    assert!(of("used_memory").parse::<u64>().unwrap() > 1 << 16 && of("used_memory_human").ends_with(['K', 'M', 'G']));
    assert_eq!(of("db0"), "keys=1,avg_ttl=0");
    // Three numbers, as clients take them apart; and no release whose commands for strings, keys and hashes are not all here.
    let version: Vec<u32> = of("redis_version").split('.').map(|part| part.parse().unwrap()).collect();
    assert!(version.len() == 3 && (7..8).contains(&version[0]), "{version:?}");
    assert!(matches!(client.ask("HEXPIRE h 1 FIELDS 1 f"), Said::Error(_)), "which came with 7.4");
    assert_eq!((of("server_name"), of("nuthatch_version")), ("nuthatch", env!("CARGO_PKG_VERSION")));
    let Said::Array(hello) = client.ask("HELLO") else { panic!() };
    assert_eq!((&hello[1], &hello[3]), (&bulk("nuthatch"), &bulk(of("redis_version"))));
    let Said::Bulk(part) = client.ask("INFO memory cpu") else { panic!() };
    let part = String::from_utf8(part).unwrap();
    let sections: Vec<&str> = part.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(sections, ["# Memory", "# CPU"]);
}

#[test]
fn moments_of_expiry_are_kept_to_the_millisecond() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("SET a 1");
    assert_eq!(client.ask("PEXPIREAT a 33177117420123"), Said::Int(1));
    assert_eq!(client.ask("PEXPIRETIME a"), Said::Int(33_177_117_420_123));
    assert_eq!(client.ask("INCR a"), Said::Int(2));
    assert_eq!(client.ask("APPEND a 0"), Said::Int(2));
    assert_eq!(client.ask("PEXPIRETIME a"), Said::Int(33_177_117_420_123), "changes of the value leave it");
    assert_eq!(client.ask("EXPIRE a 100 GT"), Said::Int(0));
    assert_eq!(client.ask("EXPIRE a 100 LT"), Said::Int(1));
    assert_eq!(client.ask("TTL a"), Said::Int(100));
    assert_eq!(client.ask("PERSIST a"), Said::Int(1));
    assert_eq!((client.ask("TTL a"), client.ask("TTL b")), (Said::Int(-1), Said::Int(-2)));
    assert_eq!(client.ask("EXPIRE a -1"), Said::Int(1));
    assert_eq!(client.ask("EXISTS a"), Said::Int(0));
    assert_eq!(client.ask("SET b 1 EXAT 1"), ok());
    assert_eq!(client.ask("EXISTS b"), Said::Int(0), "what has expired already is not there");
}

#[test]
fn a_type_is_not_another_and_arguments_are_counted() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("HSET h f v");
    client.ask("VADD v VALUES 2 1 0 e");
    for command in ["GET h", "INCR h", "GET v", "HGET v f", "VCARD h", "APPEND v x"] {
        assert!(matches!(client.ask(command), Said::Error(said) if said.starts_with("WRONGTYPE")), "{command}");
    }
    assert_eq!(client.ask("GET"), Said::Error("ERR wrong number of arguments for 'get' command".into()));
    let Said::Error(said) = client.ask("XADD s x") else { panic!() };
    assert_eq!(said, "ERR unknown command 'XADD', with args beginning with: 's' 'x' ");
    assert_eq!(client.ask("PING"), Said::Simple("PONG".into()), "and the connection goes on");
}

#[test]
fn hashes_keep_their_fields() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("HSET h a 1 b 2 a 3"), Said::Int(2));
    assert_eq!(client.ask("HGETALL h"), bulks(&["a", "3", "b", "2"]));
    assert_eq!(client.ask("HINCRBY h b 5"), Said::Int(7));
    assert_eq!(client.ask("HDEL h a b"), Said::Int(2));
    assert_eq!(client.ask("EXISTS h"), Said::Int(0));
    let big: Vec<String> = (0..1000).map(|n| format!("f{n} {n}")).collect();
    client.ask(&format!("HSET big {}", big.join(" ")));
    let (mut cursor, mut fields) = ("0".to_string(), std::collections::BTreeSet::new());
    loop {
        let Said::Array(page) = client.ask(&format!("HSCAN big {cursor} COUNT 50 NOVALUES")) else { panic!() };
        let [Said::Bulk(next), Said::Array(items)] = &page[..] else { panic!("{page:?}") };
        items.iter().for_each(|item| assert!(fields.insert(format!("{item:?}")), "{item:?} twice"));
        cursor = String::from_utf8(next.clone()).unwrap();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(fields.len(), 1000);
}

#[test]
fn a_scan_finds_every_key_that_was_there_throughout() {
    let served = served(Settings::default());
    let (mut client, mut other) = (served.client(), served.client());
    for n in 0..300 {
        client.ask(&format!("SET key:{n:03} x"));
    }
    let (mut cursor, mut keys) = ("0".to_string(), std::collections::BTreeSet::new());
    loop {
        let Said::Array(page) = client.ask(&format!("SCAN {cursor} MATCH key:* COUNT 7")) else { panic!() };
        let [Said::Bulk(next), Said::Array(items)] = &page[..] else { panic!("{page:?}") };
        for item in items {
            let Said::Bulk(key) = item else { panic!() };
            keys.insert(key.clone());
        }
        cursor = String::from_utf8(next.clone()).unwrap();
        if cursor == "0" {
            break;
        }
        // Keys come and go meanwhile, through another connection.
        other.ask(&format!("DEL key:{:03}", some_number(keys.len()) * 2));
        other.ask(&format!("SET other:{} x", keys.len()));
    }
    for n in (1..300).step_by(2) {
        assert!(keys.contains(format!("key:{n:03}").as_bytes()), "{n}");
    }
    assert!(matches!(client.ask("SCAN 12345"), Said::Error(said) if said.contains("invalid cursor")));
}

/// Some number below 150.
fn some_number(n: usize) -> usize {
    n * 7919 % 150
}

#[test]
fn values_move_whole_to_other_keys() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("SET a 1 PX 100000000");
    client.ask("HSET h f v");
    client.ask("VADD v VALUES 2 1 0 e SETATTR {\"n\":1}");
    assert_eq!(client.ask("RENAME a b"), ok());
    assert_eq!(client.ask("EXISTS a b"), Said::Int(1));
    assert!(matches!(client.ask("TTL b"), Said::Int(ttl) if ttl > 99_000));
    assert_eq!(client.ask("COPY h b"), Said::Int(0));
    assert_eq!(client.ask("COPY h b REPLACE"), Said::Int(1));
    assert_eq!(client.ask("HGET b f"), bulk("v"));
    assert_eq!(client.ask("RENAME v w"), ok());
    assert_eq!(client.ask("COPY w x"), Said::Int(1));
    assert_eq!(client.ask("VREM w e"), Said::Int(1));
    assert_eq!(client.ask("VGETATTR x e"), bulk("{\"n\":1}"));
    assert_eq!(client.ask("EXISTS v w x"), Said::Int(1), "a set without elements is no key");
    assert_eq!(client.ask("RENAMENX x b"), Said::Int(0));
    assert_eq!(client.ask("DEL x b"), Said::Int(2));
    assert!(served.db.collection_names().unwrap().is_empty(), "collections go with their keys");
}

#[test]
fn the_newer_protocol_has_maps_numbers_and_nothing() {
    let served = served(Settings::default());
    let mut client = served.client();
    let Said::Map(about) = client.ask("HELLO 3 SETNAME me") else { panic!("a map") };
    assert!(about.contains(&(bulk("proto"), Said::Int(3))));
    assert_eq!(client.ask("CLIENT GETNAME"), bulk("me"));
    client.ask("HSET h a 1");
    assert_eq!(client.ask("HGETALL h"), Said::Map(vec![(bulk("a"), bulk("1"))]));
    assert_eq!(client.ask("GET none"), Said::Null);
    client.ask("VADD v VALUES 2 1 0 e");
    assert_eq!(client.ask("VISMEMBER v e"), Said::Bool(true));
    assert_eq!(client.ask("VSIM v ELE e WITHSCORES"), Said::Map(vec![(bulk("e"), Said::Double(1.0))]));
    assert_eq!(client.ask("RESET"), Said::Simple("RESET".into()));
    assert_eq!(client.ask("HGETALL h"), bulks(&["a", "1"]));
    assert!(matches!(client.ask("HELLO 4"), Said::Error(said) if said.starts_with("NOPROTO")));
}

#[test]
fn databases_are_apart_and_flushed_alone() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("SET k 0");
    assert_eq!(client.ask("SELECT 3"), ok());
    client.ask("SET k 3");
    client.ask("VADD v VALUES 2 1 0 e");
    assert_eq!(client.ask("DBSIZE"), Said::Int(2));
    assert_eq!(client.ask("FLUSHDB"), ok());
    assert_eq!((client.ask("GET k"), client.ask("EXISTS v")), (Said::Null, Said::Int(0)));
    client.ask("SELECT 0");
    assert_eq!(client.ask("GET k"), bulk("0"));
    assert!(served.db.collection_names().unwrap().is_empty());
    assert!(matches!(client.ask("SELECT 16"), Said::Error(_)));
    client.ask("FLUSHALL");
    assert_eq!(client.ask("DBSIZE"), Said::Int(0));
}

#[test]
fn commands_are_listed_by_module_category_and_pattern() {
    let served = served(Settings::default());
    let mut client = served.client();
    let names = |said: Said| -> Vec<String> {
        let Said::Array(names) = said else { panic!("{said:?}") };
        let text = |name| if let Said::Bulk(name) = name { String::from_utf8(name).unwrap() } else { panic!() };
        names.into_iter().map(text).collect()
    };
    let all = names(client.ask("COMMAND LIST"));
    let sets = names(client.ask("COMMAND LIST FILTERBY MODULE vectorset"));
    assert!(sets.contains(&"vadd".into()) && sets.iter().all(|name| name.starts_with('v')), "{sets:?}");
    assert_eq!(names(client.ask("COMMAND LIST FILTERBY MODULE nosuch")), [""; 0]);
    let mut found = names(client.ask("command list filterby pattern GET*"));
    found.sort_unstable();
    assert_eq!(found, ["get", "getbit", "getdel", "getex", "getrange", "getset"]);
    let [reads, writes, hashes] =
        ["read", "write", "HASH"].map(|name| names(client.ask(&format!("COMMAND LIST FILTERBY ACLCAT {name}"))));
    assert!(reads.contains(&"get".into()) && !reads.contains(&"getset".into()));
    assert!(
        writes.contains(&"getset".into()) && !writes.contains(&"get".into()) && writes.len() + reads.len() < all.len()
    );
    assert!(hashes.iter().all(|name| name.starts_with('h')) && hashes.len() == 16, "{hashes:?}");
    assert_eq!(names(client.ask("COMMAND LIST FILTERBY ACLCAT nosuch")), [""; 0]);
    for wrong in ["FILTERBY", "FILTERBY PATTERN", "FILTERBY SIZE 1", "BY PATTERN *", "FILTERBY PATTERN * *"] {
        assert_eq!(client.ask(&format!("COMMAND LIST {wrong}")), Said::Error("ERR syntax error".into()), "{wrong}");
    }
}

#[test]
fn a_client_that_wants_no_replies_gets_none_and_its_writes_hold() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("CLIENT REPLY ON"), ok());
    assert!(matches!(client.ask("CLIENT REPLY MAYBE"), Said::Error(_)));
    // Neither the word nor what comes next is answered, an error included; then all is as it was.
    client.send(b"CLIENT REPLY SKIP\r\nSET a 1\r\nGET a\r\nCLIENT REPLY SKIP\r\nNOSUCH\r\nECHO after\r\n");
    assert_eq!((client.read(), client.read()), (bulk("1"), bulk("after")));
    client.send(b"SET b 1\r\nCLIENT REPLY OFF\r\nSET b 2\r\nINCR b\r\nNOSUCH\r\nCLIENT REPLY SKIP\r\nMULTI\r\nSET c 1\r\nEXEC\r\n");
    client.send(b"SET d 1\r\nSET d 2\r\nCLIENT REPLY ON\r\nMGET b c d\r\n");
    let said = (client.read(), client.read(), client.read());
    assert_eq!(said, (ok(), ok(), bulks(&["3", "1", "2"])), "SET b 1, CLIENT REPLY ON and MGET");
    client.ask("MULTI");
    client.ask("CLIENT REPLY OFF");
    let Said::Array(replies) = client.ask("EXEC") else { panic!() };
    assert!(matches!(&replies[0], Said::Error(said) if said.contains("CLIENT REPLY is not allowed in a transaction")));
    client.send(b"CLIENT REPLY OFF\r\nSET e 1\r\n");
    assert_eq!(client.ask("RESET"), Said::Simple("RESET".into()), "which begins anew");
    assert_eq!(client.ask("GET e"), bulk("1"));
}
