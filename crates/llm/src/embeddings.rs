//! OpenAI's embeddings: each input is a question of its own, answered where everything is the same.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::json::{Fields, hashed, items, of};
use crate::question::{Bypass, Question};

/// Fields that change no vector.
const IGNORED: &[&str] = &["user", "input"];

/// The inputs of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    items: Vec<Value>,
    rest: Value,
}

pub fn inputs(request: &Fields) -> Result<Inputs, Bypass> {
    let input = of(request, "input");
    let is_tokens = |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_u64));
    let items = match input {
        Value::String(_) => vec![input.clone()],
        // Tokens of one text, or of several.
        Value::Array(all) if !all.is_empty() && is_tokens(input) => vec![all.clone().into()],
        Value::Array(all) if all.iter().all(|one| one.is_string() || is_tokens(one)) => all.clone(),
        _ => return Err(Bypass("unreadable")),
    };
    if items.is_empty() {
        return Err(Bypass("unreadable"));
    }
    Ok(Inputs { items, rest: hashed(request, IGNORED).into() })
}

impl Inputs {
    /// Returns the question of each input, in order.
    pub fn questions(&self) -> impl Iterator<Item = Question> {
        self.items.iter().map(|item| {
            let text = item.as_str().map_or_else(|| item.to_string(), str::to_string);
            // Tokens are no text that is spelt alike.
            let rest = json!({ "of": self.rest, "tokens": !item.is_string() });
            Question { text, rest, by_meaning: false }
        })
    }

    /// The request for those that are missing; the request itself where all are.
    pub fn request_for(&self, request: &Fields, missing: &[usize]) -> Fields {
        let mut asked = request.clone();
        if missing.len() < self.items.len() {
            asked.insert("input".into(), missing.iter().map(|at| self.items[*at].clone()).collect());
        }
        asked
    }

    /// The answers to those that were missing, of what the provider says; none where it is not what was asked for.
    ///
    /// The provider counts the tokens of all together: each gets a share by its length, and all shares make the count.
    pub fn answers(&self, said: &Fields, missing: &[usize]) -> Option<Vec<Answer>> {
        let data = of(said, "data").as_array().filter(|data| data.len() == missing.len())?;
        let mut found: Vec<Option<&Value>> = vec![None; missing.len()];
        for item in data {
            let at = usize::try_from(item["index"].as_u64()?).ok()?;
            let vector = &item["embedding"];
            let is_whole = match vector {
                Value::String(base64) => !base64.is_empty(),
                vector => !items(vector).is_empty() && items(vector).iter().all(Value::is_number),
            };
            if !is_whole || found.get_mut(at)?.replace(item).is_some() {
                return None;
            }
        }
        let lengths = missing.iter().map(|at| self.items[*at].to_string().len() as u64);
        let (all, mut before) = (lengths.clone().sum::<u64>().max(1), 0);
        let usage = of(said, "usage").as_object();
        let answers = found.into_iter().zip(lengths).map(|(item, length)| {
            let share = |count: u64| {
                let up_to = |length: u64| (u128::from(count) * u128::from(length) / u128::from(all)) as u64;
                up_to(before + length) - up_to(before)
            };
            let shares = usage.map(|usage| {
                let counts =
                    usage.iter().filter_map(|(name, count)| Some((name.clone(), share(count.as_u64()?).into())));
                Value::Object(counts.collect())
            });
            before += length;
            let mut body = said.clone();
            let mut item = item?.clone();
            item["index"] = 0.into();
            body.insert("data".into(), json!([item]));
            if let Some(shares) = shares {
                body.insert("usage".into(), shares);
            }
            Some(Answer { body, lengths: Vec::new() })
        });
        answers.collect()
    }

    /// One answer of the answers to all of them, in their order; none where one is no answer.
    pub fn joined(&self, answers: &[Answer]) -> Option<Fields> {
        let mut body = answers.first()?.body.clone();
        let (mut data, mut usage) = (Vec::new(), Map::new());
        for (at, answer) in answers.iter().enumerate() {
            let mut item = items(of(&answer.body, "data")).first()?.clone();
            *item.get_mut("index")? = at.into();
            data.push(item);
            for (name, count) in of(&answer.body, "usage").as_object().into_iter().flatten() {
                let sum = usage.get(name).and_then(Value::as_u64).unwrap_or_default() + count.as_u64()?;
                usage.insert(name.clone(), sum.into());
            }
        }
        body.insert("data".into(), data.into());
        body.insert("usage".into(), usage.into());
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(value: Value) -> Fields {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_batch_is_split_and_comes_back_as_it_was() {
        let request = fields(json!({ "model": "m", "input": ["one", "two and three", "one"], "user": "u" }));
        let inputs = inputs(&request).unwrap();
        let data: Vec<Value> =
            (0..3).map(|at| json!({ "object": "embedding", "index": at, "embedding": [at, 0.5] })).collect();
        let usage = json!({ "prompt_tokens": 7, "total_tokens": 7 });
        let said = fields(json!({ "object": "list", "model": "m", "data": data, "usage": usage }));
        let answers = inputs.answers(&said, &[0, 1, 2]).unwrap();
        assert_eq!(inputs.joined(&answers).unwrap(), said);
        let questions: Vec<_> = inputs.questions().map(|question| question.key("url".into())).collect();
        assert!(questions[0] == questions[2] && questions[0] != questions[1]);
        let asked = inputs.request_for(&request, &[1]);
        assert_eq!(asked["input"], json!(["two and three"]));
        assert_eq!(inputs.request_for(&request, &[0, 1, 2]), request);
        assert!(inputs.answers(&said, &[0]).is_none(), "more vectors than were asked for");
        let twice = fields(json!({ "data": [{ "index": 0, "embedding": [1] }, { "index": 0, "embedding": [1] }] }));
        assert!(inputs.answers(&twice, &[0, 1]).is_none(), "one place twice");
        let empty = fields(json!({ "data": [{ "index": 0, "embedding": [] }] }));
        assert!(inputs.answers(&empty, &[0]).is_none(), "an empty vector");
    }

    #[test]
    fn tokens_are_inputs_and_not_the_text_that_is_spelt_alike() {
        let of = |input: Value| inputs(&fields(json!({ "model": "m", "input": input }))).map(|found| found.items.len());
        assert_eq!(of(json!([1, 2])), Ok(1));
        assert_eq!(of(json!([[1, 2], [3]])), Ok(2));
        assert_eq!(of(json!([])), Err(Bypass("unreadable")));
        assert_eq!(of(json!([1.5])), Err(Bypass("unreadable")));
        let key = |input: Value| {
            let found = inputs(&fields(json!({ "model": "m", "input": input }))).unwrap();
            found.questions().next().unwrap().key(Value::Null)
        };
        assert_ne!(key(json!([1, 2])), key(json!("[1,2]")));
    }
}
