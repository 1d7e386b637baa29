//! SORT: the elements of a list, a set or a sorted set, in the order of themselves or of what other keys say of them.

use crate::aggregate::Kind;
use crate::call::Call;
use crate::entries::{List, Members, Span};
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::value::{Type, Value};
use crate::words::Words;

struct Asked<'a> {
    by: Option<&'a [u8]>,
    limit: Option<(i64, i64)>,
    get: Vec<&'a [u8]>,
    descending: bool,
    by_bytes: bool,
    target: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    fn parse(words: &'a [Vec<u8>], may_store: bool) -> Outcome<Self> {
        let mut asked =
            Self { by: None, limit: None, get: Vec::new(), descending: false, by_bytes: false, target: None };
        let mut words = Words::new(words);
        while !words.is_empty() {
            match words.option()?.as_str() {
                "ASC" => asked.descending = false,
                "DESC" => asked.descending = true,
                "ALPHA" => asked.by_bytes = true,
                "LIMIT" => asked.limit = Some((words.integer()?, words.integer()?)),
                "BY" => asked.by = Some(words.word()?),
                "GET" => asked.get.push(words.word()?),
                "STORE" if may_store => asked.target = Some(words.word()?),
                _ => return Err(Failure::syntax()),
            }
        }
        Ok(asked)
    }

    /// A pattern that names no key says that the order does not matter.
    fn is_sorted(&self) -> bool {
        self.by.is_none_or(|pattern| pattern.contains(&b'*'))
    }
}

/// SORT key [BY pattern] [LIMIT offset count] [GET pattern …] [ASC | DESC] [ALPHA] [STORE destination]
pub(crate) fn sort(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    sorted(call, true)
}

/// SORT_RO: without STORE.
pub(crate) fn sort_ro(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    sorted(call, false)
}

fn sorted(call: &mut Call<'_, '_>, may_store: bool) -> Outcome<Reply> {
    let asked = Asked::parse(&call.arguments[1..], may_store)?;
    let mut elements = elements(call, &asked)?;
    if asked.is_sorted() {
        elements = in_order(call, elements, &asked)?;
    }
    if let Some((skip, count)) = asked.limit {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        elements = elements.into_iter().skip(skip.max(0) as usize).take(count).collect();
    }
    let mut shown = Vec::with_capacity(elements.len() * asked.get.len().max(1));
    for element in elements {
        match asked.get.is_empty() {
            true => shown.push(Some(element)),
            false => {
                for pattern in &asked.get {
                    shown.push(looked_up(call, pattern, &element)?);
                }
            }
        }
    }
    let Some(target) = asked.target else {
        return Ok(Reply::Array(shown.into_iter().map(Reply::optional).collect()));
    };
    let count = shown.len();
    let mut list = List::replacing(call.context, target);
    shown.into_iter().try_for_each(|item| list.push(item.unwrap_or_default(), false))?;
    list.save()?;
    Ok(Reply::count(count))
}

fn elements(call: &mut Call<'_, '_>, asked: &Asked<'_>) -> Outcome<Vec<Vec<u8>>> {
    let key = &call.arguments[0];
    match call.context.exists(key)? {
        None => Ok(Vec::new()),
        Some((Type::Aggregate(Kind::Set), _)) => {
            let members = Members::open(call.context, key, Kind::Set)?.all()?;
            Ok(members.into_iter().map(|(member, _)| member).collect())
        }
        Some((Type::Aggregate(Kind::Sorted), _)) => {
            let reverse = asked.descending && !asked.is_sorted();
            let mut set = Members::open(call.context, key, Kind::Sorted)?;
            let members = set.ordered(&Span::All, reverse, 0, usize::MAX)?;
            Ok(members.into_iter().map(|(member, _)| member).collect())
        }
        Some(_) => {
            let mut list = List::open(call.context, key)?;
            list.range(0..list.len())
        }
    }
}

fn in_order(call: &mut Call<'_, '_>, elements: Vec<Vec<u8>>, asked: &Asked<'_>) -> Outcome<Vec<Vec<u8>>> {
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        let weight = match asked.by {
            Some(pattern) => looked_up(call, pattern, &element)?,
            None => Some(element.clone()),
        };
        let score = match &weight {
            Some(weight) if !asked.by_bytes => number::float(weight)
                .map_err(|_| Failure::error("One or more scores can't be converted into double"))?,
            _ => 0.0,
        };
        weighed.push((score, weight.filter(|_| asked.by_bytes), element));
    }
    weighed.sort_by(|(one, text, element), (other, its_text, its_element)| {
        let order = one.total_cmp(other).then_with(|| text.cmp(its_text)).then_with(|| element.cmp(its_element));
        if asked.descending { order.reverse() } else { order }
    });
    Ok(weighed.into_iter().map(|(_, _, element)| element).collect())
}

/// Returns the value that a pattern names for an element: that of a key, or of a field of a hash.
fn looked_up(call: &mut Call<'_, '_>, pattern: &[u8], element: &[u8]) -> Outcome<Option<Vec<u8>>> {
    if pattern == b"#" {
        return Ok(Some(element.to_vec()));
    }
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else { return Ok(None) };
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = after.windows(2).position(|two| two == b"->").filter(|at| at + 2 < after.len());
    let key = [before, element, &after[..arrow.unwrap_or(after.len())]].concat();
    let found = call.context.value(&key)?;
    match (found, arrow) {
        (Some((Value::String(bytes), _)), None) => Ok(Some(bytes)),
        (Some((Value::Aggregate(aggregate), _)), Some(at)) if aggregate.kind == Kind::Hash => {
            Members::open(call.context, &key, Kind::Hash)?.get(&after[at + 2..])
        }
        _ => Ok(None),
    }
}
