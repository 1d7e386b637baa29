//! ripgrep's output after the last file: `--stats`, and the summary of `--json`.

use std::time::Duration;

use grep_printer::Stats;

/// The lines of `--stats`.
pub(crate) fn text(stats: &Stats, total: Duration) -> String {
    format!(
        "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n{} bytes printed\n{} bytes \
         searched\n{:0.6} seconds spent searching\n{:0.6} seconds total\n",
        stats.matches(),
        stats.matched_lines(),
        stats.searches_with_match(),
        stats.searches(),
        stats.bytes_printed(),
        stats.bytes_searched(),
        stats.elapsed().as_secs_f64(),
        total.as_secs_f64(),
    )
}

/// The last message of `--json`, with its line's end.
pub(crate) fn json(stats: &Stats, total: Duration) -> serde_json::Result<String> {
    let message = serde_json::json!({
        "data": {
            "elapsed_total": {
                "human": format!("{:0.6}s", total.as_secs_f64()),
                "nanos": total.subsec_nanos(),
                "secs": total.as_secs(),
            },
            "stats": stats,
        },
        "type": "summary",
    });
    serde_json::to_string(&message).map(|line| line + "\n")
}
