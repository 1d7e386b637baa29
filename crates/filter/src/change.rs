//! Changing some fields of a payload and leaving the others as they are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::{FilterError, Payload, Value};

/// A change to some fields of a payload; all others stay. Fields are named by paths, as in a filter: `meta.author` is
/// the field `author` of the map `meta`.
///
/// ```
/// use nuthatch_filter::{FieldChange, Payload, Value};
///
/// let mut payload = Payload::from([("team".to_owned(), "ops".into())]);
/// let change = FieldChange {
///     set: [("meta.author".to_owned(), "Anna".into())].into(),
///     add: [("tags".to_owned(), vec!["draft"].into())].into(),
///     ..FieldChange::default()
/// };
/// change.check()?;
/// assert!(change.apply(&mut payload)?);
/// assert_eq!(payload["tags"], vec!["draft"].into());
/// assert!(!change.apply(&mut payload)?, "it changes nothing more");
/// # Ok::<(), nuthatch_filter::FilterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldChange {
    /// Values by path. Maps that a path leads through are made where they are missing.
    pub set: Payload,
    /// Values that a list is to have, by path: those that it lacks are appended. A missing list is made.
    pub add: Payload,
    /// Values that a list is not to have, by path. A list that loses its last value is removed.
    pub remove: Payload,
    /// Paths of fields that are to go.
    pub unset: Vec<String>,
}

impl FieldChange {
    /// Whether it names no field.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.add.is_empty() && self.remove.is_empty() && self.unset.is_empty()
    }

    /// Whether it can be made at all, whatever the payload.
    ///
    /// # Errors
    /// [`FilterError::InvalidPayload`] for no field, a path with an empty name, a path that is named twice or lies below
    /// another one, and values to add or to remove that are not in a list.
    pub fn check(&self) -> Result<(), FilterError> {
        if self.is_empty() {
            return Err(refusal("", "the change names no field; set, add, remove or unset at least one"));
        }
        for (path, value) in self.add.iter().chain(&self.remove) {
            if !matches!(value, Value::Array(_)) {
                let reason = format!("{} to add or to remove; give a list of values", value.kind_name());
                return Err(refusal(path, &reason));
            }
        }
        let mut paths: Vec<&str> = self.paths().collect();
        // Names in order, so that a path is followed by those below it.
        paths.sort_by(|a, b| a.split('.').cmp(b.split('.')));
        for path in &paths {
            if path.split('.').any(str::is_empty) {
                return Err(refusal(
                    path,
                    "a path has an empty name; write names with dots between, such as `meta.author`",
                ));
            }
        }
        for pair in paths.windows(2) {
            if pair[0] == pair[1] {
                return Err(refusal(pair[1], "the change names it twice; name each field once"));
            }
            if pair[1].strip_prefix(pair[0]).is_some_and(|rest| rest.starts_with('.')) {
                return Err(refusal(pair[1], &format!("the change also names `{}`, which contains it", pair[0])));
            }
        }
        Ok(())
    }

    /// Makes the change. False if the payload was like this already.
    ///
    /// # Errors
    /// [`FilterError::InvalidPayload`] where a path leads through a value that is no map, or values are to be added to a
    /// value that is no list; the payload is then changed in part.
    pub fn apply(&self, payload: &mut Payload) -> Result<bool, FilterError> {
        let mut changed = false;
        for path in &self.unset {
            changed |= unset(payload, path);
        }
        for (path, value) in &self.set {
            match place(payload, path)? {
                Entry::Occupied(mut there) => changed |= there.insert(value.clone()) != *value,
                Entry::Vacant(free) => {
                    free.insert(value.clone());
                    changed = true;
                }
            }
        }
        for (path, values) in &self.add {
            changed |= add(payload, path, list(values))?;
        }
        for (path, values) in &self.remove {
            changed |= remove(payload, path, list(values))?;
        }
        Ok(changed)
    }

    /// The fields that it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let named = self.set.keys().chain(self.add.keys()).chain(self.remove.keys());
        named.chain(&self.unset).map(String::as_str)
    }
}

fn refusal(field: &str, reason: &str) -> FilterError {
    FilterError::InvalidPayload { field: field.into(), reason: reason.into() }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        one => std::slice::from_ref(one),
    }
}

/// The place of a path, in maps that are made where they are missing.
fn place<'p>(payload: &'p mut Payload, path: &str) -> Result<Entry<'p, String, Value>, FilterError> {
    let mut map = payload;
    let mut names = path.split('.').peekable();
    loop {
        let name = names.next().unwrap_or_default();
        if names.peek().is_none() {
            return Ok(map.entry(name.into()));
        }
        map = match map.entry(name.into()).or_insert_with(|| Value::Map(BTreeMap::new())) {
            Value::Map(inner) => inner,
            other => {
                let reason = format!("`{name}` holds {} and has no fields; set it as a whole", other.kind_name());
                return Err(refusal(path, &reason));
            }
        };
    }
}

fn add(payload: &mut Payload, path: &str, values: &[Value]) -> Result<bool, FilterError> {
    let there = place(payload, path)?.or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(there) = there else {
        let reason = format!("it holds {}; values are added to a list", there.kind_name());
        return Err(refusal(path, &reason));
    };
    let before = there.len();
    for value in values {
        if !there.contains(value) {
            there.push(value.clone());
        }
    }
    Ok(there.len() > before)
}

fn remove(payload: &mut Payload, path: &str, values: &[Value]) -> Result<bool, FilterError> {
    let Some(there) = find(payload, path) else { return Ok(false) };
    let Value::Array(there) = there else {
        let reason = format!("it holds {}; values are removed from a list", there.kind_name());
        return Err(refusal(path, &reason));
    };
    let before = there.len();
    there.retain(|value| !values.contains(value));
    let (changed, is_empty) = (there.len() < before, there.is_empty());
    if changed && is_empty {
        unset(payload, path);
    }
    Ok(changed)
}

fn find<'p>(payload: &'p mut Payload, path: &str) -> Option<&'p mut Value> {
    let (parents, name) = path.rsplit_once('.').map_or((None, path), |(parents, name)| (Some(parents), name));
    let map = match parents {
        None => payload,
        Some(parents) => match find(payload, parents)? {
            Value::Map(inner) => inner,
            _ => return None,
        },
    };
    map.get_mut(name)
}

/// False where there is none.
fn unset(payload: &mut Payload, path: &str) -> bool {
    match path.rsplit_once('.') {
        None => payload.remove(path).is_some(),
        Some((parents, name)) => match find(payload, parents) {
            Some(Value::Map(inner)) => inner.remove(name).is_some(),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(json: &str) -> Payload {
        crate::payload_from_json(serde_json::from_str(json).unwrap()).unwrap()
    }

    fn change(set: &str, add: &str, remove: &str, unset: &[&str]) -> FieldChange {
        let unset = unset.iter().map(|path| path.to_string()).collect();
        FieldChange { set: payload(set), add: payload(add), remove: payload(remove), unset }
    }

    #[test]
    fn a_change_touches_what_it_names_and_nothing_else() {
        let cases = [
            (change(r#"{"a": 2}"#, "{}", "{}", &[]), r#"{"a": 2, "m": {"x": 1, "y": [1, 2]}, "t": ["p"]}"#),
            (
                change("{}", r#"{"t": ["q", "p"], "n": ["z"]}"#, "{}", &[]),
                r#"{"a": 1, "m": {"x": 1, "y": [1, 2]}, "t": ["p", "q"], "n": ["z"]}"#,
            ),
            (change("{}", "{}", r#"{"m.y": [2, 3], "t": ["p"]}"#, &[]), r#"{"a": 1, "m": {"x": 1, "y": [1]}}"#),
            (change("{}", "{}", "{}", &["m.x", "nothing.here"]), r#"{"a": 1, "m": {"y": [1, 2]}, "t": ["p"]}"#),
        ];
        for (change, after) in cases {
            let mut changed = payload(r#"{"a": 1, "m": {"x": 1, "y": [1, 2]}, "t": ["p"]}"#);
            change.check().unwrap();
            assert!(change.apply(&mut changed).unwrap());
            assert_eq!(changed, payload(after));
            assert!(!change.apply(&mut changed).unwrap(), "the second time changes nothing: {change:?}");
        }
    }

    #[test]
    fn a_path_makes_the_maps_that_it_leads_through() {
        let mut changed = Payload::new();
        let mut deep = FieldChange::default();
        deep.set.insert("a.b.c".into(), 1.into());
        assert!(deep.apply(&mut changed).unwrap());
        assert_eq!(changed, payload(r#"{"a": {"b": {"c": 1}}}"#));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let twice = FieldChange { unset: vec!["a".into()], ..change(r#"{"a": 1}"#, "{}", "{}", &[]) };
        let mut below = change(r#"{"a": 1}"#, "{}", "{}", &["a-b"]);
        below.unset.push("a.b".into());
        let no_list = change("{}", r#"{"tags": "x"}"#, "{}", &[]);
        for refused in [FieldChange::default(), twice, below, no_list, change("{}", "{}", "{}", &["a..b"])] {
            assert!(refused.check().is_err(), "{refused:?}");
        }
        let mut through = FieldChange::default();
        through.set.insert("a.b".into(), 1.into());
        assert!(through.apply(&mut payload(r#"{"a": "text"}"#)).is_err());
        assert!(change("{}", r#"{"a": ["x"]}"#, "{}", &[]).apply(&mut payload(r#"{"a": 1}"#)).is_err());
        assert!(change("{}", "{}", r#"{"a": ["x"]}"#, &[]).apply(&mut payload(r#"{"a": 1}"#)).is_err());
    }
}
