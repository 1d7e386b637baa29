//! The part of a passage that shows best why it was found.

use std::collections::HashMap;
use std::ops::Range;

use crate::Analyzer;
use crate::bm25::Bag;
use crate::wide::{TextQuery, patterns};

/// A window of a text and the query's words in it, all as byte offsets of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The part of the text to show; it begins and ends between characters.
    pub window: Range<usize>,
    /// The query's words in the window, ascending and without overlaps.
    pub highlights: Vec<Range<usize>>,
}

/// The window of at most `max_chars` characters with the most distinct words of the query (then the most occurrences, then the first).
/// Without any, the beginning of the text.
pub fn snippet<'q>(analyzer: &Analyzer, text: &str, query: impl Into<TextQuery<'q>>, max_chars: usize) -> Snippet {
    let query = query.into();
    let bag = Bag::new(analyzer, query.text);
    let patterns = patterns(analyzer, query, &bag);
    let words: HashMap<&str, usize> = bag.words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    analyzer.passage_words(text, true, |token| {
        let like = || patterns.iter().find(|pattern| pattern.distance(&token.text).is_some());
        // A beginning that is no word of the query comes after them.
        let word = words.get(token.text.as_str()).copied().or_else(|| Some(like()?.of.unwrap_or(bag.words.len())));
        found.extend(word.map(|word| (token.offset_from..token.offset_to, word)));
    });
    found.sort_by_key(|(range, _)| (range.start, range.end));
    let first = best_run(text, &found, max_chars, bag.words.len() + 1);
    let window = window(text, first.map(|run| found[run.start].0.start..found[run.end - 1].0.end), max_chars);
    let mut highlights: Vec<Range<usize>> = Vec::new();
    for (range, _) in found {
        if range.start < window.start || range.end > window.end {
            continue;
        }
        match highlights.last_mut() {
            // An identifier and its parts overlap: one highlight.
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => highlights.push(range),
        }
    }
    Snippet { window, highlights }
}

/// The occurrences to show: the best run that fits into `max_chars`.
fn best_run(text: &str, found: &[(Range<usize>, usize)], max_chars: usize, words: usize) -> Option<Range<usize>> {
    let mut counts = vec![0u32; words];
    let (mut distinct, mut start) = (0usize, 0);
    let mut best: Option<((usize, usize), Range<usize>)> = None;
    let mut chars = 0; // of the run start..=end
    for end in 0..found.len() {
        let from = match end.checked_sub(1) {
            Some(before) if before >= start => found[before].0.end,
            _ => found[end].0.start,
        };
        chars += text.get(from..found[end].0.end).map_or(0, |part| part.chars().count());
        counts[found[end].1] += 1;
        distinct += usize::from(counts[found[end].1] == 1);
        while chars > max_chars && start < end {
            counts[found[start].1] -= 1;
            distinct -= usize::from(counts[found[start].1] == 0);
            let dropped = found[start].0.start..found[start + 1].0.start;
            chars = chars.saturating_sub(text[dropped].chars().count());
            start += 1;
        }
        if chars > max_chars {
            // One word longer than the window: skip it.
            counts[found[end].1] -= 1;
            distinct -= 1;
            (start, chars) = (end + 1, 0);
            continue;
        }
        let merit = (distinct, end + 1 - start);
        if best.as_ref().is_none_or(|(before, _)| merit > *before) {
            best = Some((merit, start..end + 1));
        }
    }
    best.map(|(_, run)| run)
}

/// Widens `core` to at most `max_chars`, a third of the room before it, cut at white space where that is near.
fn window(text: &str, core: Option<Range<usize>>, max_chars: usize) -> Range<usize> {
    let core = core.unwrap_or(0..0);
    let room = max_chars.saturating_sub(text[core.clone()].chars().count());
    let back = if core.start == 0 { 0 } else { room / 3 };
    let mut start = text[..core.start].char_indices().rev().take(back).last().map_or(core.start, |(at, _)| at);
    if start > 0
        && let Some(space) = text[start..core.start].find(char::is_whitespace)
    {
        start += space;
        start += text[start..core.start].find(|c: char| !c.is_whitespace()).unwrap_or(0);
    }
    let mut end = text[start..].char_indices().nth(max_chars).map_or(text.len(), |(at, _)| start + at).max(core.end);
    if end < text.len()
        && let Some(space) = text[core.end..end].rfind(char::is_whitespace)
    {
        end = core.end + space;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, query: &str, max_chars: usize) -> (String, Vec<String>) {
        let snippet = snippet(&Analyzer::new("english").unwrap(), text, query, max_chars);
        let highlights = snippet.highlights.iter();
        (text[snippet.window.clone()].to_string(), highlights.map(|range| text[range.clone()].to_string()).collect())
    }

    #[test]
    fn shows_the_window_with_most_of_the_query() {
        let text = "Passwords matter. ".repeat(20) + "To reset your password, open the settings.";
        let (window, highlights) = show(&text, "resetting a password", 60);
        assert!(window.contains("reset your password"), "{window}");
        assert!(window.chars().count() <= 60);
        assert!(highlights.contains(&"reset".to_string()));
        assert!(highlights.contains(&"password".to_string()));
    }

    #[test]
    fn without_a_match_shows_the_beginning() {
        let (window, highlights) = show("one two three four", "zebra", 9);
        assert_eq!((window.as_str(), highlights.len()), ("one two", 0));
        assert_eq!(show("", "zebra", 9).0, "");
    }

    #[test]
    fn never_cuts_a_character_and_never_panics() {
        let text = "ä€🙂 readAt_block ".repeat(7);
        for max_chars in 0..60 {
            let (window, _) = show(&text, "read at block readAt_block ä", max_chars);
            assert!(window.chars().count() <= max_chars);
        }
    }
}
