//! A program that writes all kinds of data until it is done, killed or refused, and says what was acknowledged; and what must
//! be found in its folder afterwards.
//!
//! Writers own their keys, so each one's model is the sum of its own calls: every acknowledged call, and all or nothing
//! of the one that was under way. Their reports go over a datagram socket, which no fault in files touches.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nuthatch_link::*;

#[path = "linked.rs"]
mod linked;

/// Key -> version. Keys begin with `r` (records), `k` (keyspace), `f` (files), `n` (nodes) or `e` (edges), then the writer.
pub type Model = BTreeMap<String, u64>;

/// A writer that is not done after this long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(180);

/// One call: keys with their new version, or without one when they are deleted.
type Call = Vec<(String, Option<u64>)>;

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is set by the parent"))
}

/// The victim's side. Ends when every writer has made its calls or met an error.
pub fn write() {
    let folder = PathBuf::from(env("NUTHATCH_CHILD_FOLDER"));
    let number = |name: &str| env(name).parse::<u64>().expect("a number");
    let (writers, calls, seed) =
        (number("NUTHATCH_CHILD_WRITERS"), number("NUTHATCH_CHILD_CALLS"), number("NUTHATCH_CHILD_SEED"));
    let socket = UnixDatagram::unbound().unwrap();
    socket.connect(env("NUTHATCH_CHILD_SOCKET")).unwrap();
    let say = |line: &str| {
        socket.send(line.as_bytes()).expect("the parent listens");
    };
    let store = match Store::open(&folder) {
        Ok(store) => store,
        Err(error) => return say(&format!("! {error}")),
    };
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (store, say) = (&store, &say);
            let mut dice = fastrand::Rng::with_seed(seed ^ writer << 32);
            scope.spawn(move || {
                for number in 0..calls {
                    let version = seed % 1_000_000 * 1_000_000 + number * 100 + writer;
                    let (kind, call) = choose(&mut dice, writer, version);
                    let line = encode(writer, &call);
                    say(&format!("?{line}"));
                    match store.perform(kind, &call) {
                        Ok(()) => say(&line),
                        Err(error) => return say(&format!("! {error}")),
                    }
                }
            });
        }
    });
    match store.db.close() {
        Ok(()) => say("."),
        Err(error) => say(&format!("! {error}")),
    }
}

fn options() -> CollectionOptions {
    CollectionOptions {
        dim: Some(4),
        metric: Some(Metric::L2),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Records,
    Keys,
    Nodes,
    Edges,
    Batch,
    Transaction,
    File,
}

fn choose(dice: &mut fastrand::Rng, writer: u64, version: u64) -> (Kind, Call) {
    let kinds = [Kind::Records, Kind::Keys, Kind::Nodes, Kind::Edges, Kind::Batch, Kind::Transaction, Kind::File];
    let kind = kinds[dice.usize(..kinds.len())];
    let sorts: &[char] = match kind {
        Kind::Records => &['r'],
        Kind::Keys => &['k'],
        Kind::Nodes => &['n'],
        Kind::Edges => &['e'],
        Kind::File => &['f'],
        Kind::Transaction => &['r', 'k', 'n', 'e'],
        Kind::Batch => &['r', 'k', 'n', 'e', 'e', 'f'],
    };
    let most = if matches!(kind, Kind::Batch | Kind::Transaction) { 10 } else { 6 };
    let mut keys: Vec<String> = (0..dice.usize(1..most))
        .map(|_| match sorts[dice.usize(..sorts.len())] {
            'n' => linked::choose_node(dice, writer),
            'e' => linked::choose_edge(dice, writer),
            'f' => format!("f{writer}-0"),
            sort => format!("{sort}{writer}-{}", dice.u8(..40)),
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    // A node that is deleted takes edges along that were put before, and none that come after.
    dice.shuffle(&mut keys);
    let deletes_all = matches!(kind, Kind::Records | Kind::Nodes | Kind::Edges) && dice.u8(..4) == 0;
    let each = |key: String, dice: &mut fastrand::Rng| {
        let is_mixed = matches!(kind, Kind::Keys | Kind::Batch | Kind::Transaction) && !key.starts_with('f');
        let deleted = deletes_all || is_mixed && dice.u8(..4) == 0;
        (key, (!deleted).then_some(version))
    };
    (kind, keys.into_iter().map(|key| each(key, dice)).collect())
}

/// The stores that the writers write to.
struct Store {
    notes: Collection,
    docs: Collection,
    keys: Keyspace,
    links: Graph,
    db: Database,
    /// Beside the folder, so that the next victim replaces the same files.
    scratch: PathBuf,
}

impl Store {
    fn open(folder: &Path) -> Result<Self> {
        let db = Database::open(folder, Options { fresh_rows_max: 60, ..Options::default() })?;
        let scratch = folder.with_file_name("files");
        std::fs::create_dir_all(&scratch).ok();
        Ok(Self {
            notes: db.collection("notes", options())?,
            docs: db.collection("docs", options())?,
            keys: db.kv("keys")?,
            links: db.graph(linked::GRAPH)?,
            db,
            scratch,
        })
    }

    fn perform(&self, kind: Kind, call: &Call) -> Result<()> {
        match kind {
            Kind::Records => match call[0].1 {
                Some(_) => {
                    let records = call.iter().map(|(key, version)| record(key, version.unwrap())).collect();
                    self.notes.upsert(records).map(drop)
                }
                None => self.notes.delete(&call.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>()).map(drop),
            },
            Kind::Keys => self.keys.multi_put(
                call.iter()
                    .map(|(key, version)| match version {
                        Some(version) => {
                            KvOp::Put { key: key.clone().into(), value: value(key, *version), expires_in: None }
                        }
                        None => KvOp::Delete { key: key.clone().into() },
                    })
                    .collect(),
            ),
            Kind::Nodes | Kind::Edges => linked::write(&self.links, call),
            Kind::Batch => self.write_batch(call),
            Kind::Transaction => self.transact(call),
            Kind::File => {
                let (key, version) = &call[0];
                self.docs.add(&[self.file(key, *version)?], AddOptions::default()).map(drop)
            }
        }
    }

    fn write_batch(&self, call: &Call) -> Result<()> {
        let mut batch = WriteBatch::new();
        for (key, version) in call {
            match (key.as_bytes()[0], version) {
                (b'n' | b'e', version) => linked::stage(&mut batch.graph(linked::GRAPH), key, *version)?,
                (b'f', version) => {
                    let path = self.file(key, *version)?;
                    batch.add_files(&self.docs, &[path], AddOptions::default()).map(drop)?;
                }
                (b'k', Some(version)) => drop(batch.put("keys", key.clone(), value(key, *version))),
                (b'k', None) => drop(batch.delete("keys", key.clone())),
                (_, Some(version)) => drop(batch.upsert("notes", vec![record(key, *version)])),
                (_, None) => drop(batch.delete_records("notes", vec![key.clone()])),
            }
        }
        self.db.write(batch)
    }

    fn transact(&self, call: &Call) -> Result<()> {
        self.db.transact(1000, |transaction| {
            let (keys, notes) = (transaction.kv("keys")?, transaction.collection("notes")?);
            let links = transaction.graph(linked::GRAPH)?;
            for (key, version) in call {
                match (key.as_bytes()[0], version) {
                    (b'n' | b'e', version) => linked::change(&links, key, *version)?,
                    (b'k', Some(version)) => {
                        keys.get(key)?;
                        keys.put(key.clone(), value(key, *version))?;
                    }
                    (b'k', None) => keys.delete(key.clone())?,
                    (_, Some(version)) => notes.upsert(vec![record(key, *version)])?,
                    (_, None) => notes.delete(&[key])?,
                }
            }
            Ok(())
        })
    }

    /// A file of that version, as somebody would have written it.
    fn file(&self, key: &str, version: Option<u64>) -> Result<PathBuf> {
        let path = self.scratch.join(format!("{key}.txt"));
        let version = version.expect("files are put");
        std::fs::write(&path, format!("{key} version{version}")).map_err(|error| Error::io(&path, &error))?;
        Ok(path)
    }
}

fn record(key: &str, version: u64) -> Record {
    Record::new(key)
        .text(format!("record {key} version{version}"))
        .vector(vector(version))
        .payload([("version".to_string(), Value::Int(version as i64))].into())
}

fn vector(version: u64) -> Vec<f32> {
    (0..4).map(|at| (version % 9973) as f32 + at as f32).collect()
}

/// Returns a value, now and then one that is too large to be stored with the others.
fn value(key: &str, version: u64) -> Vec<u8> {
    let mut value = format!("{key} {version} ").into_bytes();
    let bytes = if (version / 100).is_multiple_of(17) { 80_000 } else { 30 + version as usize % 400 };
    value.resize(bytes, b'.');
    value
}

fn encode(writer: u64, call: &Call) -> String {
    let words = call.iter().map(|(key, version)| match version {
        Some(version) => format!(" {key}:{version}"),
        None => format!(" {key}"),
    });
    words.fold(writer.to_string(), |line, word| line + &word)
}

/// The reports of a victim. Writers are named by their number.
#[derive(Clone, Default)]
pub struct Said {
    /// The calls of each writer, in their order.
    pub begun: BTreeMap<String, Vec<String>>,
    /// How many of them were acknowledged.
    pub acknowledged: BTreeMap<String, usize>,
    pub errors: Vec<String>,
    pub closed: bool,
}

impl Said {
    pub fn acknowledged_calls(&self) -> usize {
        self.acknowledged.values().sum()
    }
}

/// A running victim.
pub struct Victim {
    pub child: Child,
    said: Arc<Mutex<Said>>,
    listener: Option<std::thread::JoinHandle<()>>,
    _socket: tempfile::TempDir,
}

impl Victim {
    /// Runs test `name` of this program, which calls [`write`]. `through`: a command that runs it, such as `strace -f`.
    pub fn start(name: &str, folder: &Path, writers: u64, calls: u64, seed: u64, through: &[String]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let address = place.path().join("said");
        let socket = UnixDatagram::bind(&address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let program = std::env::current_exe().unwrap();
        let mut command = match through.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        let child = command
            .args([name, "--exact", "--ignored", "--nocapture"])
            .env("NUTHATCH_CHILD_FOLDER", folder)
            .env("NUTHATCH_CHILD_SOCKET", &address)
            .env("NUTHATCH_CHILD_WRITERS", writers.to_string())
            .env("NUTHATCH_CHILD_CALLS", calls.to_string())
            .env("NUTHATCH_CHILD_SEED", seed.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Said::default()));
        let heard = said.clone();
        let done = place.path().join("done");
        let listener = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                match socket.recv(&mut buffer) {
                    Ok(bytes) => hear(&mut heard.lock().unwrap(), std::str::from_utf8(&buffer[..bytes]).unwrap()),
                    Err(_) if done.exists() => return,
                    Err(_) => {}
                }
            }
        });
        Self { child, said, listener: Some(listener), _socket: place }
    }

    /// Returns the reports received so far, and no later ones.
    pub fn said_until_now(&self) -> Said {
        self.said.lock().unwrap().clone()
    }

    pub fn kill(mut self) -> Said {
        self.child.kill().unwrap(); // SIGKILL
        self.finish()
    }

    /// Waits for it to end by itself.
    pub fn finish(mut self) -> Said {
        let began = std::time::Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if began.elapsed() > HANGS_AFTER {
                self.child.kill().ok();
                panic!("the writer neither goes on nor ends; it said {:?}", self.said_until_now().errors);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::write(self._socket.path().join("done"), []).unwrap();
        self.listener.take().unwrap().join().unwrap();
        self.said_until_now()
    }
}

fn hear(said: &mut Said, line: &str) {
    let writer = |line: &str| line.split(' ').next().unwrap().to_string();
    if line == "." {
        said.closed = true;
    } else if let Some(error) = line.strip_prefix("! ") {
        said.errors.push(error.to_string());
    } else if let Some(call) = line.strip_prefix('?') {
        said.begun.entry(writer(call)).or_default().push(call.to_string());
    } else {
        *said.acknowledged.entry(writer(line)).or_default() += 1;
    }
}

fn apply(model: &mut Model, line: &str) {
    for word in line.split(' ').skip(1) {
        match word.split_once(':') {
            Some((key, version)) => drop(model.insert(key.to_string(), version.parse().unwrap())),
            None => {
                model.remove(word);
                if linked::is_node(word) {
                    linked::remove_edges(model, word);
                }
            }
        }
    }
}

/// Opens the folder and compares everything in it with the model after what was acknowledged in `until`. Calls that only `said`
/// knows may have happened too, one after the other and each wholly. The model is then what was found.
pub fn check(folder: &Path, model: &mut Model, until: &Said, said: &Said, note: &str) {
    let db = Database::open(folder, Options { background: false, ..Options::default() })
        .unwrap_or_else(|error| panic!("{note}: {error}"));
    let found = stored(&db, note);
    for (writer, calls) in &said.begun {
        let acknowledged = until.acknowledged.get(writer).copied().unwrap_or(0);
        for call in &calls[..acknowledged] {
            apply(model, call);
        }
        let mut after = model.clone();
        for call in &calls[acknowledged..] {
            if of_writer(&found, writer) == of_writer(&after, writer) {
                break;
            }
            apply(&mut after, call);
        }
        if of_writer(&found, writer) == of_writer(&after, writer) {
            *model = after;
        }
    }
    if found != *model {
        let missing: Vec<_> = model.iter().filter(|(key, version)| found.get(*key) != Some(version)).collect();
        let extra: Vec<_> = found.iter().filter(|(key, version)| model.get(*key) != Some(version)).collect();
        panic!("{note}: expected {missing:?}, found {extra:?}");
    }
    let doctor = db.doctor().unwrap();
    assert!(doctor.is_well(), "{note}: {doctor:?}");
    // The indexes know the same rows, each once.
    let records = model.keys().filter(|key| key.starts_with('r')).count();
    let notes = db.collection("notes", options()).unwrap();
    assert_eq!(notes.len().unwrap() as usize, records, "{note}");
    let near = notes.search(&Search::vector(vec![0.0; 4]).limit(5_000)).unwrap();
    let worded = notes.search(&Search::text("record").mode(Mode::Text).limit(5_000)).unwrap();
    for (answer, leg) in [(near, "vectors"), (worded, "texts")] {
        let ids: std::collections::BTreeSet<_> = answer.hits.iter().map(|hit| &hit.id).collect();
        assert_eq!((answer.hits.len(), ids.len()), (records, records), "{note}: {leg}");
    }
    db.close().unwrap();
}

fn of_writer<'m>(model: &'m Model, writer: &str) -> Vec<(&'m String, &'m u64)> {
    model.iter().filter(|(key, _)| key[1..].split('-').next() == Some(writer)).collect()
}

fn stored(db: &Database, note: &str) -> Model {
    let mut found = Model::new();
    for name in ["notes", "docs"] {
        let Ok(collection) = db.collection(name, options()) else { continue };
        let mut cursor = None;
        loop {
            let page = collection.scan(&Scan { cursor, limit: 500, filter: None, vectors: true }).unwrap();
            for record in page.records {
                let text = record.text.as_deref().expect("every record has a text");
                let (key, version) = text.trim_start_matches("record ").split_once(" version").unwrap();
                let version: u64 = version.trim_end().parse().unwrap();
                if name == "notes" {
                    assert_eq!(record.id, key, "{note}");
                    assert_eq!(record.vector.as_deref(), Some(&*vector(version)), "{note}: vector of {key}");
                    assert_eq!(record.payload["version"], Value::Int(version as i64), "{note}: payload of {key}");
                }
                assert!(found.insert(key.to_string(), version).is_none(), "{note}: {key} twice");
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    if let Ok(keys) = db.existing_keyspace("keys") {
        let page = keys.scan(&KeyScan { limit: 10_000, ..KeyScan::default() }).unwrap();
        for (key, bytes) in page.entries {
            let key = String::from_utf8(key).unwrap();
            let version: u64 = std::str::from_utf8(&bytes).unwrap().split(' ').nth(1).unwrap().parse().unwrap();
            assert!(bytes == value(&key, version), "{note}: value of {key}");
            found.insert(key, version);
        }
    }
    linked::read(db, &mut found, note);
    found
}
