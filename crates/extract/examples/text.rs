//! Prints what is read of files, passage by passage: `cargo run --release -p nuthatch-extract --example text -- FILE…`

use nuthatch_extract::{PassageOptions, extract};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        match extract(path.as_ref(), &std::fs::read(&path)?, &PassageOptions::default()) {
            Err(error) => eprintln!("{error}"),
            Ok(document) => {
                document.warnings.iter().for_each(|warning| eprintln!("{}: {warning}", path.display()));
                document.passages.iter().for_each(|passage| println!("{}\n", passage.text));
            }
        }
    }
    Ok(())
}
