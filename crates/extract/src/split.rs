//! Cutting one stretch of text into pieces of at most a given size, at the best place near an even cut.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::PassageOptions;

/// The places where a cut is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// The end of a sentence is better than the end of a line, which may just be wrapped.
    Prose,
    /// A line is the unit: code, tables, logs.
    Lines,
}

/// Ranges within `range`, in order, each at most `target` characters, without white space at their ends but with the
/// indentation of their first line. `blocks` are offsets, ascending, where a block of the format begins: the places to
/// cut that are liked best.
///
/// Looks at no more than `target` characters for one cut, so a single line of 32 MiB costs no more than the same bytes
/// in many lines.
pub(crate) fn split(
    text: &str,
    range: Range<usize>,
    blocks: &[usize],
    style: Style,
    options: &PassageOptions,
) -> Vec<Range<usize>> {
    let (target, overlap) = (options.target(), options.overlap());
    let mut pieces = Vec::new();
    let Some(Range { start: mut at, end }) = trim(text, range) else { return pieces };
    let mut remaining = text[at..end].chars().count();
    while remaining > target {
        // Even parts: cutting at the limit each time would leave a crumb at the end.
        let goal = remaining.div_ceil(remaining.div_ceil(target));
        let window = &text[at..at + bytes_of(&text[at..end], target)];
        let cut = at + best_cut(window, at, goal, blocks, style);
        let piece = trim(text, at..cut);
        // Never back to where the piece begins, which may be long after `at`.
        let taken = piece.as_ref().map_or("", |piece| &text[piece.start..cut]);
        let back = step_back(taken, overlap.min(taken.chars().count() / 2));
        pieces.extend(piece);
        remaining -= text[at..cut - back].chars().count();
        at = cut - back;
    }
    pieces.extend(trim(text, at..end));
    pieces
}

/// `range` without white space around it, but with what indents its first line. `None` when nothing is left.
pub(crate) fn trim(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let slice = &text[range.clone()];
    let lead = slice.len() - slice.trim_start().len();
    if lead == slice.len() {
        return None;
    }
    let end = range.start + slice.trim_end().len();
    let indent = slice[..lead].len() - slice[..lead].trim_end_matches([' ', '\t']).len();
    let first = range.start + lead;
    let line_start = first - indent;
    let begins_line = line_start == 0 || text.as_bytes()[line_start - 1] == b'\n';
    Some(if begins_line { line_start..end } else { first..end })
}

/// Length in bytes of the first `chars` characters.
fn bytes_of(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// Where to cut `window`, as a length greater than 0: the strongest kind of boundary that occurs between half of `goal`
/// (characters) and the end, and of that kind the one nearest to `goal`. `offset` is where the window begins in the
/// text that `blocks` speaks of.
fn best_cut(window: &str, offset: usize, goal: usize, blocks: &[usize], style: Style) -> usize {
    let (low, goal) = (bytes_of(window, (goal / 2).max(1)), bytes_of(window, goal));
    let nearest = |cuts: &mut dyn Iterator<Item = usize>| {
        cuts.filter(|cut| (low..=window.len()).contains(cut)).min_by_key(|cut| cut.abs_diff(goal))
    };
    let first_block = blocks.partition_point(|&b| b < offset + low);
    let block =
        || nearest(&mut blocks[first_block..].iter().map(|b| b - offset).take_while(|&cut| cut <= window.len()));
    let blank_line = || nearest(&mut blank_lines(window));
    let sentence = || nearest(&mut sentences(window));
    let line = || nearest(&mut memchr::memchr_iter(b'\n', window.as_bytes()).map(|at| at + 1));
    let word = || {
        let spaces = window.char_indices().filter(|(_, c)| c.is_whitespace());
        nearest(&mut spaces.map(|(at, c)| at + c.len_utf8()))
    };
    let grapheme = || nearest(&mut window.grapheme_indices(true).map(|(at, _)| at));
    let by_lines = match style {
        Style::Prose => block().or_else(blank_line).or_else(sentence).or_else(line),
        Style::Lines => block().or_else(blank_line).or_else(line),
    };
    by_lines.or_else(word).or_else(grapheme).unwrap_or(window.len())
}

/// Ends of the blank lines in `window`.
fn blank_lines(window: &str) -> impl Iterator<Item = usize> + '_ {
    let mut line_start = 0;
    memchr::memchr_iter(b'\n', window.as_bytes()).filter_map(move |newline| {
        let blank = line_start > 0 && window[line_start..newline].trim().is_empty();
        line_start = newline + 1;
        blank.then_some(newline + 1)
    })
}

/// Ends of sentences, by UAX #29. It also breaks at every line end, which says nothing in wrapped text: punctuation
/// must precede.
fn sentences(window: &str) -> impl Iterator<Item = usize> + '_ {
    window.split_sentence_bound_indices().filter_map(|(at, sentence)| {
        let said = sentence.trim_end().trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
        said.ends_with(['.', '!', '?', '…', '。', '！', '？', ':']).then_some(at + sentence.len())
    })
}

/// How many bytes before the end of `taken` the next piece begins, to repeat at most `chars` characters from a word's
/// beginning.
fn step_back(taken: &str, chars: usize) -> usize {
    if chars == 0 {
        return 0;
    }
    let from = taken.char_indices().rev().nth(chars - 1).map_or(0, |(at, _)| at);
    let tail = &taken[from..];
    let word = tail.char_indices().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8());
    tail.len() - word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, target_chars: usize, overlap_chars: usize, style: Style) -> Vec<&str> {
        let options = PassageOptions { target_chars, overlap_chars };
        split(text, 0..text.len(), &[], style, &options).into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn cuts_at_paragraphs_before_sentences_before_words() {
        let paragraphs = format!("{}\n\n{}", "one two. ".repeat(6), "three four. ".repeat(4));
        assert_eq!(pieces(&paragraphs, 64, 0, Style::Prose).len(), 2);
        let sentences = format!("{}end here. {}", "alpha beta\n".repeat(4), "Gamma delta\n".repeat(3));
        assert!(pieces(&sentences, 64, 0, Style::Prose)[0].ends_with("end here."));
        assert!(!pieces(&sentences, 64, 0, Style::Lines)[0].contains("end here."));
    }

    #[test]
    fn cuts_without_any_boundary_never_inside_a_character() {
        let text = "é".repeat(1000);
        let pieces = pieces(&text, 64, 0, Style::Prose);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|p| p.chars().count() <= 64));
    }

    #[test]
    fn last_piece_is_no_crumb() {
        let text = "word ".repeat(210); // 1050 characters into 1000
        let pieces = pieces(&text, 1000, 0, Style::Prose);
        assert_eq!(pieces.len(), 2);
        assert!(pieces.iter().all(|p| p.len() > 400), "{:?}", pieces.iter().map(|p| p.len()).collect::<Vec<_>>());
    }

    #[test]
    fn overlap_does_not_step_over_the_beginning_of_the_piece_before() {
        let text = format!("one\n{}two {}", " \n".repeat(30), "three ".repeat(20));
        let pieces = pieces(&text, 64, 32, Style::Prose);
        let starts: Vec<usize> = pieces.iter().map(|piece| piece.as_ptr() as usize - text.as_ptr() as usize).collect();
        assert!(starts.is_sorted_by(|a, b| a < b), "{starts:?}");
    }

    #[test]
    fn overlap_repeats_whole_words_of_the_piece_before() {
        let text = (0..200).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
        let pieces = pieces(&text, 100, 30, Style::Prose);
        for pair in pieces.windows(2) {
            let first = pair[1].split(' ').next().unwrap();
            assert!(pair[0].split(' ').any(|w| w == first), "{first:?} of {:?} not in {:?}", pair[1], pair[0]);
        }
    }

    #[test]
    fn first_line_keeps_its_indentation() {
        let text = "\n\n    let x = 1;\n    let y = 2;\n";
        assert_eq!(pieces(text, 900, 0, Style::Lines), ["    let x = 1;\n    let y = 2;"]);
    }
}
