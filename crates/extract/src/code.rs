//! Source code: sections by definition, found by tree-sitter grammars; other languages by blank lines.

mod grammar;

use std::ops::Range;
use std::sync::Arc;

use nuthatch_code::parse;
use tree_sitter::Node;

use crate::PassageOptions;
use crate::passages::{Piece, Section, assemble};
use crate::split::Style;
use grammar::Grammar;

pub(crate) fn pieces(text: &str, lang: Option<&str>, options: &PassageOptions) -> Vec<Piece> {
    let sections = lang.and_then(grammar::of).and_then(|grammar| {
        let tree = parse(grammar.language, text.as_bytes())?;
        let mut outline = Outline { text, grammar, target_bytes: options.target(), sections: Vec::new() };
        outline.members(tree.root_node(), 0..text.len(), &[]);
        Some(outline.sections)
    });
    let sections = sections.unwrap_or_else(|| vec![Section { range: 0..text.len(), heading: Vec::new() }]);
    assemble(text, sections, &[], Style::Lines, options)
}

/// Containers inside containers beyond this are one section: real code does not nest so, and the walk is recursive.
const CONTAINER_DEPTH_MAX: usize = 8;

struct Outline<'a> {
    text: &'a str,
    grammar: Grammar,
    target_bytes: usize,
    sections: Vec<Section>,
}

impl Outline<'_> {
    /// Sections that tile `range`, in which the children of `parent` stand: a definition each, and what lies between.
    fn members(&mut self, parent: Node, range: Range<usize>, path: &[String]) {
        let mut at = range.start;
        let mut cursor = parent.walk();
        for child in parent.children(&mut cursor) {
            let Some(definition) = self.grammar.definition(child) else { continue };
            let end = self.line_end(child.end_byte()).min(range.end);
            if child.start_byte() < at || end <= at {
                continue; // error recovery can leave nodes that overlap
            }
            let start = self.with_comments_above(at, child.start_byte());
            self.push(at..start, path);
            let mut inner = path.to_vec();
            inner.push(self.grammar.label(&definition, self.text));
            match definition.body {
                Some(body) if end - start > self.target_bytes && inner.len() < CONTAINER_DEPTH_MAX => {
                    self.members(body, start..end, &inner);
                }
                _ => self.push(start..end, &inner),
            }
            at = end;
        }
        self.push(at..range.end, path);
    }

    fn push(&mut self, range: Range<usize>, path: &[String]) {
        if !range.is_empty() {
            self.sections.push(Section { range, heading: path.iter().map(|name| Arc::from(name.as_str())).collect() });
        }
    }

    /// Past what still belongs to the statement that ends at `end`: a semicolon, and blanks up to the line end.
    fn line_end(&self, end: usize) -> usize {
        let rest = &self.text[end..];
        end + rest.len() - rest.trim_start_matches([' ', '\t', ';', ',']).len()
    }

    /// From where a definition is to be shown: the comments, attributes and annotations on the lines right above it are
    /// part of it.
    fn with_comments_above(&self, floor: usize, start: usize) -> usize {
        let mut from = start;
        let mut line_start = self.text[floor..start].rfind('\n').map_or(floor, |at| floor + at + 1);
        if self.text[line_start..start].trim().is_empty() {
            from = line_start;
        }
        while from == line_start && line_start > floor {
            let above = &self.text[floor..line_start - 1];
            let above_start = above.rfind('\n').map_or(floor, |at| floor + at + 1);
            let line = self.text[above_start..line_start - 1].trim_start();
            if !["//", "/*", "*", "#", "@"].iter().any(|mark| line.starts_with(mark)) {
                break;
            }
            (from, line_start) = (above_start, above_start);
        }
        from
    }
}
