//! A filter of which a part is known already: what is left of it for the rest.

use crate::{Filter, Payload};

impl Filter {
    /// Returns the rest of the filter for payloads that agree with `payload` in the fields that `is_known` names: a
    /// filter on the other fields only. [`Filter::True`], or `Or` of nothing, when nothing remains.
    ///
    /// `is_known` is asked with the dotted paths of the filter, and answers alike for all paths with the same first name.
    #[must_use]
    pub fn given(&self, payload: &Payload, is_known: &dyn Fn(&str) -> bool) -> Filter {
        match self {
            Filter::True => Filter::True,
            Filter::And(parts) => {
                let mut left = Vec::new();
                for part in parts {
                    match part.given(payload, is_known) {
                        Filter::True => {}
                        part if part.is_never() => return part,
                        part => left.push(part),
                    }
                }
                match (left.pop(), left.is_empty()) {
                    (None, _) => Filter::True,
                    (Some(only), true) => only,
                    (Some(last), false) => Filter::And(left.into_iter().chain([last]).collect()),
                }
            }
            Filter::Or(parts) => {
                let mut left = Vec::new();
                for part in parts {
                    match part.given(payload, is_known) {
                        Filter::True => return Filter::True,
                        part if part.is_never() => {}
                        part => left.push(part),
                    }
                }
                if left.len() == 1 { left.remove(0) } else { Filter::Or(left) }
            }
            Filter::Not(inner) => match inner.given(payload, is_known) {
                Filter::True => Filter::never(),
                inner if inner.is_never() => Filter::True,
                inner => Filter::Not(Box::new(inner)),
            },
            test => match test.fields().into_iter().all(is_known) {
                true if test.matches(payload) => Filter::True,
                true => Filter::never(),
                false => test.clone(),
            },
        }
    }

    /// No row passes.
    #[must_use]
    pub fn never() -> Self {
        Filter::Or(Vec::new())
    }

    /// Whether it is [`never`](Self::never).
    pub fn is_never(&self) -> bool {
        matches!(self, Filter::Or(parts) if parts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, parse};

    /// Every filter here, on every pair of payloads: what remains agrees with the whole.
    #[test]
    fn what_remains_of_a_filter_judges_the_rest_as_the_whole_would() {
        let filters = [
            "path like 'src/%' and page > 3",
            "path like 'src/%' or page > 3",
            "not (path = 'a' and page = 1) and (tags contains 'x' or lang = 'rust')",
            "path != 'a' or lang is null",
            "page between 1 and 3 and path is not null and not lang in ('rust', 'c')",
            "(path = 'a' or path = 'src/b') and (page = 1 or not path = 'a')",
            "starts_with(path, 'src') and not (lang = 'c' or tags contains 'x')",
        ];
        let file = |path: &str, tags: &[&str]| {
            let tags = Value::Array(tags.iter().map(|tag| Value::from(*tag)).collect());
            Payload::from([("path".to_owned(), Value::from(path)), ("tags".to_owned(), tags)])
        };
        let files = [file("a", &[]), file("src/b", &["x"]), file("src/c", &["y", "x"]), Payload::new()];
        let mut passages = vec![Payload::new()];
        for page in 1..5_i64 {
            for lang in ["rust", "c"] {
                passages
                    .push(Payload::from([("page".to_owned(), page.into()), ("lang".to_owned(), Value::from(lang))]));
            }
        }
        let is_known = |field: &str| matches!(field, "path" | "tags");
        for filter in filters.map(|text| parse(text).unwrap()) {
            for file in &files {
                let rest = filter.given(file, &is_known);
                assert!(!rest.fields().into_iter().any(is_known), "{rest}");
                for passage in &passages {
                    let whole: Payload =
                        file.iter().chain(passage).map(|(name, value)| (name.clone(), value.clone())).collect();
                    assert_eq!(rest.matches(passage), filter.matches(&whole), "{filter} with {file:?} and {passage:?}");
                }
            }
        }
    }
}
