//! Hashes, lists, sets and sorted sets: what they answer, small and large, and that nothing of them stays behind.

mod support;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nuthatch_link::{Clock, Database, KeyScan, Options};
use nuthatch_resp::{Open, Server, Settings, Tenant};
use support::{Client, Said, bulk, bulks, ok, served};

/// More than a value holds as a whole.
const MANY: usize = 1000;

fn int(number: usize) -> Said {
    Said::Int(number as i64)
}

fn words(command: &str, rest: impl IntoIterator<Item = String>) -> Vec<String> {
    command.split(' ').map(String::from).chain(rest).collect()
}

fn say(client: &mut Client, command: &str, rest: impl IntoIterator<Item = String>) -> Said {
    let words = words(command, rest);
    client.ask_words(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
}

fn texts(said: Said) -> Vec<String> {
    let Said::Array(items) = said else { panic!("no list: {said:?}") };
    let text = |item| match item {
        Said::Bulk(bytes) => String::from_utf8(bytes).unwrap(),
        other => panic!("no text: {other:?}"),
    };
    items.into_iter().map(text).collect()
}

fn in_order(mut items: Vec<String>) -> Vec<String> {
    items.sort();
    items
}

/// Rows of the first database that are not those of an aggregate which is there.
fn rows(db: &Database) -> usize {
    let rows = db.kv("redis.0.rows").unwrap();
    rows.scan(&KeyScan { limit: 10_000, keys_only: true, ..KeyScan::default() }).unwrap().entries.len()
}

#[test]
fn a_large_hash_answers_what_a_small_one_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(7);
    let mut model: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..3 * MANY {
        // Small at first, large later.
        let field = format!("f{}", dice.usize(..round / 2 + 1));
        let value = format!("v{round}");
        match dice.usize(..10) {
            0 => {
                let there = model.remove(&field).is_some();
                assert_eq!(client.ask(&format!("HDEL h {field}")), int(usize::from(there)));
            }
            1 => {
                let is_new = !model.contains_key(&field);
                assert_eq!(client.ask(&format!("HSETNX h {field} {value}")), int(usize::from(is_new)));
                model.entry(field).or_insert(value);
            }
            _ => {
                let other = format!("f{}", dice.usize(..round / 2 + 1));
                let mut new = usize::from(model.insert(field.clone(), value.clone()).is_none());
                new += usize::from(model.insert(other.clone(), "x".into()).is_none());
                assert_eq!(client.ask(&format!("HSET h {field} {value} {other} x")), int(new));
            }
        }
        assert_eq!(client.ask("HLEN h"), int(model.len()));
    }
    assert!(model.len() > MANY / 2 && rows(&served.db) > model.len());
    let all = texts(client.ask("HGETALL h"));
    let all: BTreeMap<String, String> = all.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    assert_eq!(all, model);
    assert_eq!(in_order(texts(client.ask("HKEYS h"))), model.keys().cloned().collect::<Vec<_>>());
    let asked: Vec<String> = model.keys().take(5).cloned().chain(["none".into()]).collect();
    let told = asked.iter().map(|field| model.get(field).map_or(Said::Null, |value| bulk(value))).collect();
    assert_eq!(say(&mut client, "HMGET h", asked), Said::Array(told));
    assert_eq!((client.ask("HINCRBY h n 5"), client.ask("HINCRBY h n -7")), (Said::Int(5), Said::Int(-2)));
    let some = texts(client.ask("HRANDFIELD h 20"));
    assert_eq!(some.iter().collect::<BTreeSet<_>>().len(), 20, "they differ");
    assert!(some.iter().all(|field| model.contains_key(field) || field == "n"));
}

#[test]
fn a_large_set_answers_what_a_small_one_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(8);
    let mut model: BTreeSet<String> = BTreeSet::new();
    for round in 0..2 * MANY {
        let member = format!("m{}", dice.usize(..round + 1));
        match dice.usize(..6) {
            0 => {
                let there = usize::from(model.remove(&member));
                assert_eq!(client.ask(&format!("SREM s {member} {member}")), int(there));
            }
            1 => {
                let there = usize::from(model.contains(&member));
                assert_eq!(client.ask(&format!("SISMEMBER s {member}")), int(there));
            }
            _ => {
                let new = usize::from(model.insert(member.clone()));
                assert_eq!(client.ask(&format!("SADD s {member} {member}")), int(new));
            }
        }
        assert_eq!(client.ask("SCARD s"), int(model.len()));
    }
    assert!(model.len() > MANY / 2);
    assert_eq!(in_order(texts(client.ask("SMEMBERS s"))), model.iter().cloned().collect::<Vec<_>>());
    // A page after another gives every member once.
    let (mut seen, mut cursor, mut pages) = (Vec::new(), "0".to_string(), 0);
    loop {
        let Said::Array(page) = client.ask(&format!("SSCAN s {cursor} COUNT 37")) else { panic!() };
        let [Said::Bulk(next), items] = &page[..] else { panic!() };
        seen.extend(texts(items.clone()));
        pages += 1;
        cursor = String::from_utf8(next.clone()).unwrap();
        if cursor == "0" {
            break;
        }
    }
    assert!(pages > 10);
    assert_eq!(in_order(seen), model.iter().cloned().collect::<Vec<_>>());
    let popped = texts(client.ask("SPOP s 30"));
    assert_eq!(popped.iter().filter(|member| model.remove(*member)).count(), 30);
    assert_eq!(client.ask("SCARD s"), int(model.len()));
    say(&mut client, "SADD other", (0..2 * MANY).step_by(3).map(|n| format!("m{n}")));
    let other: BTreeSet<String> = (0..2 * MANY).step_by(3).map(|n| format!("m{n}")).collect();
    let both: Vec<String> = model.intersection(&other).cloned().collect();
    assert_eq!(in_order(texts(client.ask("SINTER s other"))), both);
    assert_eq!(client.ask("SINTERCARD 2 s other"), int(both.len()));
    assert_eq!(client.ask("SINTERCARD 2 s other LIMIT 5"), Said::Int(5));
    assert_eq!(client.ask("SDIFFSTORE d s other"), int(model.len() - both.len()));
    assert_eq!(client.ask("SUNIONSTORE u s other"), int(model.union(&other).count()));
    assert_eq!((client.ask("SMOVE u d m0"), client.ask("SISMEMBER d m0")), (Said::Int(1), Said::Int(1)));
    let counts = (0..4000).map(|_| client.ask("SRANDMEMBER other")).collect::<Vec<_>>();
    let often = counts.iter().filter(|said| **said == counts[0]).count();
    assert!(often < 60, "of {} members each comes 6 times, and {:?} came {often} times", other.len(), counts[0]);
}

#[test]
fn a_large_list_answers_what_a_small_one_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(9);
    let mut model: VecDeque<String> = VecDeque::new();
    for round in 0..3 * MANY {
        let item = format!("i{}", dice.usize(..50));
        match dice.usize(..8) {
            0 => assert_eq!(client.ask("LPOP l"), model.pop_front().map_or(Said::Null, |item| bulk(&item))),
            1 => assert_eq!(client.ask("RPOP l"), model.pop_back().map_or(Said::Null, |item| bulk(&item))),
            2 if !model.is_empty() => {
                let at = dice.usize(..model.len());
                assert_eq!(client.ask(&format!("LSET l {at} {item}")), ok());
                model[at] = item;
            }
            3 | 4 => {
                model.push_front(item.clone());
                assert_eq!(client.ask(&format!("LPUSH l {item}")), int(model.len()));
            }
            5 if round % 50 == 0 => {
                let at = model.iter().position(|other| *other == item);
                let said = client.ask(&format!("LINSERT l AFTER {item} new{round}"));
                if let Some(at) = at {
                    model.insert(at + 1, format!("new{round}"));
                    assert_eq!(said, int(model.len()));
                }
            }
            6 if round % 50 == 0 => {
                let before = model.len();
                model.retain(|other| *other != item);
                assert_eq!(client.ask(&format!("LREM l 0 {item}")), int(before - model.len()));
            }
            _ => {
                model.push_back(item.clone());
                assert_eq!(client.ask(&format!("RPUSH l {item}")), int(model.len()));
            }
        }
    }
    assert!(model.len() > MANY / 2 && rows(&served.db) > model.len());
    assert_eq!(texts(client.ask("LRANGE l 0 -1")), Vec::from(model.clone()));
    for at in [0, 1, model.len() / 2, model.len() - 1] {
        assert_eq!(client.ask(&format!("LINDEX l {at}")), bulk(&model[at]));
        assert_eq!(client.ask(&format!("LINDEX l -{}", model.len() - at)), bulk(&model[at]));
    }
    assert_eq!(client.ask(&format!("LINDEX l {}", model.len())), Said::Null);
    assert_eq!(client.ask("LTRIM l 5 -6"), ok());
    let kept: Vec<String> = model.iter().skip(5).take(model.len() - 10).cloned().collect();
    assert_eq!(texts(client.ask("LRANGE l 0 -1")), kept);
    let first = kept.iter().position(|item| *item == kept[3]).unwrap();
    assert_eq!(client.ask(&format!("LPOS l {}", kept[3])), int(first));
    assert_eq!(client.ask("LMOVE l other LEFT RIGHT"), bulk(&kept[0]));
    assert_eq!(client.ask("RPOPLPUSH l l"), bulk(&kept[kept.len() - 1]));
    assert_eq!(client.ask("LINDEX l 0"), bulk(&kept[kept.len() - 1]));
}

#[test]
fn a_large_sorted_set_answers_what_a_small_one_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(10);
    let mut model: BTreeMap<String, i64> = BTreeMap::new();
    for round in 0..2 * MANY {
        let (member, score) = (format!("m{}", dice.usize(..round + 1)), dice.i64(-500..500));
        match dice.usize(..6) {
            0 => {
                let there = usize::from(model.remove(&member).is_some());
                assert_eq!(client.ask(&format!("ZREM z {member}")), int(there));
            }
            1 => {
                let sum = model.entry(member.clone()).and_modify(|old| *old += score).or_insert(score);
                assert_eq!(client.ask(&format!("ZINCRBY z {score} {member}")), bulk(&sum.to_string()));
            }
            _ => {
                let new = usize::from(model.insert(member.clone(), score).is_none());
                assert_eq!(client.ask(&format!("ZADD z {score} {member}")), int(new));
            }
        }
    }
    assert_eq!(client.ask("ZCARD z"), int(model.len()));
    let mut order: Vec<(i64, String)> = model.iter().map(|(member, score)| (*score, member.clone())).collect();
    order.sort();
    let names = |part: &[(i64, String)]| part.iter().map(|(_, member)| member.clone()).collect::<Vec<_>>();
    assert_eq!(texts(client.ask("ZRANGE z 0 -1")), names(&order));
    assert_eq!(texts(client.ask("ZRANGE z 10 19")), names(&order[10..20]));
    let reversed: Vec<_> = order.iter().rev().cloned().collect();
    assert_eq!(texts(client.ask("ZREVRANGE z 3 7")), names(&reversed[3..8]));
    let between = |from: i64, to: i64| order.iter().filter(|(score, _)| (from..=to).contains(score)).cloned().collect();
    let some: Vec<_> = between(-50, 50);
    assert_eq!(texts(client.ask("ZRANGEBYSCORE z -50 50")), names(&some));
    assert_eq!(texts(client.ask("ZRANGEBYSCORE z (-51 (51 LIMIT 2 3")), names(&some[2..5]));
    let mut back: Vec<_> = some.clone();
    back.reverse();
    assert_eq!(texts(client.ask("ZRANGE z 50 -50 BYSCORE REV LIMIT 0 4")), names(&back[..4]));
    assert_eq!(client.ask("ZCOUNT z -50 +inf"), int(between(-50, i64::MAX).len()));
    for at in [0, 5, order.len() - 1] {
        let member = &order[at].1;
        assert_eq!(client.ask(&format!("ZRANK z {member}")), int(at));
        assert_eq!(client.ask(&format!("ZREVRANK z {member}")), int(order.len() - 1 - at));
        assert_eq!(client.ask(&format!("ZSCORE z {member}")), bulk(&order[at].0.to_string()));
    }
    let popped = texts(client.ask("ZPOPMAX z 2"));
    let told = reversed[..2].iter().flat_map(|(score, member)| [member.clone(), score.to_string()]);
    assert_eq!(popped, told.collect::<Vec<_>>());
    assert_eq!(client.ask("ZREMRANGEBYRANK z 0 9"), Said::Int(10));
    assert_eq!(texts(client.ask("ZRANGE z 0 0")), names(&order[10..11]));
    assert_eq!(client.ask("ZRANGESTORE part z 0 4"), Said::Int(5));
    assert_eq!(texts(client.ask("ZUNION 2 part part WEIGHTS 1 2 WITHSCORES")).len(), 10);
    say(&mut client, "ZADD lex", (0..MANY).flat_map(|n| ["0".into(), format!("w{n:04}")]));
    assert_eq!(texts(client.ask("ZRANGEBYLEX lex [w0010 (w0013")), ["w0010", "w0011", "w0012"]);
    assert_eq!(client.ask("ZLEXCOUNT lex - (w0100"), Said::Int(100));
    assert_eq!(texts(client.ask("ZREVRANGEBYLEX lex + - LIMIT 0 2")), ["w0999", "w0998"]);
    assert_eq!(client.ask("ZLEXCOUNT lex + -"), Said::Int(0));
}

#[test]
fn what_was_deleted_overwritten_or_has_expired_leaves_no_rows() {
    let now_ms = Arc::new(AtomicU64::new(1_000_000));
    let clock = || {
        let now_ms = now_ms.clone();
        Clock::from_fn(move || now_ms.load(Ordering::SeqCst))
    };
    let pass = |seconds: u64| now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    let db = Database::in_memory(Options { clock: clock(), ..Options::default() }).unwrap();
    let server = start(&db, Settings { clock: clock(), ..Settings::default() });
    let mut client = Client::connect(&server);
    let fill = |client: &mut Client, key: &str| {
        assert_eq!(say(client, &format!("SADD {key}"), (0..MANY).map(|n| n.to_string())), int(MANY));
    };
    for remove in ["DEL s", "SET s string", "SDIFFSTORE s s s", "UNLINK s", "SINTERSTORE s none", "LTRIM s 1 0"] {
        match remove {
            "LTRIM s 1 0" => drop(say(&mut client, "RPUSH s", (0..MANY).map(|n| n.to_string()))),
            _ => fill(&mut client, "s"),
        }
        assert!(rows(&db) > MANY);
        assert!(!matches!(client.ask(remove), Said::Error(_)), "{remove}");
        assert_eq!(rows(&db), 0, "{remove}");
        client.ask("DEL s");
    }
    fill(&mut client, "s");
    assert_eq!((client.ask("RENAME s t"), client.ask("SCARD t"), client.ask("EXISTS s")), (ok(), int(MANY), int(0)));
    assert_eq!(client.ask("COPY t u"), Said::Int(1));
    assert_eq!((client.ask("SREM u 5"), client.ask("SISMEMBER t 5")), (Said::Int(1), Said::Int(1)));
    assert_eq!((client.ask("RENAME u t"), client.ask("SCARD t")), (ok(), int(MANY - 1)));
    assert!(rows(&db) < MANY + 10, "what was renamed over is gone");
    // A key that expires, is renamed, and lives longer than it was to at first.
    assert_eq!(client.ask("PEXPIRE t 1000"), Said::Int(1));
    assert_eq!((client.ask("PEXPIRE t 100000"), client.ask("RENAME t s")), (Said::Int(1), ok()));
    pass(50);
    assert_eq!((client.ask("GET none"), client.ask("SCARD s")), (Said::Null, int(MANY - 1)));
    pass(51);
    assert_eq!(client.ask("SCARD s"), Said::Int(0));
    pass(20);
    client.ask("GET none");
    assert_eq!(rows(&db), 0);
    fill(&mut client, "s");
    assert_eq!((client.ask("FLUSHDB"), rows(&db)), (ok(), 0));
}

#[test]
fn a_crash_between_a_deletion_and_its_purge_leaves_nothing_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let dead = {
        let db = Database::open(folder.path(), Options::default()).unwrap();
        let server = start(&db, Settings::default());
        let mut client = Client::connect(&server);
        say(&mut client, "SADD s", (0..MANY).map(|n| n.to_string()));
        server.stop(Duration::from_secs(5));
        // As a crash leaves it: the key has gone, and a row says whose rows are to go.
        let rows = db.kv("redis.0.rows").unwrap();
        let (owner, _) = rows.scan(&KeyScan { limit: 1, ..KeyScan::prefix("r") }).unwrap().entries.pop().unwrap();
        db.kv("redis.0").unwrap().delete(&["s"]).unwrap();
        let dead = [b"d", &owner[1..9]].concat();
        rows.put(dead.clone(), "").unwrap();
        db.close().unwrap();
        dead
    };
    let db = Database::open(folder.path(), Options::default()).unwrap();
    assert!(db.kv("redis.0.rows").unwrap().get(&dead).unwrap().is_some());
    // Another interface deletes a key and knows nothing of rows.
    {
        let server = start(&db, Settings::default());
        let mut client = Client::connect(&server);
        say(&mut client, "SADD other", (0..MANY).map(|n| n.to_string()));
        say(&mut client, "SADD kept", (0..MANY).map(|n| n.to_string()));
        db.kv("redis.0").unwrap().delete(&["other"]).unwrap();
    }
    assert!(rows(&db) > 2 * MANY);
    let server = start(&db, Settings::default());
    let mut client = Client::connect(&server);
    assert_eq!((client.ask("GET any"), client.ask("SCARD kept")), (Said::Null, int(MANY)));
    assert_eq!(rows(&db), MANY + 1, "those of the key that is there, and its name");
}

fn start(db: &Database, settings: Settings) -> Server {
    let gate = Arc::new(Open(Tenant::new(db.clone())));
    Server::start(std::net::TcpListener::bind("127.0.0.1:0").unwrap(), gate, settings).unwrap()
}

#[test]
fn many_clients_of_one_large_key_lose_nothing() {
    let served = served(Settings::default());
    let mut client = served.client();
    say(&mut client, "HSET h", (0..MANY).flat_map(|n| [format!("f{n}"), "0".into()]));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let mut client = served.client();
            scope.spawn(move || {
                for round in 0..200 {
                    assert_eq!(client.ask(&format!("HSET h new{thread}.{round} x")), Said::Int(1));
                    client.ask("HINCRBY h f0 1");
                    client.ask(&format!("RPUSH l {thread}.{round}"));
                    client.ask(&format!("ZINCRBY z 1 m{}", round % 5));
                }
            });
        }
    });
    assert_eq!(client.ask("HLEN h"), int(MANY + 1600));
    assert_eq!(client.ask("HGET h f0"), bulk("1600"));
    assert_eq!(client.ask("LLEN l"), int(1600));
    assert_eq!(texts(client.ask("LRANGE l 0 -1")).into_iter().collect::<BTreeSet<_>>().len(), 1600);
    assert_eq!(client.ask("ZSCORE z m0"), bulk("320"));
}

#[test]
fn transactions_and_watch_see_changes_of_large_keys() {
    let served = served(Settings::default());
    let (mut client, mut other) = (served.client(), served.client());
    say(&mut client, "HSET h", (0..MANY).flat_map(|n| [format!("f{n}"), "0".into()]));
    assert_eq!((client.ask("WATCH h"), client.ask("MULTI")), (ok(), ok()));
    client.ask("HSET h f1 mine");
    assert_eq!(other.ask("HSET h f2 theirs"), Said::Int(0), "no field is new");
    assert_eq!(client.ask("EXEC"), Said::Null);
    assert_eq!(client.ask("HGET h f1"), bulk("0"));
    assert_eq!(client.ask("MULTI"), ok());
    for command in ["HSET h f1 mine", "HGET h f1", "HDEL h f1", "HLEN h", "RPUSH l a b", "LPOP l", "DEL h", "HLEN h"] {
        assert_eq!(client.ask(command), Said::Simple("QUEUED".into()));
    }
    let told = [int(0), bulk("mine"), int(1), int(MANY - 1), int(2), bulk("a"), int(1), int(0)];
    assert_eq!(client.ask("EXEC"), Said::Array(told.into()));
    assert_eq!(rows(&served.db), 0);
}

#[test]
fn a_client_that_waits_gets_what_another_pushes() {
    let served = served(Settings::default());
    let (mut waiting, mut other) = (served.client(), served.client());
    waiting.send(&support::encoded(&[b"BLPOP", b"a", b"b", b"0"]));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(other.ask("RPUSH b 1 2"), Said::Int(2));
    assert_eq!(waiting.read(), bulks(&["b", "1"]));
    assert_eq!(waiting.ask("BRPOP a b 1"), bulks(&["b", "2"]));
    let began = Instant::now();
    assert_eq!(waiting.ask("BLPOP a b 0.2"), Said::Null);
    assert!(began.elapsed() >= Duration::from_millis(200));
    waiting.send(&support::encoded(&[b"BZPOPMIN", b"z", b"0"]));
    assert_eq!(other.ask("ZADD z 2 two 1 one"), Said::Int(2));
    assert_eq!(waiting.read(), bulks(&["z", "one", "1"]));
    // A write by another face is found, too; and within a transaction nobody waits.
    waiting.send(&support::encoded(&[b"BLMOVE", b"from", b"to", b"LEFT", b"LEFT", b"0"]));
    other.ask("RPUSH elsewhere x");
    let value = served.db.kv("redis.0").unwrap().get("elsewhere").unwrap().unwrap();
    served.db.kv("redis.0").unwrap().put("from", value).unwrap();
    assert_eq!(waiting.read(), bulk("x"));
    assert_eq!((other.ask("MULTI"), other.ask("BLPOP none 0")), (ok(), Said::Simple("QUEUED".into())));
    assert_eq!(other.ask("EXEC"), Said::Array(vec![Said::Null]));
    for (command, said) in
        [("BLPOP a x", "timeout is not a float or out of range"), ("BLPOP a -1", "timeout is negative")]
    {
        assert_eq!(other.ask(command), Said::Error(format!("ERR {said}")));
    }
}

#[test]
fn a_server_stops_while_clients_wait_and_a_client_may_go() {
    let served = served(Settings::default());
    let mut waiting = served.client();
    waiting.send(&support::encoded(&[b"BLPOP", b"a", b"0"]));
    drop(waiting);
    let mut still = served.client();
    still.send(&support::encoded(&[b"BLPOP", b"a", b"0"]));
    let until = Instant::now() + Duration::from_secs(60);
    while served.server.connections() > 1 {
        assert!(Instant::now() < until, "the connection of a client that has gone ends");
        std::thread::sleep(Duration::from_millis(10));
    }
    served.server.stop(Duration::from_secs(60));
    assert_eq!(served.server.connections(), 0);
    assert!(still.is_closed());
}

#[test]
fn bad_input_is_an_error_and_changes_nothing() {
    let served = served(Settings::default());
    let mut client = served.client();
    for command in ["RPUSH l a", "SADD s a", "ZADD z 1 a", "HSET h a 1", "SET t x"] {
        client.ask(command);
    }
    let wrong = Said::Error("WRONGTYPE Operation against a key holding the wrong kind of value".into());
    for command in
        ["LPUSH s x", "SADD z x", "ZADD l 1 x", "HSET l a 1", "GET l", "APPEND s x", "LRANGE h 0 -1", "SORT t"]
    {
        assert_eq!(client.ask(command), wrong, "{command}");
    }
    for (command, said) in [
        ("ZADD z x a", "value is not a valid float"),
        ("ZADD z nan a", "value is not a valid float"),
        ("ZADD z NX XX 1 a", "XX and NX options at the same time are not compatible"),
        ("ZADD z NX GT 1 a", "GT, LT, and/or NX options at the same time are not compatible"),
        ("ZADD z INCR 1 a 2 b", "INCR option supports a single increment-element pair"),
        ("ZADD z 1", "wrong number of arguments for 'zadd' command"),
        ("ZADD z 1 a 2", "syntax error"),
        (
            "ZRANGE z 0 -1 LIMIT 0 1",
            "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ),
        ("ZRANGEBYSCORE z a b", "min or max is not a float"),
        ("ZRANGEBYLEX z a b", "min or max not valid string range item"),
        ("LSET l 5 x", "index out of range"),
        ("LSET none 0 x", "no such key"),
        ("LPOP l -1", "value is out of range, must be positive"),
        ("LINSERT l BESIDE a x", "syntax error"),
        (
            "LPOS l a RANK 0",
            "RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
        ),
        ("SINTERCARD 0 s", "numkeys must be a positive integer"),
        ("SINTERCARD 2 s", "syntax error"),
        ("ZUNION 1 z WEIGHTS x", "weight value is not a float"),
        ("SORT l", "One or more scores can't be converted into double"),
        ("HSET h a", "wrong number of arguments for 'hset' command"),
    ] {
        assert_eq!(client.ask(command), Said::Error(format!("ERR {said}")), "{command}");
    }
    client.ask("ZADD z inf b");
    let nan = Said::Error("ERR resulting score is not a number (NaN)".into());
    assert_eq!(client.ask("ZINCRBY z -inf b"), nan);
    let long = "x".repeat(66_000);
    say(&mut client, "HSET h", (0..MANY).flat_map(|n| [format!("f{n}"), "0".into()]));
    assert!(
        matches!(client.ask(&format!("HSET h {long} 1")), Said::Error(said) if said.contains("the limit is 65517"))
    );
    assert_eq!((client.ask("HLEN h"), client.ask("LLEN l"), client.ask("SCARD s")), (int(MANY + 1), int(1), int(1)));
}
