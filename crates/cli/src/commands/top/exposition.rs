//! The text in which a server tells its metrics (OpenMetrics), as far as `top` reads it: names, labels and values.

use std::collections::BTreeMap;

/// One value of a metric.
#[derive(Debug, PartialEq)]
pub struct Series<'t> {
    pub name: &'t str,
    pub labels: BTreeMap<&'t str, String>,
    pub value: f64,
}

/// The series of an exposition. Lines that are none are passed over: comments, and what a later version adds.
pub fn series(text: &str) -> impl Iterator<Item = Series<'_>> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(one)
}

fn one(line: &str) -> Option<Series<'_>> {
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    // A timestamp or an exemplar may follow the value.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Series { name, labels, value })
}

fn labels(mut rest: &str) -> Option<(BTreeMap<&str, String>, &str)> {
    let mut found = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((found, rest));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut signs = after.char_indices();
        let end = loop {
            match signs.next()? {
                (at, '"') => break at,
                (_, '\\') => match signs.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        found.insert(name, value);
        rest = &after[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_its_name_its_labels_and_its_value() {
        let text = "# HELP x X.\nx_total{route=\"/v1/{c}\",why=\"a\\\"b\\\\\"} 4\ny 0.5 1700000000\n\nbroken{\n# EOF\n";
        let found: Vec<_> = series(text).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name, found[0].value), ("x_total", 4.0));
        assert_eq!(found[0].labels["route"], "/v1/{c}");
        assert_eq!(found[0].labels["why"], "a\"b\\");
        assert_eq!(found[1], Series { name: "y", labels: BTreeMap::new(), value: 0.5 });
    }

    #[test]
    fn no_line_makes_it_fail() {
        for line in ["{", "a{b", "a{b=\"", "a{b=\"c\\", "a{}", "a{} x", "=", "", " 1", "é{é=\"é\"} 1"] {
            let _ = series(line).count();
        }
    }
}
