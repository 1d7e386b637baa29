//! Fields of files: tags and whatever else callers say of a version, conditions on them, and counts of their values.
//!
//! A version has its fields in its own row. Changing them makes a version with the same content, so a moment shows the fields of
//! that moment; a file that is put again keeps them.

use nuthatch_filter::{FieldChange, Filter, Payload, Value, encode, parse, validate};
use serde::{Deserialize, Serialize};

use crate::collection::{FieldValues, count_payloads};
use crate::kv::Rows;
use crate::tree::path::check_place;
use crate::tree::read::{self, Moment};
use crate::tree::value::{Held, Version};
use crate::tree::{PutFiles, TreeAt, Trees};
use crate::{Error, ErrorKind, Result, What};

/// Most bytes of all fields of one version, as they are stored.
const FIELDS_BYTES_MAX: usize = 64 << 10;
/// Paths that one batch changes.
const PATHS_AT_ONCE: usize = 1_000;
/// Most places of one call.
const PLACES_MAX: usize = 10_000;

/// Fields of a passage that its content tells, whatever the path.
pub(super) const OF_PASSAGE: [&str; 14] = [
    "kind",
    "lang",
    "mime",
    "bytes",
    "passage",
    "start_line",
    "end_line",
    "start_byte",
    "end_byte",
    "title",
    "heading",
    "page",
    "place",
    "content",
];
/// The fields that a tree has for every file, and that conditions may name.
pub(super) const OF_FILE: [&str; 5] = ["path", "name", "mtime", "mode", "sequence"];
/// The same where a file is asked for, and not its passages.
const OF_CONTENT: [&str; 2] = ["bytes", "content"];
/// The additional fields of hits.
const OF_HIT: [&str; 3] = ["paths", "paths_count", "source"];

/// Changes fields of files without sending the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateTree {
    /// The tree.
    pub tree: String,
    /// Files, and folders with everything below them; empty for the whole tree.
    pub paths: Vec<String>,
    /// Of these, only files that pass this condition.
    pub filter: Option<String>,
    /// The change to their fields.
    #[serde(with = "crate::codec::change")]
    pub change: FieldChange,
}

/// Counts the values of fields among the files of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountTree {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The path at or below which files count; empty for all.
    pub below: String,
    /// Which fields.
    pub fields: Vec<String>,
    /// Only files that pass this condition.
    pub filter: Option<String>,
    /// Values of each field, the most frequent ones.
    pub limit: usize,
}

/// A condition on files.
pub(crate) struct Condition(Filter);

impl Condition {
    /// # Errors
    /// `Invalid` for a condition that cannot be read, or one on fields that only passages have.
    pub fn of(text: Option<&str>) -> Result<Option<Self>> {
        let Some(text) = text else { return Ok(None) };
        let filter = parse(text)?;
        let fields = filter.fields();
        match fields.iter().find(|field| is_of_passage(field) && !OF_CONTENT.contains(&first(field))) {
            None => Ok(Some(Self(filter))),
            Some(field) => Err(Error::invalid(format!(
                "{field:?} is a field of passages, which a search of the tree finds; files have {}, {} and what they were given",
                OF_FILE.join(", "),
                OF_CONTENT.join(", ")
            ))),
        }
    }

    pub fn passes(&self, path: &str, sequence: u64, version: &Version) -> bool {
        self.0.matches(&file_fields(path, sequence, version))
    }

    /// # Errors
    /// `Invalid` for a field that no file has at that moment.
    pub fn check_known(&self, rows: &dyn Rows, tree: &str, moment: Moment, below: &str) -> Result<()> {
        check_known(&self.0, rows, tree, moment, below)
    }
}

/// Refuses a condition on a field that no file has: a slip of the pen should not look like an empty answer.
pub(super) fn check_known(filter: &Filter, rows: &dyn Rows, tree: &str, moment: Moment, below: &str) -> Result<()> {
    let named = filter.fields();
    let mut unknown: Vec<&str> =
        named.into_iter().filter(|field| !is_of_passage(field) && !OF_FILE.contains(&first(field))).collect();
    unknown.sort_unstable();
    unknown.dedup();
    if unknown.is_empty() {
        return Ok(());
    }
    let mut known = std::collections::BTreeSet::new();
    read::visit_versions(rows, tree, moment, below, None, &mut |_, _, version| {
        for name in version.fields.into_keys() {
            unknown.retain(|field| first(field) != name);
            known.insert(name);
        }
        Ok(!unknown.is_empty())
    })?;
    let Some(field) = unknown.first() else { return Ok(()) };
    let known = if known.is_empty() { "none".into() } else { known.into_iter().collect::<Vec<_>>().join(", ") };
    Err(Error::invalid(format!(
        "unknown field {field:?}; files of a tree have {}, their passages {}, and these were given: {known}",
        OF_FILE.join(", "),
        OF_PASSAGE.join(", ")
    )))
}

/// Returns the fields of a file that conditions may use, including the fields that it was given.
pub(super) fn file_fields(path: &str, sequence: u64, version: &Version) -> Payload {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut fields = version.fields.clone();
    fields.extend([
        ("path".to_owned(), Value::Text(path.to_owned())),
        ("name".to_owned(), Value::Text(name.to_owned())),
        ("mtime".to_owned(), Value::Datetime(version.modified_ns.div_euclid(1000))),
        ("mode".to_owned(), Value::Int(version.mode.into())),
        ("sequence".to_owned(), Value::Int(sequence as i64)),
    ]);
    if let Held::File { content, bytes } = &version.what {
        fields.insert("bytes".to_owned(), Value::Int(*bytes as i64));
        fields.insert("content".to_owned(), Value::Text(content.to_string()));
    }
    fields
}

/// Whether a field is one that the passages of a content have, whatever its path.
pub(super) fn is_of_passage(field: &str) -> bool {
    OF_PASSAGE.contains(&first(field))
}

fn first(field: &str) -> &str {
    field.split('.').next().unwrap_or(field)
}

/// Refuses a change of what a tree or its passages say themselves.
pub(crate) fn check_change(change: &FieldChange) -> Result<()> {
    if change.is_empty() {
        return Ok(());
    }
    change.check()?;
    let own = |path: &&str| [&OF_PASSAGE[..], &OF_FILE, &OF_HIT].iter().any(|names| names.contains(&first(path)));
    match change.paths().find(own) {
        Some(own) => Err(Error::invalid(format!("a tree says {own:?} of its files itself; choose another name"))),
        None => Ok(()),
    }
}

/// The fields of a version after a change.
///
/// # Errors
/// `Invalid` for a change that these fields do not allow, or more than 64 KiB.
pub(super) fn changed(path: &str, fields: &Payload, change: &FieldChange) -> Result<Payload> {
    let mut fields = fields.clone();
    if !change.is_empty() && change.apply(&mut fields)? {
        validate(&fields)?;
        let bytes = encode(&fields).len();
        if bytes > FIELDS_BYTES_MAX {
            let why = format!("the fields of {path:?} would have {bytes} bytes, and the limit is {FIELDS_BYTES_MAX}");
            return Err(Error::invalid(why));
        }
    }
    Ok(fields)
}

impl Trees {
    /// Changes fields of files and links in as many batches as that takes, and says how many changed.
    ///
    /// # Errors
    /// `NotFound` for a path at or below which nothing stands, before anything is changed.
    pub fn update(&self, ask: &UpdateTree) -> Result<u64> {
        if ask.change.is_empty() {
            return Err(Error::invalid("the change names no field; set, add, remove or unset at least one"));
        }
        if ask.paths.len() > PLACES_MAX {
            let why = format!("one call cannot change {} paths; send at most {PLACES_MAX}", ask.paths.len());
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        check_change(&ask.change)?;
        let condition = Condition::of(ask.filter.as_deref())?;
        let now = Moment::Sequence(u64::MAX);
        let whole = [String::new()];
        let places = if ask.paths.is_empty() { &whole } else { &ask.paths[..] };
        self.keyspace.at_once(|rows| {
            read::find(rows, &ask.tree)?;
            for place in places {
                check_place(place)?;
                let mut is_there = place.is_empty();
                read::visit_versions(rows, &ask.tree, now, place, None, &mut |_, _, _| {
                    is_there = true;
                    Ok(false)
                })?;
                if !is_there {
                    let why = format!("tree {:?} has nothing at {place:?}; nothing was changed", ask.tree);
                    return Err(Error::not_found(why).about(What::File, place));
                }
            }
            condition.as_ref().map_or(Ok(()), |condition| condition.check_known(rows, &ask.tree, now, ""))
        })?;
        let (mut updated, mut batch) = (0, Vec::new());
        for place in places {
            let mut after: Option<String> = None;
            loop {
                let (room, from) = (PATHS_AT_ONCE - batch.len(), after.clone());
                let mut found = Vec::new();
                self.keyspace.at_once(|rows| {
                    read::visit_versions(rows, &ask.tree, now, place, from.as_deref(), &mut |path, at, version| {
                        let passes = condition.as_ref().is_none_or(|condition| condition.passes(path, at, &version));
                        if version.what != Held::Folder
                            && passes
                            && changed(path, &version.fields, &ask.change)? != version.fields
                        {
                            found.push(path.to_owned());
                        }
                        after = Some(path.to_owned());
                        Ok(found.len() < room)
                    })
                })?;
                let is_whole = found.len() < room;
                batch.extend(found);
                if batch.len() == PATHS_AT_ONCE {
                    updated += self.change_fields(ask, std::mem::take(&mut batch))?;
                }
                if is_whole {
                    break;
                }
            }
        }
        if !batch.is_empty() {
            updated += self.change_fields(ask, batch)?;
        }
        Ok(updated)
    }

    fn change_fields(&self, ask: &UpdateTree, mut kept: Vec<String>) -> Result<u64> {
        kept.sort_unstable();
        kept.dedup(); // a place within another one
        let put = PutFiles { tree: ask.tree.clone(), kept, change: ask.change.clone(), ..PutFiles::default() };
        self.put_if(put, ask.filter.as_deref()).map(|report| report.changed)
    }
}

/// The values of some fields, the most frequent first.
pub(crate) fn count(rows: &dyn Rows, ask: &CountTree) -> Result<Vec<FieldValues>> {
    check_place(&ask.below)?;
    let condition = Condition::of(ask.filter.as_deref())?;
    let moment = ask.at.moment(rows)?;
    for field in &ask.fields {
        check_known(&Filter::Exists { field: field.clone() }, rows, &ask.at.tree, moment, "")?;
    }
    if let Some(condition) = &condition {
        condition.check_known(rows, &ask.at.tree, moment, "")?;
    }
    count_payloads(&ask.fields, ask.limit, rows.room(), |add| {
        read::visit_versions(rows, &ask.at.tree, moment, &ask.below, None, &mut |path, sequence, version| {
            if version.what != Held::Folder {
                let fields = file_fields(path, sequence, &version);
                if condition.as_ref().is_none_or(|condition| condition.0.matches(&fields)) {
                    add(&fields)?;
                }
            }
            Ok(true)
        })
    })
}
