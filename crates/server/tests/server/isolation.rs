//! Eight tenants use the same names at the same time over HTTP, Redis and Flight: no tenant sees another's records or keys.
//! Graphs and MCP have tests of their own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, StringArray};
use arrow_flight::FlightData;
use nuthatch_server::Scope;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::client::{Answer, Client};
use crate::flight::{self, Flight};
use crate::place::Place;
use crate::redis::Redis;

const NAMES: [&str; 8] = ["amber", "birch", "cedar", "dune", "elder", "fern", "gorse", "heath"];

/// State shared by all tenants: counts, and cursors that one tenant was given and another tries.
#[derive(Default)]
struct World {
    crossed: AtomicU64,
    operations: AtomicU64,
    cursors: Mutex<Vec<String>>,
    /// With whose they are.
    snapshots: Mutex<Vec<(&'static str, String)>>,
}

/// One tenant with its clients and what its keys hold.
struct Tenant<'w> {
    name: &'static str,
    world: &'w World,
    place: &'w Place,
    admin: &'w Client,
    client: Client,
    token: String,
    redis: Redis,
    flight: Flight,
    keys: BTreeMap<String, String>,
    dice: fastrand::Rng,
    /// Something was written; each value is another.
    written: u64,
}

/// In every value, and in no name: who is asked about may be named in an error.
fn mark(name: &str) -> String {
    format!("<<of {name}>>")
}

impl Tenant<'_> {
    fn value(&mut self) -> String {
        self.written += 1;
        format!("{}{}", mark(self.name), self.written)
    }

    fn key(&mut self) -> String {
        format!("k{}", self.dice.u32(..20))
    }

    fn look(&self, said: &str) {
        self.world.operations.fetch_add(1, Ordering::Relaxed);
        let is_there = |other: &&&str| said.contains(&mark(other));
        if let Some(other) = NAMES.iter().filter(|other| **other != self.name).find(is_there) {
            self.world.crossed.fetch_add(1, Ordering::SeqCst);
            eprintln!("{} has seen what is {other}'s: {said}", self.name);
        }
    }

    fn seen(&self, answer: &Answer) {
        self.look(&String::from_utf8_lossy(&answer.body));
        assert!(answer.status < 500 || answer.status == 503, "{answer:?}");
    }

    fn ask(&mut self, command: &str) -> String {
        let said = self.redis.ask_all(command);
        self.look(&said);
        said
    }

    fn step(&mut self) {
        let (key, value, dice) = (self.key(), self.value(), self.dice.u32(..1200));
        match dice {
            0..150 => {
                let path = format!("/v1/keyspaces/redis.0/keys/{key}?durability=os");
                assert_eq!(self.client.put_bytes(&path, value.as_bytes()).status, 204);
                self.world.operations.fetch_add(1, Ordering::Relaxed);
                self.keys.insert(key, value);
            }
            150..300 => {
                let answer = self.client.get(&format!("/v1/keyspaces/redis.0/keys/{key}"));
                self.seen(&answer);
                let held = (answer.status == 200).then(|| answer.text().to_string());
                assert_eq!(held.as_ref(), self.keys.get(&key), "{} {key}", self.name);
            }
            300..400 => {
                assert_eq!(self.ask(&format!("SET {key} '{value}'")), "+OK\r\n");
                self.keys.insert(key, value);
            }
            400..520 => {
                let said = self.ask(&format!("GET {key}"));
                let held =
                    self.keys.get(&key).map_or("$-1\r\n".into(), |value| format!("${}\r\n{value}\r\n", value.len()));
                assert_eq!(said, held, "{} {key}", self.name);
            }
            520..560 => {
                self.ask(&format!("DEL {key}"));
                self.keys.remove(&key);
            }
            560..600 => self.scan(),
            600..620 => {
                for command in
                    ["KEYS *", "SCAN 0", "SCAN 3", "RANDOMKEY", "DBSIZE", "CLIENT LIST", "INFO", "NH.COLLECTIONS"]
                {
                    self.ask(command);
                }
            }
            620..700 => self.store(&value),
            700..800 => self.search(),
            800..850 => {
                let answer =
                    self.client.post("/v1/collections/notes/delete?durability=os", json!({"ids": [key, "r1"]}));
                self.seen(&answer);
            }
            850..890 => {
                self.ask(&format!(
                    "VADD birds VALUES 2 {} 1 {key} SETATTR '{{\"of\": \"{value}\"}}'",
                    self.written % 7
                ));
                self.ask("VSIM birds VALUES 2 1 1 WITHSCORES WITHATTRIBS TRUTH");
                self.ask(&format!("VREM birds {key}"));
            }
            890..940 => self.reach_out(),
            940..945 => self.look_back(),
            945..950 => self.seen(&self.client.post("/v1/collections/notes/optimize", json!({"wait_ms": 200}))),
            950..956 => self.seen(&self.client.delete("/v1/collections/notes")),
            956..962 => {
                self.ask("FLUSHDB");
                self.keys.clear();
            }
            962 => self.seen(&self.client.post("/v1/collections/notes/erase", json!({"prefix": "r"}))),
            963 if self.dice.u8(..4) == 0 => self.vanish(),
            1000..1050 => self.fly_in(&value),
            1050..1110 => self.fly_out(),
            1110..1140 => {
                let by = match self.dice.bool() {
                    true => json!({"collection": "notes", "ids": [key, "r2"], "durability": "os"}),
                    false => json!({"collection": "notes", "where": format!("of = '{value}'"), "durability": "os"}),
                };
                self.acted("delete", &by);
            }
            1140..1165 => self.keep_a_moment(),
            1165..1200 => self.fly_away(),
            _ => {
                self.ask(&format!("HSET h{key} f '{value}'"));
                self.ask(&format!("HGETALL h{key}"));
                self.ask(&format!("DEL h{key}"));
            }
        }
    }

    /// Pages of keys, with a cursor that may be another's.
    fn scan(&mut self) {
        let mut body = json!({"limit": 3});
        let mut cursors = self.world.cursors.lock().unwrap();
        if !cursors.is_empty() && self.dice.bool() {
            body["cursor"] = json!(cursors[self.dice.usize(..cursors.len())]);
        }
        drop(cursors);
        let answer = self.client.post("/v1/keyspaces/redis.0/scan", body);
        self.seen(&answer);
        if let Some(cursor) =
            (answer.status == 200).then(|| answer.json()["cursor"].as_str().map(str::to_string)).flatten()
        {
            cursors = self.world.cursors.lock().unwrap();
            cursors.push(cursor);
            let kept = cursors.len().saturating_sub(50);
            cursors.drain(..kept);
        }
    }

    /// As of snapshots, one's own and others'.
    fn look_back(&mut self) {
        let taken = self.client.post("/v1/snapshots", json!(null));
        self.seen(&taken);
        let mut all = self.world.snapshots.lock().unwrap();
        if taken.status == 201 {
            all.push((self.name, taken.json()["id"].as_str().unwrap().to_string()));
        }
        let some: Vec<(&str, String)> = (0..4).filter_map(|_| self.dice.choice(all.iter()).cloned()).collect();
        let crowded = all.len().saturating_sub(64);
        all.drain(..crowded);
        drop(all);
        for (owner, id) in some {
            let then = self.client.at(&id);
            let key = self.key();
            let answers = [
                then.get(&format!("/v1/keyspaces/redis.0/keys/{key}")),
                then.post("/v1/keyspaces/redis.0/scan", json!({})),
                then.get("/v1/collections/notes/records?limit=100"),
                then.post("/v1/collections/notes/search", json!({"text": "bird", "limit": 100})),
            ];
            answers.iter().for_each(|answer| self.seen(answer));
            if owner != self.name {
                assert!(answers.iter().all(|answer| answer.status == 409), "{answers:?}");
                answers[0].fails(409, "conflict");
                self.client.delete(&format!("/v1/snapshots/{id}")).fails(404, "not_found");
                let writes = json!({"writes": [{"keys": {"keyspace": "redis.0", "changes": []}}]});
                self.client.post(&format!("/v1/snapshots/{id}/commit"), writes).fails(409, "conflict");
            } else if self.dice.bool() {
                self.seen(&self.client.delete(&format!("/v1/snapshots/{id}")));
            }
        }
        let listed = self.client.get("/v1/snapshots");
        self.seen(&listed);
        let known = self.world.snapshots.lock().unwrap();
        let others = known.iter().filter(|(owner, _)| *owner != self.name);
        assert!(others.filter(|(_, id)| listed.text().contains(id.as_str())).count() == 0, "{listed:?}");
    }

    fn store(&mut self, value: &str) {
        self.seen(&self.client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})));
        let records: Vec<Value> = (0..5)
            .map(|at| json!({"id": format!("r{at}"), "text": format!("bird {value}"), "vector": [at, 1], "payload": {"of": value}}))
            .collect();
        self.seen(&self.client.post("/v1/collections/notes/records?durability=os", json!({"records": records})));
    }

    fn search(&mut self) {
        let answers = [
            self.client.post("/v1/collections/notes/search", json!({"text": "bird", "limit": 100})),
            self.client.post(
                "/v1/collections/notes/search",
                json!({"vector": [0, 1], "limit": 100, "exact": self.dice.bool()}),
            ),
            self.client.get("/v1/collections/notes/records?limit=100"),
            self.client.get("/v1/collections/notes/records/r0"),
            self.client.get("/v1/collections"),
        ];
        answers.iter().for_each(|answer| self.seen(answer));
        self.ask("NH.SEARCH notes TEXT bird LIMIT 50");
    }

    /// Names and numbers that would lead out, if anything did.
    fn reach_out(&mut self) {
        let other = NAMES[self.dice.usize(..NAMES.len())];
        let names = [
            format!("..%2F{other}%2Fnotes"),
            format!("{other}%2Fnotes"),
            other.to_string(),
            "%00%00%00%01".into(),
            "..".into(),
            format!("..%2F..%2Findexes%2F{}%2F1", self.dice.u32(..10)),
        ];
        for name in &names {
            self.seen(&self.client.get(&format!("/v1/collections/{name}")));
            self.seen(&self.client.get(&format!("/v1/collections/{name}/records")));
            self.seen(&self.client.get(&format!("/v1/keyspaces/{name}/keys/k1")));
        }
        for path in [format!("/v1/tenants/{other}"), "/v1/stats".into(), "/v1/audit".into(), "/v1/receipts".into()] {
            let answer = self.client.get(&path);
            self.seen(&answer);
            assert_eq!(answer.status, 403);
        }
        for command in [
            format!("GET {other}/k1"),
            "GET \"\\x00\\x00\\x00\\x01k1\"".to_string(),
            format!("NH.SEARCH {other}/notes TEXT bird"),
        ] {
            self.ask(&command);
        }
        let cursor = self.dice.u64(..);
        self.ask(&format!("SCAN {cursor}"));
    }

    /// Inspects an answer from Flight, and returns it unless it is an error.
    fn told<T>(&self, said: Result<T, Status>, text: impl Fn(&T) -> String) -> Option<T> {
        match said {
            Ok(said) => {
                self.look(&text(&said));
                Some(said)
            }
            Err(status) => {
                self.look(status.message());
                assert!(!matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss), "{status:?}");
                None
            }
        }
    }

    fn acted(&mut self, action: &str, body: &Value) -> Option<Value> {
        let said = self.flight.act(action, body);
        self.told(said, Value::to_string)
    }

    fn read(&mut self, ticket: &Value) -> Option<Vec<FlightData>> {
        let said = self.flight.get(ticket);
        self.told(said, |messages| flight::text_of(messages))
    }

    fn fly_in(&mut self, value: &str) {
        self.acted("create", &json!({"collection": "notes", "embedder": "none", "dim": 2}));
        let ids: Vec<String> = (0..5).map(|at| format!("r{at}")).collect();
        let texts: Vec<String> = ids.iter().map(|id| format!("bird {id} {value}")).collect();
        let of = Arc::new(StringArray::from_iter_values(ids.iter().map(|_| value))) as ArrayRef;
        let batch = flight::records(
            &ids,
            &texts,
            &[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0]],
            vec![("of", of)],
        );
        let said = self.flight.put(&json!({"collection": "notes", "durability": "os"}), &batch);
        self.told(said, Value::to_string);
    }

    fn fly_out(&mut self) {
        for ticket in [
            json!({"collection": "notes"}),
            json!({"collection": "notes", "columns": ["id", "text", "of"], "where": "of >= ''"}),
            json!({"collection": "notes", "search": {"text": "bird", "limit": 100}}),
            json!({"collection": "notes", "search": {"vector": [0, 1], "limit": 100, "exact": self.dice.bool()}}),
        ] {
            self.read(&ticket);
        }
        let command = json!({"collection": "notes", "columns": ["id", "text", "of"], "search": {"limit": 50}});
        let said = self.flight.exchange(&command, &flight::questions(&[[0.0, 1.0], [2.0, 1.0]]));
        self.told(said, |messages| flight::text_of(messages));
        self.acted("stats", &json!({"collection": "notes"}));
    }

    /// Snapshots have the same names everywhere, too. They end here, or when another tenant is dropped.
    fn keep_a_moment(&mut self) {
        let name = format!("moment {}", self.dice.u32(..3));
        self.acted("snapshot", &json!({"name": name}));
        self.read(&json!({"collection": "notes", "snapshot": name}));
        self.read(&json!({"collection": "notes", "snapshot": name, "search": {"text": "bird"}}));
        self.acted("release", &json!({"name": name}));
    }

    /// The same as [`reach_out`](Self::reach_out) over Flight.
    fn fly_away(&mut self) {
        let other = NAMES[self.dice.usize(..NAMES.len())];
        for name in [format!("../{other}/notes"), format!("{other}/notes"), other.into(), "\0\0\0\u{1}notes".into()] {
            self.read(&json!({"collection": name}));
            self.acted("stats", &json!({"collection": name}));
            self.acted("drop", &json!({"collection": name}));
        }
        let refused = self.flight.act("stats", &json!({})).unwrap_err();
        self.look(refused.message());
        assert_eq!(refused.code(), Code::PermissionDenied);
    }

    /// Drops the tenant and creates it again: nothing of it is left.
    fn vanish(&mut self) {
        let path = format!("/v1/tenants/{}", self.name);
        let dropped = self.admin.delete(&path);
        assert!([200, 409].contains(&dropped.status), "{dropped:?}");
        while self.admin.put(&path, json!({})).status != 201 {
            // Another's drop came between; this one goes on.
            self.admin.delete(&path);
        }
        self.keys.clear();
        // Its keys went with it.
        self.client.get("/v1/keyspaces").fails(401, "unauthenticated");
        self.token = self.place.key(self.name, &[Scope::Admin]);
        self.client = self.place.client().with_key(&self.token);
        self.flight = Flight::new(self.place.address).with_key(&self.token);
        self.redis = connect(self.place, &self.token);
        let left = self.ask("KEYS *");
        assert!(left.starts_with("*0"), "{left:?}");
    }
}

fn connect(place: &Place, token: &str) -> Redis {
    let mut redis = Redis::new(place);
    assert_eq!(redis.ask(&format!("AUTH {token}")), "+OK");
    redis
}

#[test]
fn no_row_of_a_tenant_is_seen_by_another_through_any_face() {
    let place = Place::with(|config| {
        config.redis = Some("127.0.0.1:0".parse().unwrap());
        // A tenant's drop ends the snapshots of all others.
        config.erasure_grace = std::time::Duration::from_millis(100);
    });
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let steps: u64 = if std::env::var_os("NUTHATCH_LONG").is_some() { 100_000 } else { 800 };
    let (world, seed) = (World::default(), fastrand::u64(..));
    eprintln!("seed {seed}");
    std::thread::scope(|scope| {
        for (at, name) in NAMES.into_iter().enumerate() {
            admin.put(&format!("/v1/tenants/{name}"), json!({})).is(201);
            let token = place.key(name, &[Scope::Admin]);
            let mut tenant = Tenant {
                name,
                world: &world,
                place: &place,
                admin: &admin,
                client: place.client().with_key(&token),
                redis: connect(&place, &token),
                flight: Flight::new(place.address).with_key(&token),
                token,
                keys: BTreeMap::new(),
                dice: fastrand::Rng::with_seed(seed + at as u64),
                written: 0,
            };
            scope.spawn(move || {
                let share = steps / NAMES.len() as u64;
                for step in 0..share {
                    tenant.step();
                    if at == 0 && step == share / 2 {
                        tenant.vanish();
                    }
                }
            });
        }
    });
    let operations = world.operations.load(Ordering::SeqCst);
    println!("{operations} answers were looked at");
    assert!(operations >= steps);
    assert_eq!(world.crossed.load(Ordering::SeqCst), 0);
    place.stop();
}
