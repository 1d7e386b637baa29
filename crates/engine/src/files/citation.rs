//! Where a passage came from, in the words in which it is cited.

use nuthatch_filter::{Payload, Value};

/// `docs/a.md:12-30`, or `report.pdf page 4`: `path` as the reader knows the file, and the passage's place in it as `payload` tells.
pub fn citation(path: &str, payload: &Payload) -> String {
    let number = |name: &str| match payload.get(name) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    match (number("page"), number("start_line"), number("end_line")) {
        (Some(page), ..) => format!("{path} page {page}"),
        (None, Some(start), Some(end)) if start < end => format!("{path}:{start}-{end}"),
        (None, Some(start), _) => format!("{path}:{start}"),
        _ => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cited_before_lines_and_one_line_by_itself() {
        let of = |fields: &[(&str, i64)]| {
            let payload = fields.iter().map(|(name, number)| (name.to_string(), Value::Int(*number))).collect();
            citation("a.md", &payload)
        };
        assert_eq!(of(&[]), "a.md");
        assert_eq!(of(&[("start_line", 3)]), "a.md:3");
        assert_eq!(of(&[("start_line", 3), ("end_line", 3)]), "a.md:3");
        assert_eq!(of(&[("start_line", 3), ("end_line", 9)]), "a.md:3-9");
        assert_eq!(of(&[("page", 4), ("start_line", 3), ("end_line", 9)]), "a.md page 4");
    }
}
