//! No answer is larger than was asked for, and nothing is lost by that.

use std::collections::BTreeSet;

use nuthatch_mcp::{BYTES_PER_TOKEN, TOKENS_DEFAULT, TOKENS_MIN};
use serde_json::{Value, json};

use crate::host::Host;

/// Every page of a tool that goes on with cursors, each within its bound.
fn pages(host: &mut Host, tool: &str, arguments: Value, max_tokens: usize) -> Vec<Value> {
    let mut pages: Vec<Value> = Vec::new();
    loop {
        let mut arguments = arguments.clone();
        arguments["max_tokens"] = max_tokens.into();
        if let Some(last) = pages.last() {
            arguments["cursor"] = last["cursor"].clone();
        }
        let (page, text) = host.call_with_text(tool, arguments);
        assert!(page.to_string().len() <= max_tokens * BYTES_PER_TOKEN, "{}", page.to_string().len());
        assert!(text.len() <= max_tokens * BYTES_PER_TOKEN, "{}", text.len());
        let is_last = page.get("cursor").is_none();
        pages.push(page);
        if is_last {
            return pages;
        }
        assert!(pages.len() < 2_000, "the cursor does not move");
    }
}

fn ids(pages: &[Value], list: &str) -> Vec<String> {
    let records = pages.iter().flat_map(|page| page[list].as_array().into_iter().flatten());
    records.map(|record| record["id"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_search_is_read_to_its_end_in_pages_that_fit() {
    let mut host = Host::new();
    let text = |at: usize| format!("Heron {at} \"waits\"\n{}", "in the reeds ".repeat(at % 40));
    host.store("a", (0..60).map(text));
    host.store("b", (60..100).map(text));
    for max_tokens in [TOKENS_MIN, 1_000, TOKENS_DEFAULT] {
        let all = pages(&mut host, "search", json!({"query": "heron waits", "limit": 9}), max_tokens);
        let found: BTreeSet<(String, String)> = all
            .iter()
            .flat_map(|page| page["hits"].as_array().unwrap())
            .map(|hit| (hit["collection"].to_string(), hit["id"].to_string()))
            .collect();
        assert_eq!(found.len(), 100);
        assert!(all.iter().all(|page| page["hits"].as_array().unwrap().len() <= 9));
        let one = pages(&mut host, "search", json!({"query": "heron waits", "collection": "a"}), max_tokens);
        assert_eq!(ids(&one, "hits").into_iter().collect::<BTreeSet<_>>().len(), 60);
    }
}

#[test]
fn a_long_text_is_shown_where_the_words_are_and_read_whole_piece_by_piece() {
    let mut host = Host::new();
    let text = format!("{} the bittern booms {}", "reed \"grass\" ".repeat(3_000), "água\n".repeat(3_000));
    host.store("notes", [text.clone()]);
    let hit = host.call("search", json!({"query": "bittern"}))["hits"][0].clone();
    assert!(hit["text"].as_str().unwrap().contains("the bittern booms"), "{hit}");
    assert_eq!(hit["cut"], true);
    let all = pages(&mut host, "get", json!({"ids": ["r0000"]}), 2_000);
    assert!(all.len() > 5);
    let whole: String = all.iter().map(|page| page["records"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(whole, text);
}

#[test]
fn files_and_listings_are_read_to_their_end_in_pages_that_fit() {
    let mut host = Host::new();
    for at in 0..120 {
        host.write(&format!("many/{at:03}.txt"), &format!("Passage {at} of many.\n"));
    }
    let lines: String = (1..=900).map(|line| format!("Line {line} speaks of bird{line}.\n\n")).collect();
    host.write("long.txt", &lines);
    host.call("add_files", json!({"paths": ["."]}));
    let files: Vec<Value> = pages(&mut host, "list", json!({"collection": "documents"}), 1_000);
    let paths: BTreeSet<String> =
        files.iter().flat_map(|page| page["files"].as_array().unwrap()).map(|file| file["path"].to_string()).collect();
    assert_eq!(paths.len(), 121);
    let records = pages(&mut host, "list", json!({"collection": "documents", "what": "records"}), 1_000);
    let all = ids(&records, "records");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len() as u64, host.database.collections().unwrap()[0].rows);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "one was listed twice");
    let read = pages(&mut host, "get", json!({"path": "long.txt"}), 1_500);
    let whole: String =
        read.iter().flat_map(|page| page["records"].as_array().unwrap()).map(|r| r["text"].as_str().unwrap()).collect();
    assert!((1..=900).all(|line| whole.contains(&format!("bird{line}."))));
    let from = host.call("get", json!({"path": "long.txt", "from_line": 1_001, "max_tokens": 1_000}));
    let first = from["records"][0]["text"].as_str().unwrap();
    assert!(first.contains("bird501."), "{first}");
}

#[test]
fn many_collections_are_listed_in_pages_that_fit() {
    let mut host = Host::new();
    for at in 0..30 {
        host.store(&format!("collection-{at:02}"), ["x".to_string()]);
    }
    let all = pages(&mut host, "list", json!({}), TOKENS_MIN);
    assert!(all.len() > 1);
    assert_eq!(all.iter().map(|page| page["collections"].as_array().unwrap().len()).sum::<usize>(), 30);
}
