//! Question: what does the Redis protocol add to a search of the engine?
//!
//! A folder that has a vector set already is opened, and its questions are asked in turns of the engine (`Collection::search`) and by VSIM
//! of a client on the loopback address, one connection, of a server in this process. Both aim at the same recall, .99. A PING before each
//! says what the way there and back takes by itself: on an idle machine, waking two threads. Prints milliseconds as JSON. `bench/redis` makes the folder and calls this.
//!
//! ```text
//! overhead FOLDER KEY QUESTIONS DIMENSIONS     # QUESTIONS: little-endian f32, one after the other
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_link::{Database, Include, Options, Search};
use nuthatch_resp::{Open, Server, Settings, Tenant};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const LIMIT: usize = 10;
/// The first round warms caches and is not counted.
const ROUNDS: usize = 5;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, key, questions, dimensions] = &arguments[..] else {
        return Err("overhead FOLDER KEY QUESTIONS DIMENSIONS".into());
    };
    let bytes = std::fs::read(questions)?;
    let questions: Vec<&[u8]> = bytes.chunks_exact(4 * dimensions.parse::<usize>()?).collect();
    let db = Database::open(folder, Options::default())?;
    let collection = db.existing_collection(&set_of(&db, key)?)?;
    let server = Server::start(
        TcpListener::bind("127.0.0.1:0")?,
        Arc::new(Open(Tenant::new(db.clone()))),
        Settings { idle_after: None, ..Settings::default() },
    )?;
    let mut client = BufReader::new(TcpStream::connect(server.address())?);
    client.get_ref().set_nodelay(true)?;

    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for question in &questions {
            let vector = question.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")));
            let include = Include { text: false, payload: false, vector: false };
            let search = Search { include, ..Search::vector(vector.collect()).limit(LIMIT) };
            let (mut hits, mut elements) = (0, 0);
            let mut taken = [Duration::ZERO; 3];
            // The side that asks a question second finds its rows in the processor's caches.
            let order = if round % 2 == 0 { [0, 1, 2] } else { [1, 2, 0] };
            for asked in order {
                let begun = Instant::now();
                match asked {
                    0 => hits = collection.search(&search)?.hits.len(),
                    1 => pong(&mut client)?,
                    _ => elements = ask(&mut client, key, question)?,
                }
                taken[asked] = begun.elapsed();
            }
            assert_eq!(hits, elements, "both find as many");
            if round > 0 {
                times.iter_mut().zip(taken).for_each(|(times, taken)| times.push(taken));
            }
        }
    }
    for (name, mut times) in ["engine", "ping", "redis"].into_iter().zip(times) {
        times.sort_unstable();
        let [p50, p99] = [0.5, 0.99].map(|share| share_of(&times, share));
        println!(r#"{{"asked": "{name}", "times": {}, "p50_ms": {p50}, "p99_ms": {p99}}}"#, times.len());
    }
    server.stop(Duration::from_secs(5));
    db.close()?;
    Ok(())
}

/// The collection behind a vector set of database 0: there is one in the folder.
fn set_of(db: &Database, key: &str) -> Outcome<String> {
    let mut names = db.collection_names()?.into_iter().filter(|name| name.starts_with("redis.0."));
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        _ => Err(format!("the folder must have one vector set, {key}").into()),
    }
}

/// How many elements VSIM answers with.
fn ask(client: &mut BufReader<TcpStream>, key: &str, question: &[u8]) -> Outcome<usize> {
    let mut command = Vec::with_capacity(question.len() + 128);
    write!(command, "*6\r\n$4\r\nVSIM\r\n${}\r\n{key}\r\n$4\r\nFP32\r\n${}\r\n", key.len(), question.len())?;
    command.extend_from_slice(question);
    write!(command, "\r\n$5\r\nCOUNT\r\n$2\r\n{LIMIT}\r\n")?;
    client.get_mut().write_all(&command)?;
    let count = |line: &str| -> Outcome<usize> { Ok(line.trim_end()[1..].parse()?) };
    let mut line = String::new();
    client.read_line(&mut line)?;
    if !line.starts_with('*') {
        return Err(line.into());
    }
    let elements = count(&line)?;
    for _ in 0..elements {
        line.clear();
        client.read_line(&mut line)?;
        let mut element = vec![0; count(&line)? + 2];
        client.read_exact(&mut element)?;
    }
    Ok(elements)
}

fn pong(client: &mut BufReader<TcpStream>) -> Outcome {
    client.get_mut().write_all(b"PING\r\n")?;
    let mut line = String::new();
    client.read_line(&mut line)?;
    if line == "+PONG\r\n" { Ok(()) } else { Err(line.into()) }
}

/// Milliseconds within which this share of the calls was answered.
fn share_of(times: &[Duration], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
}
