//! Draws the screen: sections below each other, in two columns where there is room.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::time::Duration;

use nuthatch_link::Result as EngineResult;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::sample::{Face, Memory, Rates, Sample};
use crate::output::{Out, plain};
use crate::units::{bytes, count, duration, thousands};

/// From here on there are two columns.
const WIDE: u16 = 110;
/// Samples whose rates are drawn as a line of bars.
const HISTORY: usize = 30;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const TITLE: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// The samples so far, and the part of them that is on the screen.
pub struct View {
    sample: Sample,
    rates: Option<Rates>,
    history: BTreeMap<&'static str, VecDeque<f64>>,
    /// Why the last look failed.
    failure: Option<String>,
    offset: usize,
    is_held: bool,
}

impl View {
    pub fn new(sample: Sample) -> Self {
        Self { sample, rates: None, history: BTreeMap::new(), failure: None, offset: 0, is_held: false }
    }

    /// The next sample, or why there is none: then the last one stays.
    pub fn take(&mut self, sample: EngineResult<Sample>) {
        if self.is_held {
            return;
        }
        match sample {
            Ok(sample) => {
                let rates = Rates::between(&self.sample, &sample);
                for (face, rate) in &rates.faces {
                    let seen = self.history.entry(face).or_default();
                    seen.push_back(rate.per_second);
                    if seen.len() > HISTORY {
                        seen.pop_front();
                    }
                }
                (self.sample, self.rates, self.failure) = (sample, Some(rates), None);
            }
            Err(error) => self.failure = Some(error.message),
        }
    }

    /// Keeps the picture as it is, or goes on.
    pub fn hold(&mut self) {
        self.is_held = !self.is_held;
    }

    pub fn scroll(&mut self, lines: i32) {
        let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
        self.offset = if lines < 0 { self.offset.saturating_sub(by) } else { self.offset.saturating_add(by) };
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        let sections = sections(&self.sample, self.rates.as_ref(), &self.history);
        let columns = match body.width >= WIDE {
            true => Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).spacing(2).split(body),
            false => [body].into(),
        };
        let mut parts: Vec<Vec<Line<'static>>> = vec![Vec::new(); columns.len()];
        for section in sections {
            // To the shorter column: sections stay whole.
            let shortest = parts.iter().enumerate().min_by_key(|(_, lines)| lines.len()).map_or(0, |(at, _)| at);
            let at = if parts.len() == 1 { 0 } else { section.column.unwrap_or(shortest) };
            parts[at].push(Line::styled(section.title, TITLE));
            parts[at].extend(section.lines);
            parts[at].push(Line::default());
        }
        let longest = parts.iter().map(Vec::len).max().unwrap_or_default();
        self.offset = self.offset.min(longest.saturating_sub(body.height.into()));
        for (lines, area) in parts.into_iter().zip(columns.iter()) {
            let offset = u16::try_from(self.offset).unwrap_or(u16::MAX);
            frame.render_widget(Paragraph::new(lines).scroll((offset, 0)), *area);
        }
        frame.render_widget(Paragraph::new(self.foot(body, longest)), foot);
    }

    fn head(&self) -> Vec<Line<'static>> {
        let sample = &self.sample;
        let first = Line::from(vec![
            Span::styled("nuthatch top  ", TITLE),
            Span::raw(plain(&sample.source)),
            Span::styled(if self.is_held { "  (held)" } else { "" }, BAD),
        ]);
        let second = match &self.failure {
            Some(why) => Line::styled(format!("no answer, trying again: {}", plain(why).replace('\n', " ")), BAD),
            None => Line::styled(plain(&sample.holder), DIM),
        };
        vec![first, second]
    }

    fn foot(&self, body: Rect, longest: usize) -> Line<'static> {
        let more = longest.saturating_sub(self.offset + usize::from(body.height));
        let more = if more > 0 { format!("  {more} lines below") } else { String::new() };
        Line::styled(format!("q ends  space holds  ↑↓ move{more}"), DIM)
    }
}

/// A sample for people who asked for one.
pub fn print(out: &mut Out, sample: &Sample) -> std::io::Result<()> {
    writeln!(out, "{}\n{}", plain(&sample.source), plain(&sample.holder))?;
    for section in sections(sample, None, &BTreeMap::new()) {
        writeln!(out, "\n{}", section.title)?;
        for line in section.lines {
            writeln!(out, "  {}", line.to_string().trim_end())?;
        }
    }
    out.flush()
}

struct Section {
    title: String,
    lines: Vec<Line<'static>>,
    /// Where it stands when there are two columns; `None`: where there is room.
    column: Option<usize>,
}

fn sections(sample: &Sample, rates: Option<&Rates>, history: &BTreeMap<&'static str, VecDeque<f64>>) -> Vec<Section> {
    let section = |title: &str, column, lines| Section { title: title.to_string(), lines, column };
    vec![
        section("Requests", Some(0), requests(sample.faces.as_deref(), rates, history)),
        section("Memory", Some(0), memory(&sample.memory, sample.disk_bytes)),
        section("Background work", Some(1), background(sample)),
        section("Caches of answers", Some(1), caches(sample, rates)),
        section("Tenants", Some(1), tenants(sample)),
        section("Collections", None, collections(sample)),
    ]
}

fn requests(
    faces: Option<&[Face]>,
    rates: Option<&Rates>,
    history: &BTreeMap<&'static str, VecDeque<f64>>,
) -> Vec<Line<'static>> {
    let Some(faces) = faces else {
        return vec![Line::styled("servers count them: watch one with --url", DIM)];
    };
    let mut lines = vec![Line::styled(
        format!("{:<8}{:>9}{:>9}{:>9}{:>13}{:>9}", "", "a second", "p50", "p99", "in all", "failed"),
        DIM,
    )];
    for face in faces {
        let rate = rates.and_then(|rates| rates.faces.get(face.name));
        let took = |ms: Option<f64>| ms.map_or_else(|| "-".into(), milliseconds);
        let per_second = rate.map_or_else(|| "-".into(), |rate| format!("{:.1}", rate.per_second));
        let (p50, p99) = rate.map_or((None, None), |rate| (rate.took.p50_ms, rate.took.p99_ms));
        let mut line = vec![Span::raw(format!(
            "{:<8}{per_second:>9}{:>9}{:>9}{:>13}{:>9}",
            face.name,
            took(p50),
            took(p99),
            thousands(face.requests),
            thousands(face.failed)
        ))];
        if let Some(seen) = history.get(face.name).filter(|seen| seen.iter().any(|rate| *rate > 0.0)) {
            line.push(Span::styled(format!("  {}", bars(seen)), Style::new().fg(Color::Green)));
        }
        lines.push(line.into());
    }
    lines
}

fn bars(rates: &VecDeque<f64>) -> String {
    let most = rates.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    rates.iter().map(|rate| BARS[((rate / most * 7.0).round() as usize).min(7)]).collect()
}

fn memory(memory: &Memory, disk_bytes: u64) -> Vec<Line<'static>> {
    let share = memory.engine_bytes as f64 / (memory.budget_bytes.max(1)) as f64;
    let mut lines = vec![Line::from(vec![
        Span::raw(format!("{:<16}{:>9} of {:<9}", "budget", bytes(memory.engine_bytes), bytes(memory.budget_bytes))),
        Span::styled(bar(share, 20), if share > 0.9 { BAD } else { Style::new().fg(Color::Green) }),
    ])];
    let most = memory.parts.first().map_or(1, |part| part.bytes).max(1);
    for part in &memory.parts {
        let drawn = bar(part.bytes as f64 / most as f64, 20);
        lines.push(Line::from(vec![
            Span::raw(format!("  {:<14}{:>9}    ", part.name, bytes(part.bytes))),
            Span::styled(drawn, Style::new().fg(Color::Blue)),
        ]));
    }
    lines.push(Line::raw(format!("{:<16}{:>9}", "process", bytes(memory.process_bytes))));
    lines.push(Line::raw(format!("{:<16}{:>9}", "on disk", bytes(disk_bytes))));
    lines
}

fn background(sample: &Sample) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for collection in &sample.collections {
        let name = plain(&collection.name);
        if let Some(build) = &collection.building {
            let left = build.seconds_left.map(|seconds| format!(", {} left", time(seconds))).unwrap_or_default();
            lines.push(progress(&format!("{name}: vector graph"), build.done, build.total, &left));
        }
        if collection.pending > 0 {
            let total = collection.vectors + collection.pending;
            lines.push(progress(&format!("{name}: vectors"), collection.vectors, total, ""));
        }
        if collection.fresh_rows > 0 {
            lines.push(Line::raw(format!("{name}: {} records in no index yet", thousands(collection.fresh_rows))));
        }
        for why in &collection.degraded {
            lines.push(Line::styled(format!("{name}: {}", plain(why).replace('\n', " ")), BAD));
        }
    }
    if sample.snapshots > 0 {
        lines.push(Line::raw(format!("{} open snapshots and transactions", thousands(sample.snapshots))));
    }
    or_none(lines)
}

fn progress(what: &str, done: u64, total: u64, left: &str) -> Line<'static> {
    let share = done as f64 / total.max(1) as f64;
    Line::from(vec![
        Span::raw(format!("{what} ")),
        Span::styled(bar(share, 12), Style::new().fg(Color::Green)),
        Span::raw(format!(" {:.0} % of {}{left}", share * 100.0, thousands(total))),
    ])
}

fn caches(sample: &Sample, rates: Option<&Rates>) -> Vec<Line<'static>> {
    let lines = sample.caches.iter().map(|cache| {
        let (hits, lookups) = (cache.hits(), cache.hits() + cache.misses);
        let now = rates.and_then(|rates| rates.caches.get(&cache.name)).filter(|(_, lookups)| *lookups > 0);
        let now = now.map(|(hits, lookups)| format!(", now {}", percent(*hits, *lookups))).unwrap_or_default();
        let wrong = match cache.semantic > 0 {
            true => format!(", at most {:.1} of {:.1} wrong", cache.bound, cache.allowed),
            false => String::new(),
        };
        Line::raw(format!(
            "{}: {} of {} lookups hit{now}; {}, {}{wrong}",
            plain(&cache.name),
            percent(hits, lookups),
            thousands(lookups),
            count(cache.entries, "answer"),
            bytes(cache.bytes)
        ))
    });
    or_none(lines.collect())
}

fn tenants(sample: &Sample) -> Vec<Line<'static>> {
    let lines = sample.tenants.iter().map(|tenant| {
        let of = |most: Option<String>| most.map(|most| format!(" of {most}")).unwrap_or_default();
        let is_full = |used: u64, most: Option<u64>| most.is_some_and(|most| used as f64 > 0.9 * most as f64);
        let is_full = is_full(tenant.vectors, tenant.vectors_max) || is_full(tenant.bytes, tenant.bytes_max);
        Line::styled(
            format!(
                "{}: {}{}, {}{} vectors",
                plain(&tenant.name),
                bytes(tenant.bytes),
                of(tenant.bytes_max.map(bytes)),
                thousands(tenant.vectors),
                of(tenant.vectors_max.map(thousands)),
            ),
            if is_full { BAD } else { Style::new() },
        )
    });
    or_none(lines.collect())
}

fn collections(sample: &Sample) -> Vec<Line<'static>> {
    let mut by_size: Vec<_> = sample.collections.iter().collect();
    by_size.sort_by_key(|collection| std::cmp::Reverse(collection.rows));
    let lines = by_size.iter().map(|collection| {
        Line::raw(format!(
            "{:<24}{:>13} records {:>13} vectors",
            plain(&collection.name),
            thousands(collection.rows),
            thousands(collection.vectors)
        ))
    });
    or_none(lines.collect())
}

fn or_none(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    if lines.is_empty() { vec![Line::styled("none", DIM)] } else { lines }
}

fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".into(),
        _ => format!("{:.1} %", part as f64 / whole as f64 * 100.0),
    }
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ..10.0 => format!("{ms:.2} ms"),
        ..1000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

fn time(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use nuthatch_link::Error;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::sample::{Building, Cache, Collection, Part, Tenant};
    use super::*;

    fn seen() -> Sample {
        let part = |name: &str, bytes| Part { name: name.into(), bytes };
        let face = |name, requests| Face { name, requests, failed: 3, times: vec![(0.001, requests), (0.01, 0)] };
        Sample {
            source: "/srv/memory".into(),
            holder: "process 4711 (nuthatch serve)".into(),
            at_ms: 1000,
            faces: Some(vec![face("http", 1200), face("redis", 5)]),
            memory: Memory {
                budget_bytes: 64 << 20,
                engine_bytes: 16 << 20,
                process_bytes: 48 << 20,
                parts: vec![part("store cache", 12 << 20), part("segments", 4 << 20)],
            },
            disk_bytes: 5 << 30,
            snapshots: 2,
            collections: vec![Collection {
                name: "notes\u{1b}[31m".into(),
                rows: 1_000_000,
                vectors: 750_000,
                pending: 250_000,
                fresh_rows: 12,
                building: Some(Building { done: 300, total: 1200, rows_per_second: 9.0, seconds_left: Some(100.0) }),
                degraded: vec!["its index is damaged".into()],
            }],
            caches: vec![Cache { name: "answers".into(), entries: 7, exact: 3, misses: 1, ..Cache::default() }],
            tenants: vec![Tenant { name: "acme".into(), vectors: 95, vectors_max: Some(100), ..Tenant::default() }],
        }
    }

    fn drawn(view: &mut View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
        (0..height).map(row).collect()
    }

    #[test]
    fn every_section_is_on_a_wide_screen() {
        let mut view = View::new(seen());
        let mut later = seen();
        later.at_ms = 2000;
        later.faces.as_mut().unwrap()[0].requests = 1300;
        later.faces.as_mut().unwrap()[0].times[0].1 = 1300;
        later.caches[0].exact = 4;
        view.take(Ok(later));
        let screen = drawn(&mut view, 140, 40).join("\n");
        for wanted in [
            "/srv/memory",
            "process 4711 (nuthatch serve)",
            "http        100.0",
            "0.50 ms",
            "16 MiB of 64 MiB",
            "store cache      12 MiB",
            "vector graph ███░░░░░░░░░ 25 % of 1,200, 1:40 left",
            "vectors █████████░░░ 75 % of 1,000,000",
            "12 records in no index yet",
            "its index is damaged",
            "answers: 80.0 % of 5 lookups hit, now 100.0 %; 7 answers",
            "acme: 0 B, 95 of 100 vectors",
            "1,000,000 records",
        ] {
            assert!(screen.contains(wanted), "{wanted:?} is not in\n{screen}");
        }
        assert!(!screen.contains('\u{1b}'), "a name steers the terminal");
    }

    #[test]
    fn a_narrow_screen_has_one_column_and_can_be_moved() {
        let mut view = View::new(seen());
        let top = drawn(&mut view, 60, 12);
        assert!(top[2].starts_with("Requests"), "{top:?}");
        assert!(top[11].contains("lines below"), "{top:?}");
        view.scroll(i32::MAX);
        let end = drawn(&mut view, 60, 12).join("\n");
        assert!(end.contains("Collections") && end.contains("1,000,000 records"), "{end}");
        assert!(!end.contains("lines below"), "{end}");
        view.scroll(i32::MIN);
        assert_eq!(drawn(&mut view, 60, 12), top);
    }

    #[test]
    fn no_size_of_a_terminal_makes_it_fail() {
        for (width, height) in [(1, 1), (2, 3), (10, 4), (39, 1), (109, 2), (110, 3), (300, 100)] {
            let mut view = View::new(seen());
            assert_eq!(drawn(&mut view, width, height).len(), usize::from(height));
            drawn(&mut View::new(Sample::default()), width, height);
        }
    }

    #[test]
    fn a_failed_look_keeps_the_last_picture_and_says_why() {
        let mut view = View::new(seen());
        view.take(Err(Error::internal("the server\nhas gone")));
        let screen = drawn(&mut view, 120, 40).join("\n");
        assert!(screen.contains("no answer, trying again: the server has gone"), "{screen}");
        assert!(screen.contains("16 MiB of 64 MiB"), "{screen}");
        view.hold();
        view.take(Ok(Sample::default()));
        assert!(drawn(&mut view, 120, 40).join("\n").contains("16 MiB of 64 MiB"), "held, and it went on");
    }

    #[test]
    fn a_folder_says_where_requests_are_counted() {
        let sample = Sample { faces: None, ..seen() };
        let screen = drawn(&mut View::new(sample), 80, 24).join("\n");
        assert!(screen.contains("watch one with --url"), "{screen}");
    }
}
