//! `LIKE` patterns: `%` for any characters, `_` for one.

/// A pattern taken apart once, then tried on many texts.
pub(crate) struct LikePattern {
    parts: Vec<Part>,
    /// The end of every match, and the longest text that every match contains: both are quicker to rule out than the
    /// whole pattern.
    suffix: String,
    inner: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Exactly(char),
    One,
    Any,
}

impl LikePattern {
    /// `escape` before `%`, `_` or itself takes it literally; before anything else, or at the end, it stands for itself.
    pub fn new(pattern: &str, escape: Option<char>) -> Self {
        let mut parts = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let part = match c {
                c if Some(c) == escape => {
                    match chars.next_if(|next| matches!(next, '%' | '_') || Some(*next) == escape) {
                        Some(literal) => Part::Exactly(literal),
                        None => Part::Exactly(c),
                    }
                }
                '%' => Part::Any,
                '_' => Part::One,
                c => Part::Exactly(c),
            };
            // `%%` says no more than `%`.
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        let exactly = |part: &Part| if let Part::Exactly(c) = part { Some(*c) } else { None };
        let suffix: Vec<char> = parts.iter().rev().map_while(exactly).collect();
        let runs = parts.split(|part| exactly(part).is_none());
        let inner = runs.map(|run| run.iter().filter_map(exactly).collect::<String>()).max_by_key(String::len);
        Self { parts, suffix: suffix.into_iter().rev().collect(), inner: inner.unwrap_or_default() }
    }

    /// The text that every match begins with.
    pub fn literal_prefix(&self) -> String {
        let exactly = |part: &Part| if let Part::Exactly(c) = part { Some(*c) } else { None };
        self.parts.iter().map_while(exactly).collect()
    }

    /// Whether `literal_prefix` followed by anything is all that the pattern says.
    pub fn is_prefix(&self) -> bool {
        matches!(self.parts.split_last(), Some((Part::Any, before)) if before.iter().all(|part| matches!(part, Part::Exactly(_))))
    }

    /// Whether the whole text fits. On a mismatch only the last `%` has to grow: whatever an earlier one could take, the
    /// last one can take as well. No recursion, at most text × pattern steps.
    pub fn matches(&self, text: &str) -> bool {
        if !text.ends_with(&self.suffix) || !text.contains(&self.inner) {
            return false;
        }
        let (mut rest, mut part) = (text, 0);
        let mut retry: Option<(&str, usize)> = None;
        loop {
            let next = rest.chars().next();
            match (self.parts.get(part), next) {
                (None, None) => return true,
                (Some(Part::Any), _) => {
                    part += 1;
                    retry = Some((rest, part));
                    continue;
                }
                (Some(Part::One), Some(c)) => {
                    rest = &rest[c.len_utf8()..];
                    part += 1;
                    continue;
                }
                (Some(Part::Exactly(wanted)), Some(c)) if *wanted == c => {
                    rest = &rest[c.len_utf8()..];
                    part += 1;
                    continue;
                }
                // The pattern wants more than there is, and a longer `%` would leave even less.
                (Some(_), None) => return false,
                _ => {}
            }
            let Some((from, after_any)) = retry else { return false };
            let Some(skipped) = from.chars().next() else { return false };
            rest = &from[skipped.len_utf8()..];
            part = after_any;
            retry = Some((rest, after_any));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, None).matches(text)
    }

    /// The definition, word for word; exponential, so for short texts only.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|skip| naive(&text[skip..], rest)),
            Some((c, rest)) => text.first().is_some_and(|t| *c == '_' || t == c) && naive(&text[1..], rest),
        }
    }

    #[test]
    fn percent_and_underscore_stand_for_characters_not_bytes() {
        assert!(like("größe", "gr_ße") && like("größe", "%ß%") && like("", "%") && like("", ""));
        assert!(!like("größe", "gr__ße") && !like("", "_") && !like("abc", "ab") && !like("Abc", "abc"));
        assert!(like("aXbXc", "a%X_") && !like("aXbXcc", "a%X_"));
    }

    #[test]
    fn escape_takes_the_next_wildcard_literally() {
        let escaped = LikePattern::new("50!%!!%", Some('!'));
        assert!(escaped.matches("50%!") && escaped.matches("50%! off") && !escaped.matches("505!"));
        assert!(LikePattern::new("a!b!", Some('!')).matches("a!b!"), "before anything else it stands for itself");
    }

    #[test]
    fn hostile_pattern_ends_in_time() {
        let text = "a".repeat(20_000);
        assert!(!like(&text, &("%a".repeat(500) + "b")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_the_definition(text in "[abé]{0,8}", pattern in "[abé%_]{0,7}") {
            let chars = |s: &str| s.chars().collect::<Vec<_>>();
            prop_assert_eq!(like(&text, &pattern), naive(&chars(&text), &chars(&pattern)));
        }

        #[test]
        fn every_match_begins_with_the_literal_prefix(text in "[ab]{0,8}", pattern in "[ab]{0,3}[ab%_]{0,4}") {
            let compiled = LikePattern::new(&pattern, None);
            let begins = text.starts_with(&compiled.literal_prefix());
            prop_assert!(!compiled.matches(&text) || begins);
            prop_assert!(!compiled.is_prefix() || compiled.matches(&text) == begins);
        }
    }
}
