//! For people and for programs: colours, pipes, JSON, help, completions, the reference.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Place, Ran};

const COMMANDS: [&str; 15] = [
    "add",
    "search",
    "get",
    "ls",
    "rm",
    "kv",
    "stats",
    "optimize",
    "doctor",
    "serve",
    "key",
    "audit",
    "config",
    "model",
    "completions",
];
const KV_COMMANDS: [&str; 13] =
    ["get", "put", "del", "scan", "incr", "append", "cas", "batch", "ttl", "expire", "count", "ls", "drop"];
const REFERENCE: &str = include_str!("../../../../docs/reference/cli.md");

#[test]
fn pipes_and_no_color_get_no_escape_codes() {
    let place = Place::with_documents();
    for command in
        [&["search", "osprey"][..], &["ls"], &["stats"], &["doctor"], &["get", "alpha.md#0"], &["ls", "--collections"]]
    {
        let ran = place.run(command).succeeds();
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{command:?}: {}", ran.out);
        let ran = Ran::of(place.command(command).env("NO_COLOR", "1").output().unwrap()).succeeds();
        assert!(!ran.out.contains('\u{1b}'), "{command:?}: {}", ran.out);
    }
    assert!(!place.run(&["search", "x", "--collection", "nope"]).err.contains('\u{1b}'));
    let coloured = place.run(&["search", "osprey", "--color", "always"]).succeeds().out;
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    assert!(!place.run(&["search", "osprey", "--color", "never"]).succeeds().out.contains('\u{1b}'));
}

#[test]
fn stored_escape_codes_do_not_reach_the_terminal() {
    let place = Place::new();
    place.write("evil.txt", "The bunting \u{1b}]0;title\u{7} \u{1b}[2J sings.\n");
    place.run(&["add", "evil.txt", "--embedder", "none"]).succeeds();
    let out = place.run(&["search", "bunting", "--color", "always"]).succeeds().out;
    assert!(out.contains("sings") && !out.contains("\u{1b}[2J") && !out.contains("\u{1b}]0"), "{out:?}");
}

#[test]
fn every_json_is_one_document() {
    let place = Place::with_documents();
    for command in [
        &["add", "."][..],
        &["search", "osprey", "--explain"],
        &["get", "alpha.md#0"],
        &["ls"],
        &["ls", "--collections"],
        &["stats"],
        &["optimize"],
        &["doctor"],
        &["rm", "code.rs"],
        &["doctor", "--repair"],
    ] {
        let mut arguments = [command, &["--json"]].concat();
        if command[0] == "add" {
            arguments.extend(["--embedder", "none"]);
        }
        place.run(&arguments).succeeds().json();
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::with_many(2000);
    place.run(&["add", "many", "--embedder", "none", "-q"]).succeeds();
    for command in
        [&["ls"][..], &["ls", "--json"], &["search", "passage", "-n", "1000", "--full"], &["completions", "bash"]]
    {
        let mut child = place.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Gone before the first byte, like `| true`.
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}: {err}");
        assert!(!err.contains("panicked") && !err.contains("error"), "{command:?}: {err}");
    }
}

#[test]
fn completions_know_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).succeeds().out;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} knows no {command}");
        }
    }
}

#[test]
fn version_names_the_format() {
    let place = Place::new();
    let out = place.run(&["--version"]).succeeds().out;
    assert!(out.contains(&format!("data folder format {}", nuthatch_link::FORMAT_VERSION)), "{out}");
    assert_eq!(place.run(&["-V"]).succeeds().out.trim(), format!("nuthatch {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_reference_lists_every_command_option_and_exit_code() {
    let place = Place::new();
    let commands = COMMANDS.iter().map(|command| vec![*command]);
    let kv_commands = KV_COMMANDS.iter().map(|command| vec!["kv", *command]);
    for words in commands.chain(kv_commands) {
        let command = words.join(" ");
        let is_named = match words.len() {
            1 => REFERENCE.contains(&format!("## `nuthatch {command}")),
            _ => REFERENCE.contains(&format!("`{}", words[1])),
        };
        assert!(is_named, "{command} has no place");
        let help = place.run(&[&words[..], &["--help"]].concat()).succeeds().out;
        let options =
            help.lines().filter_map(|line| line.trim_start().strip_prefix('-')).map(|line| format!("-{line}"));
        for line in options {
            let Some(at) = line.find("--") else { continue };
            let option: String = line[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            assert!(REFERENCE.contains(&option), "{command} {option} is not in the reference");
        }
    }
    let help = place.run(&["--help"]).succeeds().out;
    let codes = help.split_once("Exit codes:").unwrap().1.lines().filter(|line| !line.trim().is_empty());
    let mut seen = 0;
    for line in codes {
        let (code, meaning) = line.trim().split_once(' ').unwrap();
        let word = meaning.trim().split([':', ';', ' ']).next().unwrap();
        assert!(REFERENCE.contains(&format!("| {code} | {word}")), "exit code {code} ({word})");
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn a_wrong_command_line_is_invalid() {
    let place = Place::new();
    for arguments in
        [&["fly"][..], &["search"], &["add"], &["rm"], &["search", "x", "--mode", "telepathy"], &["rm", "a", "--all"]]
    {
        place.run(arguments).ends(2);
    }
}
