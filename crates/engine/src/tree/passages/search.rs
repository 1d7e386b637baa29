//! A search at a moment: among the passages of what the tree had then, and with conditions on its files.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use nuthatch_filter::{Filter, Payload, Value};
use serde::{Deserialize, Serialize};

use super::TreePassages;
use super::live::Live;
use super::make::{CONTENT, SOURCE};
use super::source::{Source, passage_of};
use crate::call::{Choice, Waits};
use crate::collection::{Answer, Hit, Search};
use crate::file_entry::passage_id;
use crate::kv::Rows;
use crate::tree::fields;
use crate::tree::path::{check_place, lies_at};
use crate::tree::value::{Held, Version};
use crate::tree::{ContentId, TreeAt, read};
use crate::{Error, Result, What};

/// Paths that a hit names; it counts all.
const PATHS_SHOWN: usize = 10;
/// A search of a tree's files by their passages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchTree {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// Only files at or below this path; empty for all.
    pub below: String,
    /// The embedder of the question, and of passages that are still to be made.
    pub embedder: Choice,
    /// The question. Its filter may name fields of passages (`lang`, `page`) and of files (`path`, `mtime`, tags).
    pub search: Search,
}

/// The result of a [`SearchTree`], or how much is to be done first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TreeAnswer {
    /// Hits with their paths at that moment.
    pub answer: Answer,
    /// Contents whose passages are still to be made. Then there is no answer yet: ask again.
    pub left: u64,
}

impl SearchTree {
    /// The limits of the wait for its answer.
    pub(crate) fn waits(&self) -> Waits {
        Waits::of(self.search.time_limit, self.search.cancel.as_ref())
    }
}

/// The files that a condition lets through, by what it still asks of their passages.
struct Chosen {
    /// Spelt, so that equal conditions meet; with the numbers of the sources, ascending.
    groups: BTreeMap<String, (Filter, Vec<i64>)>,
}

impl TreePassages {
    /// One step of a search: it answers when all passages are there.
    pub(crate) fn search(&self, ask: &SearchTree) -> Result<TreeAnswer> {
        check_place(&ask.below)?;
        ask.search.check()?;
        if let Some(filter) = &ask.search.filter {
            self.trees
                .keyspace
                .at_once(|rows| fields::check_known(filter, rows, &ask.at.tree, ask.at.moment(rows)?, ""))?;
        }
        let (live, made) = self.complete(&ask.at)?;
        if made.left > 0 {
            return Ok(TreeAnswer { left: made.left, ..TreeAnswer::default() });
        }
        let mut search = ask.search.clone();
        search.include.payload = true; // by which hits are told from others
        if let Some(id) = &search.like {
            search.like = Some(self.stored_id(ask, &live, id)?);
        }
        match search.refine.group_by.as_deref() {
            // A hit names all paths of its content.
            Some("path") => search.refine.group_by = Some(SOURCE.into()),
            Some(field) if is_of_file(field) => {
                return Err(Error::invalid(format!(
                    "hits of a tree cannot be grouped by {field:?}; group by \"path\""
                )));
            }
            _ => {}
        }
        let mut foreign: HashSet<ContentId> = HashSet::new();
        loop {
            search.filter = Some(self.restricted(ask, &live, &foreign)?);
            let mut answer = self.collection.search(&search)?;
            let before = foreign.len();
            self.trees.keyspace.at_once(|rows| {
                for hit in &mut answer.hits {
                    self.name_hit(rows, ask, &live, hit, &mut foreign)?;
                }
                Ok(())
            })?;
            // Somebody has made two contents with one number: without the other one there is room for others.
            if foreign.len() == before {
                return Ok(TreeAnswer { answer, left: 0 });
            }
        }
    }

    /// The id under which a passage is stored that a hit has called `path#number`.
    fn stored_id(&self, ask: &SearchTree, live: &Live, id: &str) -> Result<String> {
        let missing = || {
            let why = format!("`like` names passage {id:?}, which tree {:?} does not have at that moment", ask.at.tree);
            Error::not_found(why).about(What::Record, id)
        };
        let (path, number) = id.rsplit_once('#').ok_or_else(missing)?;
        let number = number.parse().map_err(|_| missing())?;
        let entry = self.trees.keyspace.at_once(|rows| read::entry_at(rows, &ask.at.tree, live.moment(), path))?;
        let content = entry.and_then(|entry| entry.content).ok_or_else(missing)?;
        Ok(passage_id(&Source::of(path, content).name(), number))
    }

    /// The condition on passages that is the same as the caller's on files and passages, among those of the moment.
    fn restricted(&self, ask: &SearchTree, live: &Live, foreign: &HashSet<ContentId>) -> Result<Filter> {
        let among = |numbers: Arc<[i64]>| Filter::Among { field: SOURCE.into(), numbers };
        let filter = ask.search.filter.as_ref();
        let asks_of_files = filter.is_some_and(|filter| filter.fields().into_iter().any(is_of_file));
        let mut parts = if !asks_of_files && ask.below.is_empty() {
            [among(live.numbers.clone())].into_iter().chain(filter.cloned()).collect()
        } else {
            let chosen = self.trees.keyspace.at_once(|rows| chosen(rows, ask, live))?;
            let any = chosen.groups.into_values().map(|(rest, numbers)| match rest {
                Filter::True => among(numbers.into()),
                rest => Filter::And(vec![among(numbers.into()), rest]),
            });
            vec![Filter::Or(any.collect())]
        };
        if !foreign.is_empty() {
            let values = foreign.iter().map(|id| Value::Text(id.to_string())).collect();
            parts.push(Filter::Not(Box::new(Filter::In { field: CONTENT.into(), values })));
        }
        Ok(Filter::And(parts))
    }

    /// Gives a hit its path, and what else stands there. One of a content that the tree did not have is noted.
    fn name_hit(
        &self,
        rows: &dyn Rows,
        ask: &SearchTree,
        live: &Live,
        hit: &mut Hit,
        foreign: &mut HashSet<ContentId>,
    ) -> Result<()> {
        let Some((source, number)) = passage_of(&hit.id) else { return Ok(()) };
        let (mut paths, mut first) = (Vec::new(), None);
        for path in live.paths_of(source.number()).filter(|path| lies_at(&ask.below, path)) {
            let Some((sequence, version)) = read::version_at(rows, &ask.at.tree, live.moment(), path)? else {
                continue;
            };
            if version.what.content() != Some(&source.id) || Source::of(path, source.id) != source {
                continue;
            }
            let file = file_fields(path, sequence, &version);
            let passes = ask.search.filter.as_ref().is_none_or(|filter| {
                let rest = filter.given(&file, &is_of_file);
                matches!(rest, Filter::True) || rest.matches(&hit.payload)
            });
            if passes {
                paths.push(path.to_owned());
                first.get_or_insert(file);
            }
        }
        let Some(file) = first else {
            foreign.insert(source.id);
            return Ok(());
        };
        hit.id = passage_id(&paths[0], number);
        hit.payload.remove(SOURCE);
        if !ask.search.include.payload {
            hit.payload.clear();
        } else {
            hit.payload.extend(file);
            let count = paths.len();
            if count > 1 {
                paths.truncate(PATHS_SHOWN);
                let shown = paths.into_iter().map(Value::Text).collect();
                hit.payload.insert("paths".into(), Value::Array(shown));
                hit.payload.insert("paths_count".into(), Value::Int(count as i64));
            }
        }
        Ok(())
    }
}

/// The files of the moment that can pass, by what is left of the condition for their passages.
fn chosen(rows: &dyn Rows, ask: &SearchTree, live: &Live) -> Result<Chosen> {
    let mut chosen = Chosen { groups: BTreeMap::new() };
    let every = Filter::True;
    let filter = ask.search.filter.as_ref().unwrap_or(&every);
    read::visit_versions(rows, &ask.at.tree, live.moment(), &ask.below, None, &mut |path, sequence, version| {
        if let Held::File { content, .. } = &version.what {
            let rest = filter.given(&file_fields(path, sequence, &version), &is_of_file);
            if !rest.is_never() {
                let number = Source::of(path, *content).number();
                chosen.groups.entry(rest.to_string()).or_insert_with(|| (rest, Vec::new())).1.push(number);
            }
        }
        Ok(true)
    })?;
    for (_, numbers) in chosen.groups.values_mut() {
        numbers.sort_unstable();
        numbers.dedup();
    }
    Ok(chosen)
}

/// The fields of a hit that describe its file; its content is the passage's own field.
fn file_fields(path: &str, sequence: u64, version: &Version) -> Payload {
    let mut fields = fields::file_fields(path, sequence, version);
    fields.retain(|name, _| is_of_file(name));
    fields
}

/// Whether a field is one of the file, not of its passages.
fn is_of_file(field: &str) -> bool {
    !fields::is_of_passage(field)
}
