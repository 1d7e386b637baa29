//! Markdown: sections by heading, cuts at blocks.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::PassageOptions;
use crate::passages::{Outline, Piece, assemble, heading_name, plain};
use crate::split::Style;

pub(crate) fn pieces(text: &str, options: &PassageOptions) -> (Option<String>, Vec<Piece>) {
    let Some(found) = structure(text) else { return (None, plain(text, options)) };
    let mut outline = Outline::default();
    for (level, at, name) in found.headings {
        outline.begin(level, at, name);
    }
    let sections = outline.finish(text.len());
    (found.title.or(found.first_h1), assemble(text, sections, &found.blocks, Style::Prose, options))
}

/// Where things stand in a text.
#[derive(Default)]
pub(crate) struct Structure {
    /// Level, beginning and name of each heading.
    pub(crate) headings: Vec<(u8, usize, String)>,
    /// Where top-level blocks and the items of top-level lists begin.
    pub(crate) blocks: Vec<usize>,
    title: Option<String>,
    pub(crate) first_h1: Option<String>,
}

/// `None` for what nobody would call Markdown.
pub(crate) fn structure(text: &str) -> Option<Structure> {
    if nests_too_deep(text) {
        return None;
    }
    let mut out = Structure::default();
    let mut heading: Option<(u8, usize, String)> = None;
    let (mut depth, mut in_front_matter) = (0_usize, false);
    let features = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS | Options::ENABLE_FOOTNOTES;
    for (event, span) in Parser::new_ext(text, features).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 || depth == 1 && matches!(tag, Tag::Item) {
                    out.blocks.push(span.start);
                }
                match tag {
                    Tag::Heading { level, .. } if depth == 0 => {
                        heading = Some((level as u8, span.start, String::new()));
                    }
                    Tag::MetadataBlock(_) => in_front_matter = true,
                    _ => {}
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth -= 1;
                match tag {
                    TagEnd::Heading(_) if depth == 0 => {
                        let Some((level, start, name)) = heading.take() else { continue };
                        let name = heading_name(&name);
                        if level == 1 && out.first_h1.is_none() && !name.is_empty() {
                            out.first_h1 = Some(name.clone());
                        }
                        out.headings.push((level, start, name));
                    }
                    TagEnd::MetadataBlock(_) => in_front_matter = false,
                    _ => {}
                }
            }
            Event::Text(words) if in_front_matter => out.title = out.title.or_else(|| front_matter_title(&words)),
            Event::Text(words) | Event::Code(words) => {
                if let Some((_, _, name)) = &mut heading {
                    name.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, name)) = &mut heading {
                    name.push(' ');
                }
            }
            _ => {}
        }
    }
    Some(out)
}

fn front_matter_title(yaml: &str) -> Option<String> {
    let value = yaml.lines().find_map(|line| line.strip_prefix("title:"))?.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Block quotes and lists nested this deep are nobody's notes, and each further line costs the parser one step a level.
const NESTING_MAX: usize = 256;

fn nests_too_deep(text: &str) -> bool {
    text.lines().any(|line| {
        let (mut levels, mut spaces) = (0, 0);
        let bytes = line.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b' ' => spaces += 1,
                b'\t' => spaces += 4,
                b'>' => levels += 1,
                b'-' | b'*' | b'+' | b'.' | b')' if matches!(bytes.get(at + 1), None | Some(b' ' | b'\t')) => {
                    levels += 1
                }
                b'0'..=b'9' => {}
                _ => break,
            }
        }
        levels + spaces / 2 > NESTING_MAX
    })
}
