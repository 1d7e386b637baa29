//! Questions as the HTTP interface takes them, without what means nothing here.
//!
//! **Invariant:** what is asked for is done or refused: no part of a question is passed over.

use serde_json::Value;
use tonic::Status;

/// A part of a question that has no meaning here, and what to do instead.
type Refused = (&'static str, &'static str);

/// Of each question over Flight.
pub const COLUMNS_INSTEAD: [Refused; 4] = [
    ("include", "name what hits carry in `columns`"),
    ("vector_format", "vectors are columns of numbers, named in `columns`"),
    ("facets", "there is no column for them; ask with the action `facets`"),
    ("explain", "there is no column for it; ask over HTTP"),
];

/// Of what many questions have in common, which each of them says.
pub const BATCH_INSTEAD: [Refused; 2] = [
    ("text", "put the questions' texts into the column `text`"),
    ("vector", "put the questions' vectors into the column `vector`"),
];

/// # Errors
/// `INVALID_ARGUMENT` for a question with one of these parts.
pub fn check(question: &Value, refused: &[Refused]) -> Result<(), Status> {
    match refused.iter().find(|(part, _)| question.get(part).is_some_and(|value| !value.is_null())) {
        Some((part, remedy)) => {
            Err(Status::invalid_argument(format!("`{part}` of a search has no meaning over Flight; {remedy}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_no_meaning_is_refused_with_what_to_do() {
        for (part, remedy) in COLUMNS_INSTEAD.iter().chain(&BATCH_INSTEAD) {
            let refused = check(&json!({"limit": 1, *part: true}), &[(part, remedy)]).unwrap_err();
            assert!(refused.message().contains(part) && refused.message().contains(remedy));
            assert!(check(&json!({"limit": 1, *part: null}), &[(part, remedy)]).is_ok());
        }
        assert!(check(&json!("no question"), &COLUMNS_INSTEAD).is_ok());
    }
}
