//! Prints the passages of files: `cargo run --release -p nuthatch-extract --example passages -- PATH…`

use nuthatch_extract::{PassageOptions, WalkOptions, extract, walk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut files, mut count, mut chars) = (0, 0, 0);
    for root in std::env::args_os().skip(1) {
        for entry in walk(root.as_ref(), &WalkOptions::default()) {
            let document = match entry {
                Ok(file) => {
                    extract(&file.path, &std::fs::read(&file.path)?, &PassageOptions::default()).map(|d| (file, d))
                }
                Err(error) => Err(error),
            };
            match document {
                Err(error) => println!("! {error}"),
                Ok((file, document)) => {
                    println!("{} {:?} {:?}", file.path.display(), document.lang, document.title);
                    document.warnings.iter().for_each(|warning| println!("  ! {warning}"));
                    for passage in &document.passages {
                        let (from, to, size) = (passage.start_line, passage.end_line, passage.text.chars().count());
                        println!("  {from}-{to} page {:?} {size} {:?}", passage.page, passage.heading);
                        chars += size;
                    }
                    (files, count) = (files + 1, count + document.passages.len());
                }
            }
        }
    }
    println!("{files} files, {count} passages, {} characters each", chars / count.max(1));
    Ok(())
}
