//! Requests for embeddings: each input is looked up by itself, and only those that are missing are asked for.

use nuthatch_llm::{Answer, Inputs};
use serde_json::{Map, Value};

use super::exchange::{Asked, Exchange, Found, Given, Keeper};

/// The inputs that are known, in the order of all.
pub struct Partly {
    known: Vec<Option<Answer>>,
}

impl Partly {
    /// Joins the lookups of all inputs into one result.
    pub fn of(inputs: &Inputs, found: Vec<Found>) -> Found {
        let (mut known, mut age_ms) = (Vec::with_capacity(found.len()), 0);
        for one in found {
            known.push(match one {
                Found::Hit(given) => {
                    age_ms = age_ms.max(given.age_ms);
                    Some(given.answer)
                }
                _ => None,
            });
        }
        let all: Option<Vec<Answer>> = known.iter().cloned().collect();
        if let Some(body) = all.and_then(|all| inputs.joined(&all)) {
            let answer = Answer { body, lengths: Vec::new() };
            let tokens = answer.tokens();
            return Found::Hit(Box::new(Given {
                answer,
                tier: "exact",
                entry: None,
                hit: None,
                age_ms,
                similarity: None,
                risk: None,
                audit: false,
                tokens,
            }));
        }
        match known.iter().any(Option::is_some) {
            true => Found::Partly(Self { known }),
            false => Found::Miss("absent"),
        }
    }

    /// The request for those that are missing.
    pub fn request(&self, exchange: &Exchange) -> Vec<u8> {
        let Asked::Each(inputs, _) = &exchange.asked else { return Vec::new() };
        Value::Object(inputs.request_for(&exchange.request, &self.missing())).to_string().into_bytes()
    }

    fn missing(&self) -> Vec<usize> {
        (0..self.known.len()).filter(|at| self.known[*at].is_none()).collect()
    }
}

/// Keeps what the upstream said about the missing inputs. The answer for all of them, unless nothing was known before; and whether the
/// vectors are kept. `None` for what is no answer to the request.
pub async fn kept(
    keeper: &Keeper,
    said: &Map<String, Value>,
    partly: Option<Partly>,
) -> Option<(Option<Vec<u8>>, &'static str)> {
    let Asked::Each(inputs, keys) = &keeper.exchange.asked else { return None };
    let known = partly.map_or_else(|| vec![None; keys.len()], |partly| partly.known);
    let is_part = known.iter().any(Option::is_some);
    let missing = Partly { known: known.clone() }.missing();
    let answers = inputs.answers(said, &missing)?;
    let mut all = known;
    missing.iter().zip(&answers).for_each(|(at, answer)| all[*at] = Some(answer.clone()));
    let joined = match is_part {
        true => {
            let all: Vec<Answer> = all.into_iter().collect::<Option<_>>()?;
            Some(Value::Object(inputs.joined(&all)?).to_string().into_bytes())
        }
        false => None,
    };
    let stored = keeper.run(move |exchange, cache, prices| {
        let Asked::Each(_, keys) = &exchange.asked else { return Ok(Some("unreadable")) };
        let mut why = None;
        for (at, answer) in missing.iter().zip(&answers) {
            why = exchange.keep_input(cache, &keys[*at], answer, prices)?.or(why);
        }
        Ok(why)
    });
    Some((joined, stored.await))
}
