//! Where a passage came from, in the words in which it is cited.

use nuthatch_filter::{Payload, Value};

/// `docs/a.md:12-30`, `report.pdf page 4`, or `prices.xlsx Prices!A2:F20`: `path` as the reader knows the file, and the passage's
/// place in it as `payload` tells. Lines count in the text that was read of such a file, so that nobody finds them in it.
pub fn citation(path: &str, payload: &Payload) -> String {
    let number = |name: &str| match payload.get(name) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    let place = match payload.get("place") {
        Some(Value::Text(place)) if !place.is_empty() => Some(place),
        _ => None,
    };
    if let Some(place) = place {
        return number("page").map_or_else(|| format!("{path} {place}"), |page| format!("{path} {place} page {page}"));
    }
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

    #[test]
    fn a_place_is_cited_before_lines_and_with_its_page() {
        let of = |place: Value, page: Option<i64>| {
            let mut payload = Payload::from([("place".to_string(), place), ("start_line".to_string(), Value::Int(3))]);
            payload.extend(page.map(|page| ("page".to_string(), Value::Int(page))));
            citation("a.xlsx", &payload)
        };
        assert_eq!(of(Value::Text("Prices!A2:F20".into()), None), "a.xlsx Prices!A2:F20");
        assert_eq!(of(Value::Text("message 3, b.pdf".into()), Some(4)), "a.xlsx message 3, b.pdf page 4");
        // A value that the caller put there is not a place.
        assert_eq!(of(Value::Int(7), None), "a.xlsx:3");
        assert_eq!(of(Value::Text(String::new()), Some(4)), "a.xlsx page 4");
    }
}
