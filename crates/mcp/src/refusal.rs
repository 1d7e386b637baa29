//! Why something was not done, and what to do next, in words for a model.

use nuthatch_link::{Error, ErrorKind};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Where the metadata of a result says what went wrong.
const ERROR_META: &str = "nuthatch/error";

/// An error as it is told to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The engine's kinds, and those of the access control.
    pub kind: String,
    /// The thing that it is about, when it has a name: of which sort it is, and its name.
    pub subject: Option<(String, String)>,
    /// The thing, and what is wrong with it.
    pub message: String,
    /// The suggested next step.
    pub remedy: String,
}

impl Refusal {
    /// The arguments cannot be used as they are.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::invalid(message).into()
    }

    /// The thing that was named is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::not_found(message).into()
    }

    /// Returns the text that the model reads.
    pub fn text(&self) -> String {
        format!("{}: {}\nNext: {}", self.kind, self.message, self.remedy)
    }

    /// Returns the facts that a program reads: the same without the sentence.
    pub(crate) fn facts(&self) -> Value {
        let subject = self.subject.as_ref().map(|(what, name)| json!({"what": what, "name": name}));
        json!({"kind": self.kind, "subject": subject, "remedy": self.remedy})
    }

    /// The facts go with the result as metadata: structured content has to be as the tool's schema says.
    pub(crate) fn into_result(self) -> CallToolResult {
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.text())]);
        result.meta.get_or_insert_default().insert(ERROR_META.into(), self.facts());
        result
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let remedy = match &error.kind {
            ErrorKind::Conflict => "call the tool again",
            ErrorKind::Unavailable => "try again later, or tell the user what is missing",
            ErrorKind::Invalid => "correct the arguments and call the tool again; nothing was changed",
            ErrorKind::NotFound => "call `list` to see what there is",
            ErrorKind::Corrupt { .. } => "tell the user to run `nuthatch doctor`, which names the file and the remedy",
            ErrorKind::Closed => "tell the user that the memory was closed and must be started again",
            ErrorKind::Exhausted => "tell the user that the disk, or a limit on what may be stored, is full",
            ErrorKind::Internal => "tell the user; this is a defect, or the system refused",
        };
        let subject = error.subject.map(|subject| (subject.what.name().into(), subject.name));
        Self { kind: error.kind.name().into(), subject, message: error.message, remedy: remedy.into() }
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_link::What;

    use super::*;

    #[test]
    fn a_model_reads_what_is_wrong_and_what_to_do() {
        let text = Refusal::not_found("no collection \"a\"").text();
        assert_eq!(text, "not_found: no collection \"a\"\nNext: call `list` to see what there is");
    }

    #[test]
    fn a_program_reads_the_kind_and_the_thing() {
        let result = Refusal::from(Error::not_found("no").about(What::Collection, "a")).into_result();
        let facts = &result.meta.unwrap()[ERROR_META];
        assert_eq!(facts["kind"], "not_found");
        assert_eq!(facts["subject"], json!({"what": "collection", "name": "a"}));
        assert_eq!(Refusal::invalid("no").facts()["subject"], Value::Null);
    }
}
