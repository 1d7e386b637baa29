//! What do two prompts have in common, as numbers? For `bench/cache_fit.py`.
//!
//! Reads lines of JSON, `[known, asked, cosine, gap]`, and writes for each `[veto or null, same form, [feature, …]]`.

use std::io::{BufRead, Write};

use nuthatch_cache::{Features, Prompt, Veto, canonical, veto};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let (known, asked, cosine, gap): (String, String, f64, f64) = serde_json::from_str(&line?)?;
        let (a, b) = (Prompt::of(&known), Prompt::of(&asked));
        let features = Features::of(&a, &b, cosine, gap);
        let told = (veto(&a, &b).map(Veto::name), canonical(&known) == canonical(&asked), features.values());
        writeln!(out, "{}", serde_json::to_string(&told)?)?;
    }
    Ok(())
}
