//! Patterns and contents: what rules a content out, and the parts of a block.

use nuthatch_grep::{BlockBuilder, GramSet, Grep, Needed, Postings, Request, no_bits, part_of};

use crate::Run;

/// Flags, then a pattern, then a content behind the end of the line. All of it is a part of a block, too.
pub fn start() -> Run {
    let mut set = GramSet::default();
    Box::new(move |bytes| {
        let _refused_or_not = Postings(bytes).look(&[1, 2, 3]);
        let (flags, rest) = bytes.split_first().map_or((0, bytes), |(flags, rest)| (*flags, rest));
        let (pattern, content) = rest.split_at(rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
        let request = Request {
            patterns: vec![String::from_utf8_lossy(pattern).into_owned()],
            ignore_case: flags & 1 > 0,
            smart_case: flags & 2 > 0,
            fixed_strings: flags & 4 > 0,
            multiline: flags & 8 > 0,
            no_unicode: flags & 16 > 0,
            crlf: flags & 32 > 0,
            word: flags & 64 > 0,
            ..Request::default()
        };
        let Ok(mut grep) = Grep::new(&request) else { return };
        let Ok(found) = grep.search("a", content, &mut Vec::new()) else { return };
        set.begin();
        if !set.add(content) {
            return;
        }
        let grams = set.grams();
        let mut builder = BlockBuilder::default();
        assert!(builder.add(7, grams), "a content has room in a block of its own");
        let parts = builder.finish(500);
        let having = |gram| {
            let mut bits = no_bits();
            for piece in parts.iter().filter(|(part, _)| *part == part_of(gram)).flat_map(|(_, pieces)| pieces) {
                let found = Postings(piece).look(&[gram]).expect("a part of our own");
                bits.iter_mut().zip(found[0]).for_each(|(bits, found)| *bits |= found);
            }
            bits
        };
        let can_match = Needed::of(&request).of_block(&having)[0] >> 7 & 1 == 1;
        assert!(can_match || !found.matched, "a content that matches is not ruled out");
    })
}
