//! Which grams a content must have to match a request.
//!
//! The method is that of Russ Cox, *Regular Expression Matching with a Trigram Index* (2012): for each part of a pattern, the
//! strings that it matches while they are few, and otherwise how its matches begin and end, and the grams inside.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::grams::strings::Strings;
use crate::grams::{Bits, Gram, gram, no_bits};
use crate::{Output, Request};

/// Grams of one string that are looked up; more of them hardly rule out more.
const GRAMS_A_STRING: usize = 16;
/// Different grams of a request. With more, looking them up is as long as the search.
const GRAMS_MAX: usize = 512;
/// Characters of a class that are taken one by one.
const CLASS_MAX: usize = 16;
/// Times that a repetition is written out.
const REPEATED_MAX: u32 = 3;
/// Parts of one condition: more of them hardly rule out more.
const PARTS_MAX: usize = 64;
/// Alternatives: with more, nothing is ruled out.
const ALTERNATIVES_MAX: usize = 4_096;
/// As in the matcher.
const NEST_LIMIT: u32 = 250;

/// The grams that a content needs to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Nothing that grams tell.
    Nothing,
    /// This gram.
    Gram(Gram),
    /// All of these.
    All(Vec<Self>),
    /// One of these.
    Any(Vec<Self>),
}

impl Needed {
    /// Returns the grams that a content needs to change the output of a search.
    pub fn of(request: &Request) -> Self {
        let prints_without_match = request.invert
            || request.passthru
            || request.include_zero
            || request.output == Output::FilesWithoutMatch
            || !matches!(request.encoding.as_deref(), None | Some("auto" | "none"));
        if prints_without_match {
            return Self::Nothing;
        }
        let Some(hir) = parse(request) else { return Self::Nothing };
        let needed = Part::of(&hir).needed();
        if needed.grams().len() > GRAMS_MAX { Self::Nothing } else { needed }
    }

    /// The grams that it names, ascending.
    pub fn grams(&self) -> Vec<Gram> {
        let mut grams = Vec::new();
        self.collect(&mut grams);
        grams.sort_unstable();
        grams.dedup();
        grams
    }

    fn collect(&self, grams: &mut Vec<Gram>) {
        match self {
            Self::Nothing => {}
            Self::Gram(gram) => grams.push(*gram),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.collect(grams)),
        }
    }

    fn and(self, other: Self) -> Self {
        let mut parts = match self {
            Self::Nothing => return other,
            Self::All(parts) => parts,
            one => vec![one],
        };
        let others = match other {
            Self::Nothing => Vec::new(),
            Self::All(others) => others,
            other => vec![other],
        };
        for other in others {
            if parts.len() < PARTS_MAX && !parts.contains(&other) {
                parts.push(other);
            }
        }
        if parts.len() == 1 { parts.remove(0) } else { Self::All(parts) }
    }

    fn or(self, other: Self) -> Self {
        let (mut parts, other) = match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => return Self::Nothing,
            (Self::Gram(one), Self::Gram(other)) if one == other => return Self::Gram(one),
            (Self::Any(parts), other) | (other, Self::Any(parts)) => (parts, other),
            (one, other) => (vec![one], other),
        };
        match other {
            Self::Any(others) => parts.extend(others),
            other => parts.push(other),
        }
        if parts.len() > ALTERNATIVES_MAX { Self::Nothing } else { Self::Any(parts) }
    }

    /// Those of a block's contents that have what is needed, given those that have a gram.
    pub fn of_block(&self, having: &dyn Fn(Gram) -> Bits) -> Bits {
        let join = |one: Bits, other: Bits, how: fn(u64, u64) -> u64| {
            let mut joined = no_bits();
            joined.iter_mut().zip(one.iter().zip(&other)).for_each(|(to, (one, other))| *to = how(*one, *other));
            joined
        };
        let all = no_bits().map(|_| u64::MAX);
        match self {
            Self::Nothing => all,
            Self::Gram(gram) => having(*gram),
            Self::All(parts) => parts.iter().fold(all, |bits, part| join(bits, part.of_block(having), |a, b| a & b)),
            Self::Any(parts) => {
                parts.iter().fold(no_bits(), |bits, part| join(bits, part.of_block(having), |a, b| a | b))
            }
        }
    }

    /// That one of these strings is there.
    fn one_of(strings: &Strings) -> Self {
        strings.0.iter().map(|string| Self::string(string)).reduce(Self::or).unwrap_or(Self::Nothing)
    }

    /// That this string is there, told by its rarest grams.
    fn string(string: &[u8]) -> Self {
        let grams = string.windows(3).filter_map(|bytes| <[u8; 3]>::try_from(bytes).ok());
        let mut grams: Vec<_> = grams.filter_map(|bytes| Some((commonness(bytes), gram(bytes)?))).collect();
        grams.sort_unstable();
        grams.dedup();
        grams.into_iter().take(GRAMS_A_STRING).fold(Self::Nothing, |needed, (_, gram)| needed.and(Self::Gram(gram)))
    }
}

/// About how often three bytes stand in a row in texts and source code.
fn commonness(bytes: [u8; 3]) -> u32 {
    let of = |byte: u8| match byte {
        b' ' | b'\t' => 12,
        b'e' | b't' | b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 8,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'h' | b'f' => 6,
        0x21..=0x7e => 4,
        _ => 2,
    };
    bytes.map(of).iter().sum()
}

/// The patterns as the matcher parses them; without regard to case where it might have none.
fn parse(request: &Request) -> Option<Hir> {
    let pattern = |pattern: &String| match request.fixed_strings {
        true => format!("(?:{})", regex_syntax::escape(pattern)),
        false => format!("(?:{pattern})"),
    };
    let joined = request.patterns.iter().map(pattern).collect::<Vec<_>>().join("|");
    let mut parser = ParserBuilder::new()
        .nest_limit(NEST_LIMIT)
        .octal(false)
        .utf8(false)
        .multi_line(true)
        .unicode(!request.no_unicode)
        .case_insensitive(request.ignore_case || request.smart_case)
        .dot_matches_new_line(request.multiline && request.multiline_dotall)
        .crlf(request.crlf)
        .build();
    parser.parse(&joined).ok() // else the matcher has refused it
}

/// A part of a pattern.
#[derive(Clone)]
struct Part {
    /// All strings that it matches, when they are few; the rest is of no account then.
    exact: Option<Strings>,
    /// Each match begins with one of these,
    head: Strings,
    /// ends with one of those,
    tail: Strings,
    /// and lies in a content that has what is needed.
    inside: Needed,
}

impl Part {
    fn exact(strings: Strings) -> Self {
        Self { exact: Some(strings), head: Strings::unknown(), tail: Strings::unknown(), inside: Needed::Nothing }
    }

    fn unknown() -> Self {
        Self { exact: None, head: Strings::unknown(), tail: Strings::unknown(), inside: Needed::Nothing }
    }

    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exact(Strings::unknown()),
            HirKind::Literal(literal) => Self::exact(Strings::one(&literal.0)),
            HirKind::Class(class) => class_strings(class).map_or_else(Self::unknown, Self::exact),
            HirKind::Repetition(repetition) => Self::repeated(repetition),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => parts.iter().map(Self::of).fold(Self::exact(Strings::unknown()), Self::then),
            HirKind::Alternation(parts) => parts.iter().map(Self::of).reduce(Self::or).unwrap_or_else(Self::unknown),
        }
    }

    fn needed(self) -> Needed {
        self.open().inside
    }

    /// Described by its edges.
    fn open(self) -> Self {
        let Some(strings) = self.exact else { return self };
        let inside = Needed::one_of(&strings);
        Self { exact: None, head: strings.heads(), tail: strings.tails(), inside }
    }

    fn then(self, next: Self) -> Self {
        if let (Some(one), Some(other)) = (&self.exact, &next.exact)
            && let Some(both) = one.then(other)
        {
            return Self::exact(both);
        }
        let (one, other) = (self.exact.clone(), next.exact.clone());
        let (left, right) = (self.open(), next.open());
        let over_the_seam = left.tail.then(&right.head);
        let seam = over_the_seam.as_ref().map_or(Needed::Nothing, Needed::one_of);
        let head = one.and_then(|strings| strings.then(&right.head)).map_or(left.head, |head| head.heads());
        let tail = other.and_then(|strings| left.tail.then(&strings)).map_or(right.tail, |tail| tail.tails());
        Self { exact: None, head, tail, inside: left.inside.and(right.inside).and(seam) }
    }

    fn or(self, other: Self) -> Self {
        if let (Some(one), Some(another)) = (&self.exact, &other.exact)
            && let Some(both) = one.or(another)
        {
            return Self::exact(both);
        }
        let (one, other) = (self.open(), other.open());
        Self {
            exact: None,
            head: one.head.or(&other.head).unwrap_or_else(Strings::unknown),
            tail: one.tail.or(&other.tail).unwrap_or_else(Strings::unknown),
            inside: one.inside.or(other.inside),
        }
    }

    fn repeated(repetition: &Repetition) -> Self {
        let (min, max) = (repetition.min, repetition.max);
        if min == 0 {
            return match max {
                Some(1) => Self::exact(Strings::unknown()).or(Self::of(&repetition.sub)),
                _ => Self::unknown(),
            };
        }
        let once = Self::of(&repetition.sub);
        let written = (1..min.min(REPEATED_MAX)).fold(once.clone(), |written, _| written.then(once.clone()));
        if max == Some(min) && min <= REPEATED_MAX { written } else { written.open() }
    }
}

/// The strings of a small class.
fn class_strings(class: &Class) -> Option<Strings> {
    let mut strings = Vec::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                for character in range.start()..=range.end() {
                    strings.push(character.to_string().into_bytes());
                    if strings.len() > CLASS_MAX {
                        return None;
                    }
                }
            }
        }
        Class::Bytes(class) => {
            for range in class.ranges() {
                for byte in range.start()..=range.end() {
                    strings.push(vec![byte]);
                    if strings.len() > CLASS_MAX {
                        return None;
                    }
                }
            }
        }
    }
    if strings.is_empty() { None } else { Strings::of(strings) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str, change: impl FnOnce(&mut Request)) -> Needed {
        let mut request = Request { patterns: vec![pattern.into()], ..Request::default() };
        change(&mut request);
        Needed::of(&request)
    }

    fn grams(pattern: &str) -> Vec<String> {
        let spell = |gram: &Gram| String::from_utf8_lossy(&gram.to_be_bytes()[1..]).into_owned();
        of(pattern, |_| {}).grams().iter().map(spell).collect()
    }

    #[test]
    fn literals_classes_and_repetitions_tell_their_grams() {
        assert_eq!(grams("Kern"), ["ern", "ker"]);
        assert_eq!(grams("a[bc]d"), ["abd", "acd"]);
        assert_eq!(grams("abc.*xyz"), ["abc", "xyz"]);
        assert_eq!(grams("(abc)+d"), ["abc", "bcd"]);
        assert_eq!(grams("(foo|bar)qux"), ["arq", "bar", "foo", "ooq", "oqu", "qux", "rqu"]);
        assert_eq!(grams("colou?r=1"), ["col", "lor", "lou", "olo", "or=", "our", "r=1", "ur="]);
        assert_eq!(grams("ab\\ncdef"), ["cde", "def"], "none over the end of a line");
        for nothing in ["ab", ".", "x*", "[a-z]+", "abc|d", "(abc)?", "(abc)*", "\\w{5}", ""] {
            assert_eq!(of(nothing, |_| {}), Needed::Nothing, "{nothing}");
        }
    }

    #[test]
    fn letters_with_other_cases_outside_of_ascii_are_heeded() {
        let with_kelvin = of("key", |request| request.ignore_case = true);
        let kelvin = "\u{212a}ey".as_bytes();
        let alternatives = Needed::string(b"key").or(Needed::string(kelvin));
        assert_eq!(with_kelvin.grams(), alternatives.grams());
        assert!(matches!(with_kelvin, Needed::Any(_)));
    }

    #[test]
    fn what_prints_without_a_match_needs_nothing() {
        assert_eq!(of("needle", |request| request.invert = true), Needed::Nothing);
        assert_eq!(of("needle", |request| request.passthru = true), Needed::Nothing);
        assert_eq!(of("needle", |request| request.include_zero = true), Needed::Nothing);
        assert_eq!(of("needle", |request| request.output = Output::FilesWithoutMatch), Needed::Nothing);
        assert_eq!(of("needle", |request| request.encoding = Some("latin1".into())), Needed::Nothing);
        assert_ne!(of("needle", |request| request.encoding = Some("none".into())), Needed::Nothing);
    }
}
