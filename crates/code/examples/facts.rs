//! How long files take, and how large their facts are: `cargo run --release -p nuthatch-code --example facts -- FOLDER`.

use std::path::Path;
use std::time::{Duration, Instant};

use nuthatch_code::{Facts, Language, Names, PARSED_BYTES_MAX, Reading, facts_of, parse};

#[derive(Default)]
struct Sum {
    files: usize,
    bytes: usize,
    unparsed: usize,
    with_errors: usize,
    facts: usize,
    names: usize,
    definitions: usize,
    references: usize,
    parsing: Duration,
    finding: Duration,
    decoding: Duration,
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder");
    let mut sum = Sum::default();
    visit(Path::new(&folder), &mut sum);
    let Sum { files, bytes, unparsed, with_errors, facts, names, definitions, references, parsing, finding, decoding } =
        sum;
    println!("{files} files of {bytes} bytes: {unparsed} not parsed, {with_errors} with errors");
    println!("{definitions} definitions, {references} references: {facts} bytes of facts, {names} of names");
    println!("parsing {parsing:.2?}, finding (with parsing) {finding:.2?}, decoding {decoding:.2?}");
}

fn visit(folder: &Path, sum: &mut Sum) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            visit(&path, sum);
        } else if let Some(language) = path.to_str().and_then(Language::of_path) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if bytes.len() <= PARSED_BYTES_MAX {
                add(language, &bytes, sum);
            }
        }
    }
}

fn add(language: Language, bytes: &[u8], sum: &mut Sum) {
    let begun = Instant::now();
    drop(parse(language, bytes));
    let parsed = Instant::now();
    let facts = facts_of(language, bytes);
    let found = Instant::now();
    let encoded = facts.encode();
    let read = Instant::now();
    assert!(Facts::decode(&encoded).is_some());
    sum.decoding += read.elapsed();
    sum.parsing += parsed - begun;
    sum.finding += found - parsed;
    (sum.files, sum.bytes) = (sum.files + 1, sum.bytes + bytes.len());
    (sum.facts, sum.names) = (sum.facts + encoded.len(), sum.names + Names::of(&facts).encode(facts.reading).len());
    sum.definitions += facts.definitions.len();
    sum.references += facts.references.len();
    sum.unparsed += usize::from(facts.reading == Reading::Unparsed);
    sum.with_errors += usize::from(facts.reading == Reading::WithErrors);
}
