//! Changes of facts on their way to one batch: reads see what was changed before. Without changes, it reads alone.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Bound, ControlFlow};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::facts::fact::{Fact, SourcePassage};
use crate::facts::key;
use crate::facts::value::{Rule, State, decode, encode};
use crate::facts::{NewFact, Object, normal_form};
use crate::kv::{KeyScan, KvOp, Rows};
use crate::record::RowParts;
use crate::{Error, Result};

/// Keys of one page.
const PAGE: usize = 256;
/// Aliases of one name that are followed.
const ALIASES_MAX: usize = 1_000;

/// Facts as they are, with what a batch will change.
pub(crate) struct Draft<'r> {
    pub rows: &'r dyn Rows,
    pub state: State,
    before: State,
    /// `None`: the row goes.
    changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// All names of those entities that somebody asked for, until an alias changes.
    names: RefCell<HashMap<String, Vec<String>>>,
    /// Whether there is any alias; `None`: nobody has looked.
    has_aliases: Cell<Option<bool>>,
    /// Numbers of collections by their names.
    collections: RefCell<HashMap<String, Option<u32>>>,
    /// Rows that were read together before they are needed.
    expected: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'r> Draft<'r> {
    pub fn of(rows: &'r dyn Rows) -> Result<Self> {
        let (state, before) = (State::default(), State::default());
        let mut draft = Self {
            rows,
            state,
            before,
            changed: BTreeMap::new(),
            names: RefCell::default(),
            has_aliases: Cell::default(),
            collections: RefCell::default(),
            expected: HashMap::new(),
        };
        draft.before = draft.get(key::STATE)?.unwrap_or_default();
        draft.state = draft.before.clone();
        Ok(draft)
    }

    pub fn now_ms(&self) -> u64 {
        self.rows.now_ms()
    }

    /// The number of a collection; `None` if there is none of the name.
    pub fn collection(&self, name: &str) -> Result<Option<u32>> {
        if let Some(known) = self.collections.borrow().get(name) {
            return Ok(*known);
        }
        let found = self.rows.collection_number(name)?;
        self.collections.borrow_mut().insert(name.into(), found);
        Ok(found)
    }

    fn bytes(&self, row: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.changed.get(row).or_else(|| self.expected.get(row)) {
            Some(known) => Ok(known.clone()),
            None => Ok(self.rows.values(&[row.to_vec()])?.pop().flatten()),
        }
    }

    /// Reads together what recording these facts will read one by one.
    pub fn expect(&mut self, facts: &[NewFact]) -> Result<()> {
        if facts.len() < 2 {
            return Ok(());
        }
        let mut rows: Vec<Vec<u8>> = Vec::with_capacity(facts.len() * 2);
        for fact in facts {
            let names = std::iter::once(fact.subject.as_str()).chain(fact.object.entity());
            rows.extend(names.map(|name| key::entity(&normal_form(name), name)));
            rows.push(key::rule(&fact.predicate));
        }
        rows.sort_unstable();
        rows.dedup();
        for rows in rows.chunks(PAGE) {
            self.expected.extend(rows.iter().cloned().zip(self.rows.values(rows)?));
        }
        Ok(())
    }

    /// A row as it will be.
    pub fn get<T: DeserializeOwned>(&self, row: &[u8]) -> Result<Option<T>> {
        self.bytes(row)?.as_deref().map(decode).transpose()
    }

    pub fn put<T: Serialize>(&mut self, row: Vec<u8>, value: &T) -> Result<()> {
        let value = encode(value)?;
        self.change(row, Some(value));
        Ok(())
    }

    fn change(&mut self, row: Vec<u8>, value: Option<Vec<u8>>) {
        if key::is_of_alias(&row) {
            self.names.get_mut().clear();
            self.has_aliases.set(None);
        }
        self.changed.insert(row, value);
    }

    /// A row whose key says everything.
    pub fn mark(&mut self, row: Vec<u8>) {
        self.change(row, Some(Vec::new()));
    }

    pub fn delete(&mut self, row: Vec<u8>) {
        self.change(row, None);
    }

    /// Up to `limit` keys that begin so, after that one, in their order.
    pub fn keys(&self, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Result<Vec<Vec<u8>>> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.to_vec()));
        let mut scan =
            KeyScan { keys_only: true, limit: PAGE.min(limit), from: from.clone(), ..KeyScan::prefix(prefix) };
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let page = self.rows.page(&scan)?;
            keys.extend(page.entries.into_iter().map(|(key, _)| key).filter(|key| !self.changed.contains_key(key)));
            scan.cursor = page.cursor;
            if scan.cursor.is_none() || keys.len() >= limit {
                break;
            }
        }
        // Existing keys are known only as far as they were read, so new keys beyond that point are left out.
        let whole_to = scan.cursor.is_some().then(|| keys.last().cloned()).flatten();
        let bound = match from {
            Bound::Unbounded => Bound::Included(prefix.to_vec()),
            from => from,
        };
        let new = self.changed.range((bound, Bound::Unbounded)).take_while(|(key, _)| key.starts_with(prefix));
        let new = new.filter(|(key, value)| value.is_some() && whole_to.as_ref().is_none_or(|to| *key <= to));
        let before = keys.len();
        keys.extend(new.map(|(key, _)| key.clone()));
        if keys.len() > before {
            keys.sort_unstable();
        }
        keys.truncate(limit);
        Ok(keys)
    }

    pub fn fact(&self, number: u64) -> Result<Option<Fact>> {
        self.get(&key::fact(number))
    }

    /// Several facts, in the order of the numbers.
    pub fn facts(&self, numbers: &[u64]) -> Result<Vec<Option<Fact>>> {
        let mut found = Vec::with_capacity(numbers.len());
        for numbers in numbers.chunks(PAGE) {
            let keys: Vec<Vec<u8>> = numbers.iter().map(|number| key::fact(*number)).collect();
            for (key, stored) in keys.iter().zip(self.rows.values(&keys)?) {
                let stored = self.changed.get(key).cloned().unwrap_or(stored);
                found.push(stored.as_deref().map(decode).transpose()?);
            }
        }
        Ok(found)
    }

    fn has_aliases(&self) -> Result<bool> {
        match self.has_aliases.get() {
            Some(known) => Ok(known),
            None => {
                let found = !self.keys(&key::all_aliases(), None, 1)?.is_empty();
                self.has_aliases.set(Some(found));
                Ok(found)
            }
        }
    }

    /// The name that stands for an entity: itself, or what it is declared an alias of.
    pub fn canonical(&self, name: &str) -> Result<String> {
        if !self.has_aliases()? {
            return Ok(name.to_string());
        }
        Ok(self.get(&key::alias(name))?.unwrap_or_else(|| name.to_string()))
    }

    /// The aliases that are declared of a name.
    pub fn aliases(&self, name: &str) -> Result<Vec<String>> {
        if !self.has_aliases()? {
            return Ok(Vec::new());
        }
        let rows = self.keys(&key::aliases_of(name), None, ALIASES_MAX)?;
        Ok(rows.iter().filter_map(|row| key::alias_of(row)).collect())
    }

    /// All names of the entity that is called so, the one that stands for it first.
    pub fn names(&self, name: &str) -> Result<Vec<String>> {
        if let Some(known) = self.names.borrow().get(name) {
            return Ok(known.clone());
        }
        let canonical = self.canonical(name)?;
        let aliases = self.aliases(&canonical)?;
        let names: Vec<String> = std::iter::once(canonical).chain(aliases).collect();
        self.names.borrow_mut().insert(name.to_string(), names.clone());
        Ok(names)
    }

    /// The objects that mean the same.
    pub fn objects(&self, object: &Object) -> Result<Vec<Object>> {
        match object {
            Object::Entity(name) => Ok(self.names(name)?.into_iter().map(Object::Entity).collect()),
            value => Ok(vec![value.clone()]),
        }
    }

    pub fn rule(&self, predicate: &str) -> Result<Rule> {
        Ok(self.get(&key::rule(predicate))?.unwrap_or_default())
    }

    /// Adds a fact with all its rows; gives it its number.
    pub fn insert(&mut self, mut fact: Fact) -> Result<u64> {
        self.state.next += 1;
        fact.number = self.state.next;
        self.state.facts += 1;
        self.state.invalidated += u64::from(fact.invalidated.is_some());
        for row in rows_of(&fact) {
            self.mark(row);
        }
        self.count(&fact, 1)?;
        self.put(key::fact(fact.number), &fact)?;
        Ok(fact.number)
    }

    /// Writes a fact whose sources or whose end changed.
    pub fn update(&mut self, fact: &Fact) -> Result<()> {
        let Some(old) = self.fact(fact.number)? else { return self.put(key::fact(fact.number), fact) };
        let kept = rows_of(fact);
        for row in rows_of(&old) {
            if !kept.contains(&row) {
                self.delete(row);
            }
        }
        for row in kept {
            self.mark(row);
        }
        if old.invalidated.is_none() && fact.invalidated.is_some() {
            self.state.invalidated += 1;
        }
        self.put(key::fact(fact.number), fact)
    }

    /// Removes a fact with all its rows.
    pub fn remove(&mut self, fact: &Fact) -> Result<()> {
        for row in rows_of(fact) {
            self.delete(row);
        }
        self.delete(key::fact(fact.number));
        self.state.facts = self.state.facts.saturating_sub(1);
        self.state.invalidated -= u64::from(fact.invalidated.is_some()).min(self.state.invalidated);
        self.count(fact, -1)
    }

    /// Counts a fact with its entities and its predicate.
    fn count(&mut self, fact: &Fact, by: i64) -> Result<()> {
        let names = std::iter::once(fact.subject.as_str()).chain(fact.object.entity());
        let names: Vec<String> = names.map(str::to_string).collect();
        for name in names {
            let row = key::entity(&normal_form(&name), &name);
            match self.get::<u64>(&row)?.unwrap_or(0).saturating_add_signed(by) {
                0 => self.delete(row),
                facts => self.put(row, &facts)?,
            }
        }
        let mut rule = self.rule(&fact.predicate)?;
        rule.facts = rule.facts.saturating_add_signed(by);
        match rule.facts == 0 && !rule.functional {
            true => self.delete(key::rule(&fact.predicate)),
            false => self.put(key::rule(&fact.predicate), &rule)?,
        }
        Ok(())
    }

    /// Whether a passage is there as it was.
    pub fn stands(&self, passage: &SourcePassage) -> Result<bool> {
        match self.rows.row_of(passage.collection, &passage.of.id)? {
            None => Ok(false),
            Some(row) if row == passage.row => Ok(true),
            // It was written again, perhaps with the same text: a tag, a vector.
            Some(row) => match self.rows.record_bytes(passage.collection, row)? {
                Some(bytes) => Ok(passage_hash(&RowParts::decode(&bytes)?) == passage.hash),
                None => Ok(false),
            },
        }
    }

    /// Whether any of a fact's sources stands.
    pub fn is_grounded(&self, fact: &Fact) -> Result<bool> {
        for source in &fact.sources {
            match &source.passage {
                None => return Ok(true),
                Some(passage) if self.stands(passage)? => return Ok(true),
                Some(_) => {}
            }
        }
        Ok(false)
    }

    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.state == self.before
    }

    /// The changes of rows.
    pub fn into_ops(mut self) -> Result<Vec<KvOp>> {
        if self.state != self.before || !self.changed.is_empty() {
            let state = self.state.clone();
            self.put(key::STATE.to_vec(), &state)?;
        }
        let op = |(key, value)| match value {
            Some(value) => KvOp::Put { key, value, expires_in: None },
            None => KvOp::Delete { key },
        };
        Ok(self.changed.into_iter().map(op).collect())
    }
}

/// The hash of what an extractor is given of a record.
pub(crate) fn passage_hash(row: &RowParts<'_>) -> key::Hash {
    key::hash(&[row.context.unwrap_or_default().as_bytes(), row.text.unwrap_or_default().as_bytes()])
}

/// The rows by which a fact is found.
fn rows_of(fact: &Fact) -> Vec<Vec<u8>> {
    let mut prefixes = vec![
        key::of_subject(&fact.subject),
        key::of_pair(&fact.subject, &fact.predicate),
        key::of_triple(&fact.subject, &fact.predicate, &fact.object),
        key::of_predicate(&fact.predicate),
        key::of_object(&fact.object),
    ];
    let passages = fact.sources.iter().filter_map(|source| source.passage.as_ref());
    prefixes.extend(passages.map(|passage| key::of_passage(passage.collection, &passage.of.id)));
    prefixes.sort_unstable();
    prefixes.dedup();
    prefixes.into_iter().map(|prefix| key::numbered(prefix, fact.number)).collect()
}

/// The numbers of facts under several prefixes, ascending, each once.
pub(crate) struct Numbers {
    lists: Vec<List>,
}

struct List {
    prefix: Vec<u8>,
    after: Option<Vec<u8>>,
    read: VecDeque<u64>,
    ended: bool,
}

impl Numbers {
    /// Those after a number.
    pub fn after(prefixes: Vec<Vec<u8>>, number: Option<u64>) -> Self {
        let list = |prefix: Vec<u8>| List {
            after: number.map(|number| key::numbered(prefix.clone(), number)),
            prefix,
            read: VecDeque::new(),
            ended: false,
        };
        Self { lists: prefixes.into_iter().map(list).collect() }
    }

    /// Up to `limit` more.
    pub fn next(&mut self, draft: &Draft<'_>, limit: usize) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        while numbers.len() < limit {
            let mut least = None;
            for list in &mut self.lists {
                if list.read.is_empty() && !list.ended {
                    let keys = draft.keys(&list.prefix, list.after.as_deref(), PAGE)?;
                    list.ended = keys.len() < PAGE;
                    let found = keys.iter().map(|key| key::number_of(key).ok_or_else(broken));
                    list.read = found.collect::<Result<_>>()?;
                    list.after = keys.into_iter().next_back().or(list.after.take());
                }
                least = match (least, list.read.front()) {
                    (Some(least), Some(first)) => Some(std::cmp::min(least, *first)),
                    (least, first) => least.or(first.copied()),
                };
            }
            let Some(number) = least else { break };
            for list in &mut self.lists {
                if list.read.front() == Some(&number) {
                    list.read.pop_front();
                }
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Shows the facts, some at a time, until the visit says `Break`.
    pub fn each(&mut self, draft: &Draft<'_>, visit: &mut dyn FnMut(Fact) -> Result<ControlFlow<()>>) -> Result<()> {
        loop {
            let numbers = self.next(draft, PAGE)?;
            if numbers.is_empty() {
                return Ok(());
            }
            for fact in draft.facts(&numbers)?.into_iter().flatten() {
                if visit(fact)?.is_break() {
                    return Ok(());
                }
            }
        }
    }
}

pub(crate) fn broken() -> Error {
    Error::internal("a stored fact cannot be decoded; run `nuthatch doctor`")
}
