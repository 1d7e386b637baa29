//! `nuthatch mcp` over whatever a host gives it: pipes, sockets (as hosts on Node.js do), files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::Place;

/// A program that never answers is ended, so that its test fails and does not hang.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
}

/// The host's end of the program's standard input.
enum Input {
    Pipe(std::io::PipeWriter),
    Socket(UnixStream),
}

impl Input {
    fn new(kind: Kind) -> (Self, Stdio) {
        match kind {
            Kind::Pipe => {
                let (theirs, ours) = std::io::pipe().unwrap();
                (Self::Pipe(ours), theirs.into())
            }
            Kind::Socket => {
                let (theirs, ours) = UnixStream::pair().unwrap();
                (Self::Socket(ours), OwnedFd::from(theirs).into())
            }
        }
    }

    fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        match self {
            Self::Pipe(pipe) => pipe.write_all(line.as_bytes()).unwrap(),
            Self::Socket(socket) => socket.write_all(line.as_bytes()).unwrap(),
        }
    }

    /// The end of input, as each kind of stream says it.
    fn end(self) {
        if let Self::Socket(socket) = self {
            socket.shutdown(Shutdown::Write).unwrap();
        }
    }
}

/// The host's end of the program's standard output.
fn output(kind: Kind) -> (Box<dyn Read>, Stdio) {
    match kind {
        Kind::Pipe => {
            let (ours, theirs) = std::io::pipe().unwrap();
            (Box::new(ours), theirs.into())
        }
        Kind::Socket => {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (Box::new(ours), OwnedFd::from(theirs).into())
        }
    }
}

/// The program, and who ends it when it takes too long.
struct Program {
    child: Child,
    done: Sender<()>,
}

impl Program {
    fn start(place: &Place, input: Stdio, output: Stdio) -> Self {
        let mut command = place.command(&["mcp", "--embedder", "none"]);
        let child = command.stdin(input).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
        let (pid, (done, waiting)) = (Pid::from_child(&child), channel());
        std::thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                kill_process(pid, Signal::KILL).ok();
            }
        });
        Self { child, done }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Exit code and standard error.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let code = self.child.wait().unwrap().code();
        drop(self.done);
        (code, errors)
    }
}

fn hello() -> [Value; 2] {
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn line(lines: &mut impl Iterator<Item = std::io::Result<String>>, case: &str) -> Value {
    let line = lines.next().unwrap_or_else(|| panic!("{case}: no answer")).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{case}: {error}: {line}"))
}

#[test]
fn pipes_and_sockets_in_any_combination_are_answered_and_end_with_their_input() {
    for (into, out_of) in
        [Kind::Pipe, Kind::Socket].into_iter().flat_map(|into| [(into, Kind::Pipe), (into, Kind::Socket)])
    {
        let (place, case) = (Place::with_documents(), format!("{into:?} in, {out_of:?} out"));
        let ((mut input, stdin), (output, stdout)) = (Input::new(into), output(out_of));
        let program = Program::start(&place, stdin, stdout);
        let mut lines = BufReader::new(output).lines();
        hello().iter().for_each(|message| input.say(message));
        assert_eq!(line(&mut lines, &case)["result"]["serverInfo"]["name"], "nuthatch", "{case}");
        input.say(&call(2, "remember", json!({"text": "The osprey is called Otto.", "id": "otto"})));
        assert_eq!(line(&mut lines, &case)["result"]["isError"], false, "{case}");
        input.end();
        assert!(lines.next().is_none(), "{case}");
        assert_eq!(program.ended(), (Some(0), String::new()), "{case}");
        place.run(&["get", "otto", "--collection", "notes"]).succeeds();
    }
}

#[test]
fn what_was_asked_from_a_file_is_answered_into_a_file() {
    let place = Place::with_documents();
    let [initialize, initialized] = hello();
    let asked = [initialize, initialized, call(2, "search", json!({"query": "osprey"}))];
    place.write("asked.jsonl", asked.map(|message| format!("{message}\n")).concat());
    let (asked, answered) = (place.path().join("asked.jsonl"), place.path().join("answered.jsonl"));
    let program = Program::start(&place, File::open(asked).unwrap().into(), File::create(&answered).unwrap().into());
    assert_eq!(program.ended(), (Some(0), String::new()));
    let answered = std::fs::read_to_string(answered).unwrap();
    let answers: Vec<Value> = answered.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.iter().map(|answer| answer["id"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(answers[1]["result"]["structuredContent"]["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn a_signal_ends_it_in_good_order_over_sockets_too() {
    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::with_documents();
        let ((mut input, stdin), (output, stdout)) = (Input::new(Kind::Socket), output(Kind::Socket));
        let program = Program::start(&place, stdin, stdout);
        let mut lines = BufReader::new(output).lines();
        hello().iter().for_each(|message| input.say(message));
        line(&mut lines, "initialize");
        input.say(&call(2, "remember", json!({"text": "The osprey is called Otto.", "id": "otto"})));
        assert_eq!(line(&mut lines, "remember")["result"]["isError"], false);
        kill_process(program.pid(), signal).unwrap();
        assert!(lines.next().is_none());
        assert_eq!(program.ended(), (Some(0), String::new()), "{signal:?}");
        place.run(&["doctor"]).succeeds();
    }
}

#[test]
fn a_signal_ends_it_though_its_host_reads_nothing_more() {
    let place = Place::with_documents();
    let started = [Kind::Pipe, Kind::Socket].map(|out_of| {
        let ((mut input, stdin), (output, stdout)) = (Input::new(Kind::Socket), output(out_of));
        let program = Program::start(&place, stdin, stdout);
        let mut lines = BufReader::new(output).lines();
        hello().iter().for_each(|message| input.say(message));
        line(&mut lines, "initialize");
        // More answers than the stream holds.
        (2..200).for_each(|id| input.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})));
        line(&mut lines, "the first list");
        kill_process(program.pid(), Signal::TERM).unwrap();
        (program, input, lines)
    });
    for (program, _input, _lines) in started {
        assert_eq!(program.ended(), (Some(0), String::new()));
    }
}
