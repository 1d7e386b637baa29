//! Which script and which of five languages a prompt is in, where that can be told.

use crate::lexicon::STOPWORDS;
use crate::tables;

/// A script, as far as it tells prompts apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Latin,
    Cyrillic,
    Greek,
    Hebrew,
    Arabic,
    Devanagari,
    Thai,
    Kana,
    Hangul,
    Han,
}

/// The script of most of a text's letters; `None` for one without letters of these scripts.
pub(crate) fn script(text: &str) -> Option<Script> {
    let mut counts = [0usize; 10];
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        if let Some(script) = script_of(letter) {
            counts[script as usize] += 1;
        }
    }
    // Japanese is written with Han, too.
    if counts[Script::Kana as usize] > 0 {
        counts[Script::Kana as usize] += counts[Script::Han as usize];
    }
    let all = [
        Script::Latin,
        Script::Cyrillic,
        Script::Greek,
        Script::Hebrew,
        Script::Arabic,
        Script::Devanagari,
        Script::Thai,
        Script::Kana,
        Script::Hangul,
        Script::Han,
    ];
    all.into_iter().filter(|script| counts[*script as usize] > 0).max_by_key(|script| counts[*script as usize])
}

fn script_of(letter: char) -> Option<Script> {
    Some(match letter as u32 {
        0x41..=0x24F | 0x1E00..=0x1EFF => Script::Latin,
        0x370..=0x3FF | 0x1F00..=0x1FFF => Script::Greek,
        0x400..=0x52F => Script::Cyrillic,
        0x590..=0x5FF => Script::Hebrew,
        0x600..=0x6FF | 0x750..=0x77F => Script::Arabic,
        0x900..=0x97F => Script::Devanagari,
        0xE00..=0xE7F => Script::Thai,
        0x3040..=0x30FF => Script::Kana,
        0xAC00..=0xD7AF | 0x1100..=0x11FF => Script::Hangul,
        0x4E00..=0x9FFF | 0x3400..=0x4DBF => Script::Han,
        _ => return None,
    })
}

/// The place of the language among [`tables::STOPWORDS`] whose words the text has twice or more, and more often than those of any
/// other; `None` where the words do not tell.
pub(crate) fn language<'w>(words: impl Iterator<Item = &'w str>) -> Option<usize> {
    let mut counts = vec![0usize; tables::STOPWORDS.len()];
    for languages in words.filter_map(|word| STOPWORDS.get(word)) {
        languages.iter().for_each(|language| counts[*language] += 1);
    }
    let (at, most) = counts.iter().copied().enumerate().max_by_key(|(_, count)| *count)?;
    let is_alone = counts.iter().filter(|count| **count == most).count() == 1;
    (most >= 2 && is_alone).then_some(at)
}

/// The place of English among [`tables::STOPWORDS`].
pub(crate) const ENGLISH: usize = 0;
