//! Redis clients at the same server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use jiff::Timestamp;
use nuthatch_server::{Config, NewKey, Scope, Scopes, Server};
use serde_json::json;

use crate::place::{Place, config};

pub struct Redis(BufReader<TcpStream>);

impl Redis {
    pub fn new(place: &Place) -> Self {
        let address: SocketAddr = place.redis.unwrap();
        // It listens before it answers.
        Self(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    /// The whole reply, with everything in it; empty when the connection has ended.
    pub fn ask_all(&mut self, command: &str) -> String {
        // It may have ended.
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).ok();
        let mut said = String::new();
        self.read_into(&mut said);
        said
    }

    fn read_into(&mut self, said: &mut String) {
        let mut line = String::new();
        self.0.read_line(&mut line).ok();
        said.push_str(&line);
        let count = |line: &str| line[1..].trim_end().parse::<i64>().unwrap_or(0);
        match line.as_bytes().first() {
            Some(b'$') if count(&line) >= 0 => {
                let mut bytes = vec![0; count(&line) as usize + 2];
                self.0.read_exact(&mut bytes).unwrap();
                said.push_str(&String::from_utf8_lossy(&bytes));
            }
            Some(b'*') => (0..count(&line)).for_each(|_| self.read_into(said)),
            _ => {}
        }
    }

    /// The first line of the reply, and for a value the value.
    pub fn ask(&mut self, command: &str) -> String {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        if line.starts_with('$') && !line.starts_with("$-1") {
            line.clear();
            self.0.read_line(&mut line).unwrap();
        }
        line.trim_end().to_string()
    }
}

#[test]
fn redis_clients_write_as_durably_as_the_settings_say() {
    for (durability, fsync) in [("commit", "always"), ("interval", "everysec"), ("os", "no")] {
        let place = Place::with(|config| {
            config.redis = Some("127.0.0.1:0".parse().unwrap());
            config.redis_durability = durability.parse().unwrap();
        });
        let mut redis = Redis::new(&place);
        assert_eq!(redis.ask("SET greeting hello"), "+OK");
        assert!(redis.ask_all("CONFIG GET appendfsync").contains(fsync));
    }
    assert_eq!(Config::default().redis_durability.name(), "commit");
}

pub fn place() -> Place {
    Place::with(|config| config.redis = Some("127.0.0.1:0".parse().unwrap()))
}

#[test]
fn what_a_redis_client_sets_is_there_over_http() {
    let place = place();
    let mut redis = Redis::new(&place);
    assert_eq!(redis.ask("SET greeting hello"), "+OK");
    assert_eq!(place.client().get("/v1/keyspaces/redis.0/keys/greeting").body, b"hello");
    assert_eq!(redis.ask("GET greeting"), "hello");
    place.stop();
}

#[test]
fn the_server_s_keys_are_redis_passwords() {
    let place = place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let (own, reader, amber) = (
        place.key("default", &[Scope::Admin]),
        place.key("default", &[Scope::Read]),
        place.key("amber", &[Scope::Admin]),
    );
    let mut redis = Redis::new(&place);
    assert!(redis.ask("GET a").starts_with("-NOAUTH"), "a key is needed once there is one");
    assert!(redis.ask("AUTH wrong").starts_with("-WRONGPASS"));
    assert!(redis.ask(&format!("AUTH birch {amber}")).starts_with("-WRONGPASS"), "the user is none of this key");
    assert_eq!(redis.ask(&format!("AUTH {own}")), "+OK");
    assert_eq!(redis.ask("SET a mine"), "+OK");
    let mut other = Redis::new(&place);
    assert_eq!(other.ask(&format!("AUTH amber {amber}")), "+OK");
    assert_eq!(other.ask("GET a"), "$-1", "another tenant's data");
    let mut reading = Redis::new(&place);
    assert_eq!(reading.ask(&format!("AUTH {reader}")), "+OK");
    assert_eq!(reading.ask("GET a"), "mine");
    assert!(reading.ask("SET a yours").starts_with('-'));
    place.stop();
}

#[test]
fn redis_listens_where_anybody_could_ask_only_with_keys() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let open = Config { redis: Some("0.0.0.0:0".parse().unwrap()), ..config(folder.path()) };
    let error = runtime.block_on(Server::bind(open)).map(drop).unwrap_err();
    assert!(error.message.contains("nuthatch key create"), "{error}");
}

#[test]
fn what_was_queued_is_not_run_once_its_key_has_ended() {
    let place = place();
    let (file, owner) = (place.keys(), place.key("default", &[Scope::Admin]));
    let (key, token) =
        file.create(NewKey::new("writer", Scopes::new([Scope::Read, Scope::Write])), Timestamp::now()).unwrap();
    let mut redis = Redis::new(&place);
    assert_eq!(redis.ask(&format!("AUTH {}", token.0)), "+OK");
    for command in ["SET a 1", "MULTI", "DEL a"] {
        assert!(redis.ask(command).starts_with('+'), "{command}");
    }
    file.revoke(&key.id, Timestamp::now()).unwrap();
    assert!(redis.ask("EXEC").starts_with("-NOAUTH"));
    let mut redis = Redis::new(&place);
    assert_eq!(redis.ask(&format!("AUTH {owner}")), "+OK");
    assert_eq!(redis.ask("GET a"), "1");
    place.stop();
}

#[test]
fn a_key_that_may_write_alone_reads_nothing_and_no_key_acts_as_another_in_a_transaction() {
    let place = place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/bolt", json!({})).is(201);
    let (writer, bolt_s) = (place.key("default", &[Scope::Write]), place.key("bolt", &[Scope::Admin]));
    let reader = place.key("bolt", &[Scope::Read]);
    let mut bolt = Redis::new(&place);
    assert_eq!(bolt.ask(&format!("AUTH {bolt_s}")), "+OK");
    assert_eq!(bolt.ask("SET precious 1"), "+OK");
    let mut redis = Redis::new(&place);
    assert_eq!(redis.ask(&format!("AUTH {writer}")), "+OK");
    for command in ["SET s x GET", "GETSET s x", "GETDEL s", "GETEX s EX 100", "INCR n", "RENAME s t"] {
        assert!(redis.ask(command).starts_with("-NOPERM"), "{command}");
    }
    assert_eq!(redis.ask("MULTI"), "+OK");
    assert_eq!(redis.ask("DEL precious"), "+QUEUED");
    assert!(redis.ask(&format!("AUTH {reader}")).starts_with("-ERR Command not allowed inside a transaction"));
    assert!(redis.ask("EXEC").starts_with("-EXECABORT"));
    assert_eq!(bolt.ask("GET precious"), "1");
    place.stop();
}

#[test]
fn metrics_count_what_redis_clients_do() {
    let place = place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let token = place.key("default", &[Scope::Read]);
    let mut redis = Redis::new(&place);
    assert!(redis.ask("AUTH wrong").starts_with("-WRONGPASS"));
    assert_eq!(redis.ask(&format!("AUTH {token}")), "+OK");
    for command in ["GET a", "get a", "SET a 1", "NOSUCH", "NOSUCH_EITHER"] {
        redis.ask(command);
    }
    let text = String::from_utf8(admin.get("/metrics").body).unwrap();
    for series in [
        "nuthatch_redis_commands_total{command=\"get\"} 2",
        "nuthatch_redis_commands_total{command=\"other\"} 2",
        "nuthatch_redis_commands_failed_total{command=\"set\"} 1",
        "nuthatch_redis_commands_failed_total{command=\"get\"} 0",
        "nuthatch_redis_authentications_failed_total 1",
        "nuthatch_redis_connections 1",
        "nuthatch_redis_connections_accepted_total 1",
        "nuthatch_redis_connections_refused_total 0",
    ] {
        assert!(text.contains(series), "{series} in {text}");
    }
    // Each of the seven was answered before the next was sent; the last may not be counted yet.
    let timed = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((6.0..=7.0).contains(&timed("nuthatch_redis_command_seconds_count ")), "{text}");
    assert!(timed("nuthatch_redis_command_seconds_bucket{le=\"+Inf\"} ") >= 6.0, "{text}");
    assert!(timed("nuthatch_redis_command_seconds_sum ") > 0.0, "{text}");
    place.stop();
}
