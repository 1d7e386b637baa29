//! The APIs, by the ends of their addresses.

use serde_json::Value;

use crate::answer::Answer;
use crate::events::Event;
use crate::json::Fields;
use crate::question::{Allowed, Bypass, Question};
use crate::{chat, embeddings, messages, responses};

/// One API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's chat completions, which many providers speak.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's embeddings.
    Embeddings,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Embeddings];

    /// The API that a request to this path speaks.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        Self::ALL.into_iter().find(|api| path.ends_with(api.end()))
    }

    /// A name for figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Embeddings => "embeddings",
        }
    }

    /// With what its addresses end.
    pub fn end(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
            Self::Embeddings => "/embeddings",
        }
    }

    /// Returns the question of a request; `header` gives the value of a header. For embeddings, each of
    /// [`Inputs`](crate::Inputs) is a question.
    ///
    /// # Errors
    /// The bypass, for one that no cache answers.
    pub fn question<'h>(
        self,
        request: &Fields,
        header: &dyn Fn(&str) -> Option<&'h str>,
        allowed: Allowed,
    ) -> Result<Question, Bypass> {
        match self {
            Self::Chat => chat::question(request, allowed),
            Self::Responses => responses::question(request, allowed),
            Self::Messages => messages::question(request, header, allowed),
            Self::Embeddings => Err(Bypass("unreadable")),
        }
    }

    /// Why an answer is not kept; none if it is.
    pub fn objection(self, request: &Fields, answer: &Fields, allowed: Allowed) -> Option<&'static str> {
        match self {
            Self::Chat => chat::objection(request, answer, allowed),
            Self::Responses => responses::objection(request, answer, allowed),
            Self::Messages => messages::objection(answer, allowed),
            Self::Embeddings => Some("unreadable"),
        }
    }

    /// Whether a kept answer has what the request wants.
    pub fn can_give(self, request: &Fields, answer: &Fields) -> bool {
        match self {
            Self::Chat => chat::can_give(request, answer),
            _ => true,
        }
    }

    /// Whether an event ends its stream.
    pub fn is_last(self, event: &Event) -> bool {
        let says = |kind: &str| event.data.contains(kind) && event.json()["type"] == kind;
        match self {
            Self::Chat => event.data == "[DONE]",
            Self::Responses => says("response.completed"),
            Self::Messages => says("message_stop"),
            Self::Embeddings => false,
        }
    }

    /// The answer that a stream was; none if it cannot be told.
    pub fn assembled(self, events: &[Event]) -> Option<Answer> {
        match self {
            Self::Chat => chat::assembled(events),
            Self::Responses => responses::assembled(events),
            Self::Messages => messages::assembled(events),
            Self::Embeddings => None,
        }
    }

    /// A kept answer as the events of a stream, each as it is sent.
    pub fn stream(self, request: &Fields, answer: &Answer) -> Vec<Vec<u8>> {
        match self {
            Self::Chat => chat::stream(request, answer),
            Self::Responses => responses::stream(answer),
            Self::Messages => messages::stream(answer),
            Self::Embeddings => Vec::new(),
        }
    }

    /// An error as the API's clients read it.
    pub fn error(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Messages => serde_json::json!({ "type": "error", "error": { "type": kind, "message": message } }),
            _ => serde_json::json!({ "error": { "message": message, "type": kind, "param": null, "code": null } }),
        }
    }

    /// The inputs of a request for embeddings.
    ///
    /// # Errors
    /// The bypass, for one that no cache answers.
    pub fn inputs(request: &Fields) -> Result<embeddings::Inputs, Bypass> {
        embeddings::inputs(request)
    }
}
