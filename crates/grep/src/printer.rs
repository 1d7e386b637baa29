//! The printer that a request asks for, with ripgrep's settings.

use grep_printer::{
    ColorSpecs, JSON, JSONBuilder, Standard, StandardBuilder, Summary, SummaryBuilder, SummaryKind, default_color_specs,
};

use crate::paper::{Paper, Sheet};
use crate::{Output, Request};

/// ripgrep's separator between groups of lines that do not touch.
const BETWEEN_GROUPS: &[u8] = b"--";

/// One of the three that ripgrep has.
#[derive(Debug)]
pub(crate) enum Printer {
    Lines(Box<Standard<Paper>>),
    Summary(Box<Summary<Paper>>),
    Json(Box<JSON<Paper>>),
}

impl Printer {
    pub(crate) fn new(request: &Request) -> Self {
        let kind = match request.real_output() {
            Output::FilesWithoutMatch if request.quiet => SummaryKind::QuietWithoutMatch,
            _ if request.quiet => SummaryKind::QuietWithMatch,
            Output::Lines => return Self::Lines(Box::new(lines(request))),
            Output::Json => return Self::Json(Box::new(json(request))),
            Output::Count => SummaryKind::Count,
            Output::CountMatches => SummaryKind::CountMatches,
            Output::FilesWithMatches => SummaryKind::PathWithMatch,
            Output::FilesWithoutMatch => SummaryKind::PathWithoutMatch,
        };
        Self::Summary(Box::new(summary(request, kind)))
    }

    /// Returns the separator between the output for two contents.
    pub(crate) fn separator(&self, request: &Request) -> Option<&'static [u8]> {
        let Self::Lines(_) = self else { return None };
        let grouped = !request.passthru && (request.before_context > 0 || request.after_context > 0);
        match (has_heading(request), grouped) {
            (true, _) => Some(b""),
            (false, true) => Some(BETWEEN_GROUPS),
            (false, false) => None,
        }
    }

    pub(crate) fn sheet(&mut self) -> &mut Sheet {
        match self {
            Self::Lines(printer) => printer.get_mut(),
            Self::Summary(printer) => printer.get_mut(),
            Self::Json(printer) => printer.get_mut(),
        }
        .sheet()
    }
}

fn lines(request: &Request) -> Standard<Paper> {
    StandardBuilder::new()
        .byte_offset(request.byte_offset)
        .color_specs(colors())
        .column(request.shows_column())
        .heading(has_heading(request))
        .max_columns(request.max_columns)
        .max_columns_preview(request.max_columns_preview)
        .only_matching(request.only_matching)
        .path(request.with_filename)
        .path_terminator(request.null.then_some(0))
        .per_match(request.vimgrep)
        .per_match_one_line(true)
        .replacement(request.replace.clone().map(String::into_bytes))
        .separator_context(Some(BETWEEN_GROUPS.to_vec()))
        .separator_field_context(b"-".to_vec())
        .separator_field_match(b":".to_vec())
        .separator_search(None)
        .stats(request.keeps_stats())
        .trim_ascii(request.trim)
        .build(Paper::new(request.color))
}

fn has_heading(request: &Request) -> bool {
    request.heading && !request.vimgrep
}

fn summary(request: &Request, kind: SummaryKind) -> Summary<Paper> {
    SummaryBuilder::new()
        .color_specs(colors())
        .exclude_zero(!request.include_zero)
        .kind(kind)
        .path(request.with_filename)
        .path_terminator(request.null.then_some(0))
        .separator_field(b":".to_vec())
        .stats(request.keeps_stats())
        .build(Paper::new(request.color))
}

fn json(request: &Request) -> JSON<Paper> {
    JSONBuilder::new()
        .pretty(false)
        .always_begin_end(false)
        .replacement(request.replace.clone().map(String::into_bytes))
        .build(Paper::new(false))
}

fn colors() -> ColorSpecs {
    ColorSpecs::new(&default_color_specs())
}
