//! The parts of a text that a reader recognises without knowing the language: links, addresses, issue numbers,
//! versions, dates, paths, names in backticks. One pass, in time linear in the text.

/// The kind of a recognised part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With its scheme.
    Url,
    /// A target of a link that is no URL, relative to the document.
    Link,
    /// A target of a wiki link: a name, not a path.
    WikiLink,
    Email,
    /// `#12`, `owner/repo#12`, `ABC-123`.
    Issue,
    /// A path of a file, with a slash and an extension.
    Path,
    /// An identifier in backticks.
    Symbol,
    /// `2026-11-28`.
    Date,
    /// `v1.2.3`, `1.2.3`.
    Version,
}

/// A recognised piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// The name of the thing.
    pub name: String,
}

/// Everything that is recognised, in the order of the text.
pub(super) fn scan(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    links(text, &mut found);
    backticks(text, &mut found);
    let taken: Vec<(usize, usize)> = found.iter().map(|it| (it.start, it.end)).collect();
    words(text, &taken, &mut found);
    found.sort_by_key(|it| (it.start, it.end));
    found
}

/// `[text](target)`, `[[target|text]]`, `href="target"`, `<https://…>`.
fn links(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        if let Some(inside) = rest.strip_prefix("[[") {
            if let Some(length) = inside.find("]]").filter(|length| !inside[..*length].contains('\n')) {
                let target = inside[..length].split(['|', '#']).next().unwrap_or_default().trim();
                push(found, Kind::WikiLink, at, at + length + 4, target);
                at += length + 4;
                continue;
            }
        } else if let Some(inside) = rest.strip_prefix("](") {
            if let Some(length) = inside.find([')', '\n', ' ']) {
                let target = inside[..length].trim_matches(['<', '>']);
                push_target(found, at + 2, at + 2 + length, target);
                at += 2 + length;
                continue;
            }
        } else if let Some(skipped) = ["href=\"", "src=\"", "href='", "src='"].iter().find(|it| rest.starts_with(**it))
        {
            let quote = if skipped.ends_with('"') { '"' } else { '\'' };
            if let Some(length) = rest[skipped.len()..].find([quote, '\n']) {
                let from = at + skipped.len();
                push_target(found, from, from + length, &text[from..from + length]);
                at = from + length;
                continue;
            }
        }
        at += next_length(rest);
    }
}

fn next_length(rest: &str) -> usize {
    rest.chars().next().map_or(1, char::len_utf8)
}

fn push_target(found: &mut Vec<Found>, start: usize, end: usize, target: &str) {
    let target = target.trim();
    let bare = target.split(['#', '?']).next().unwrap_or_default();
    match target.split_once(':') {
        Some(("http" | "https", _)) => push(found, Kind::Url, start, end, trimmed_url(target)),
        Some(("mailto", address)) => {
            let address = address.split('?').next().unwrap_or_default();
            push(found, Kind::Email, start, end, &address.to_lowercase());
        }
        // Another scheme, a drive.
        Some((scheme, _)) if scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it)) => {}
        _ if bare.is_empty() => {}
        _ => push(found, Kind::Link, start, end, bare),
    }
}

fn push(found: &mut Vec<Found>, kind: Kind, start: usize, end: usize, name: &str) {
    if !name.is_empty() && name.len() <= 512 && !name.contains('\0') {
        found.push(Found { kind, start, end, name: name.into() });
    }
}

/// `name` and ``name``, but no fences.
fn backticks(text: &str, found: &mut Vec<Found>) {
    let mut at = 0;
    while let Some(open) = text[at..].find('`') {
        let start = at + open;
        let ticks = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        let from = start + ticks;
        let Some(length) = text[from..].find(&"`".repeat(ticks)) else {
            at = from;
            continue;
        };
        if ticks < 3 {
            let inside = text[from..from + length].trim();
            let called = inside.strip_suffix("()").unwrap_or(inside);
            if is_symbol(called) && !called.contains('/') {
                push(found, Kind::Symbol, from, from + length, called);
            }
        }
        at = from + length + ticks;
    }
}

/// `name`, `a.b`, `a::b`, `a->b`.
fn is_symbol(word: &str) -> bool {
    let is_part = |part: &str| {
        part.chars().next().is_some_and(|it| it.is_alphabetic() || it == '_')
            && part.chars().all(|it| it.is_alphanumeric() || it == '_')
    };
    word.len() > 1 && word.len() <= 200 && word.replace("::", ".").replace("->", ".").split('.').all(is_part)
}

/// Words between spaces, quotes and brackets.
fn words(text: &str, taken: &[(usize, usize)], found: &mut Vec<Found>) {
    let is_gap = |it: char| it.is_whitespace() || "()[]{}<>\"'`,;|*“”‘’«»".contains(it);
    let mut taken = {
        let mut taken = taken.to_vec();
        taken.sort_unstable();
        taken.into_iter().peekable()
    };
    let mut at = 0;
    for word in text.split(is_gap) {
        let start = at;
        // Each gap is one character, of one byte or more.
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
        while taken.next_if(|(_, end)| *end <= start).is_some() {}
        let end = start + word.len();
        if word.is_empty() || taken.peek().is_some_and(|(from, _)| *from < end) {
            continue;
        }
        let word = word.trim_end_matches(['.', ':', '!', '?', '…']);
        if let Some((kind, name)) = kind_of(word) {
            push(found, kind, start, start + word.len(), &name);
        }
    }
}

fn kind_of(word: &str) -> Option<(Kind, String)> {
    let own = |kind| Some((kind, word.to_string()));
    if word.starts_with("http://") || word.starts_with("https://") {
        let url = trimmed_url(word);
        return (url.len() > 8).then(|| (Kind::Url, url.to_string()));
    }
    if is_email(word) {
        return Some((Kind::Email, word.to_lowercase()));
    }
    if is_issue(word) {
        return own(Kind::Issue);
    }
    if is_date(word) {
        return own(Kind::Date);
    }
    if is_version(word) {
        return Some((Kind::Version, word.trim_start_matches(['v', 'V']).to_string()));
    }
    if is_path(word) {
        return Some((Kind::Path, word.trim_start_matches("./").to_string()));
    }
    None
}

/// Punctuation at its end belongs to the sentence.
fn trimmed_url(url: &str) -> &str {
    url.trim_end_matches(['.', ',', ':', ';', '!', '?', ')', ']'])
}

fn is_email(word: &str) -> bool {
    let Some((local, domain)) = word.split_once('@') else { return false };
    let is_local = |it: char| it.is_ascii_alphanumeric() || "._%+-".contains(it);
    let is_domain = |it: char| it.is_alphanumeric() || "-.".contains(it);
    let last = domain.rsplit('.').next().unwrap_or_default();
    !local.is_empty()
        && local.chars().all(is_local)
        && domain.contains('.')
        && !domain.starts_with('.')
        && !domain.contains("..")
        && domain.chars().all(is_domain)
        && last.chars().count() >= 2
        && last.chars().all(char::is_alphabetic)
}

fn is_issue(word: &str) -> bool {
    let digits = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = |text: &str| !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
    if let Some((repository, number)) = word.split_once('#') {
        let of_repository = repository.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name));
        return digits(number) && (repository.is_empty() || of_repository);
    }
    word.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && project.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
            && project.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && digits(number)
            // Names of standards look the same.
            && !matches!(project, "UTF" | "ISO" | "RFC" | "SHA" | "HTTP" | "ASCII" | "IEEE" | "COVID" | "GPT")
    })
}

fn is_date(word: &str) -> bool {
    let mut parts = word.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    year.len() == 4 && month.len() == 2 && day.len() == 2 && nuthatch_filter::parse_datetime(word).is_some()
}

fn is_version(word: &str) -> bool {
    let marked = word.starts_with(['v', 'V']);
    let bare = word.trim_start_matches(['v', 'V']);
    let (numbers, suffix) = match bare.find(['-', '+']) {
        Some(at) => (&bare[..at], &bare[at + 1..]),
        None => (bare, ""),
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_number = |part: &&str| (1..=6).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let least = if marked { 2 } else { 3 };
    // Four numbers are an address.
    (least..=3).contains(&parts.len())
        && parts.iter().all(is_number)
        && suffix.chars().all(|it| it.is_ascii_alphanumeric() || ".-".contains(it))
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    word.contains('/')
        && !word.contains("//")
        && word.chars().all(|it| it.is_alphanumeric() || "/._-+@~".contains(it))
        && extension.is_some_and(|it| (1..=6).contains(&it.len()) && it.chars().all(|it| it.is_ascii_alphanumeric()))
        && extension.is_some_and(|it| it.chars().any(|it| it.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(Kind, String)> {
        scan(text).into_iter().map(|it| (it.kind, it.name)).collect()
    }

    #[test]
    fn what_looks_like_something_is_recognised() {
        for (text, kind, name) in [
            ("See https://example.org/a?b=c.", Kind::Url, "https://example.org/a?b=c"),
            ("[docs](../guide/start.md#top)", Kind::Link, "../guide/start.md"),
            ("[site](https://example.org)", Kind::Url, "https://example.org"),
            ("<a href=\"faq.html\">", Kind::Link, "faq.html"),
            ("as [[Release Plan|planned]]", Kind::WikiLink, "Release Plan"),
            ("Write to Anna.Smith@Example.org!", Kind::Email, "anna.smith@example.org"),
            ("fixed in #123.", Kind::Issue, "#123"),
            ("see rust-lang/rust#42", Kind::Issue, "rust-lang/rust#42"),
            ("blocked by ABC-17", Kind::Issue, "ABC-17"),
            ("on 2026-11-28 we", Kind::Date, "2026-11-28"),
            ("since v1.2", Kind::Version, "1.2"),
            ("needs 3.10.2-rc.1", Kind::Version, "3.10.2-rc.1"),
            ("in src/main.rs:", Kind::Path, "src/main.rs"),
            ("calls `Index::search()`", Kind::Symbol, "Index::search"),
        ] {
            assert_eq!(names(text), [(kind, name.to_string())], "{text}");
        }
    }

    #[test]
    fn what_looks_like_nothing_is_left_alone() {
        for text in [
            "a plain sentence, with and/or.",
            "UTF-8 and RFC-1 are standards",
            "1.5 litres, 10.0.0.1",
            "2026-13-45",
            "an @ alone, a@b",
            "`git commit -m x`",
            "```\nlet x = 1;\n```",
            "#heading",
            "[[]] []() ![]( )",
            "C# and 50%",
            "",
        ] {
            assert_eq!(names(text), [], "{text}");
        }
    }

    #[test]
    fn any_text_is_scanned_and_ranges_are_of_whole_characters() {
        let mut dice = fastrand::Rng::with_seed(5);
        let parts = [
            "[", "]", "(", ")", "`", "ß", "#1", "a@b.de", " ", "\n", "href=\"", "http://", "漢", "/", ".", "v1.2", "-",
        ];
        for _ in 0..2_000 {
            let text: String = (0..dice.usize(0..40)).map(|_| parts[dice.usize(0..parts.len())]).collect();
            for it in scan(&text) {
                assert!(text.get(it.start..it.end).is_some(), "{text:?} {it:?}");
            }
        }
    }
}
