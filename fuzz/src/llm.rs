//! Streams and requests of language-model APIs.

use nuthatch_llm::{Allowed, Answer, Api, Recorder};
use serde_json::Value;

use crate::Run;

const BYTES_MAX: usize = 1 << 20;

/// The first byte chooses the API, the second the size of the pieces; the rest is a request, a zero byte, and a stream.
pub fn start() -> Run {
    Box::new(|bytes| {
        let [api, size, rest @ ..] = bytes else { return };
        let api = Api::ALL[usize::from(*api) % Api::ALL.len()];
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let (request, stream) = rest.split_at(end);
        let stream = stream.get(1..).unwrap_or_default();
        let request = match serde_json::from_slice(request) {
            Ok(Value::Object(request)) => request,
            _ => Default::default(),
        };
        for allowed in [Allowed::default(), Allowed { tool_calls: true, media: true }] {
            if let Ok(question) = api.question(&request, &|_| None, allowed) {
                assert_eq!(question.clone().key(Value::Null), question.key(Value::Null));
            }
        }
        if let Ok(inputs) = Api::inputs(&request) {
            assert!(inputs.questions().count() > 0);
        }
        let pieces: Vec<&[u8]> = stream.chunks(usize::from(*size) + 1).collect();
        let Some(answer) = heard(api, &pieces) else { return };
        assert_eq!(heard(api, &[stream]).as_ref(), Some(&answer), "cut elsewhere, it is the same answer");
        assert_eq!(Answer::read(&answer.stored()).as_ref(), Some(&answer));
        api.objection(&request, &answer.body, Allowed::default());
        api.can_give(&request, &answer.body);
        let replayed = api.stream(&request, &answer).concat();
        assert!(replayed.ends_with(b"\n\n"));
        answer.tokens();
    })
}

fn heard(api: Api, pieces: &[&[u8]]) -> Option<Answer> {
    let mut recorder = Recorder::new(api, BYTES_MAX);
    pieces.iter().find_map(|piece| recorder.hear(piece))
}
