//! The source files of a tree at a moment, and those among them that have a name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use nuthatch_code::{Candidate, Facts, Language, Names, Reading, hash_of};

use crate::Result;
use crate::kv::Rows;
use crate::tree::code::kept::{self, Loose, Source};
use crate::tree::code::{AskCode, CodeFiles, FOUND_AT_ONCE_BYTES, symbols};
use crate::tree::draft::lacking;
use crate::tree::read::{self, Moment};
use crate::tree::value::Held;

/// Files whose names are looked at together, and files whose facts are.
const NAMES_AT_ONCE: usize = 2_000;
const FACTS_AT_ONCE: usize = 200;

/// A file that may define or use a name.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub path: String,
    pub source: Source,
    parts: u32,
    pub defines: bool,
    pub uses: bool,
}

/// The source files of a tree at a moment.
pub(super) struct Code<'r> {
    pub rows: &'r dyn Rows,
    pub tree: &'r str,
    pub moment: Moment,
    pub loose: &'r Loose,
    pub files: CodeFiles,
}

/// Something is missing before a question can be answered.
pub(super) enum Selected {
    Hits(Vec<Hit>),
    /// The facts of these are not kept, and of how many more.
    Missing(Vec<Source>, u64),
}

impl<'r> Code<'r> {
    pub fn of(rows: &'r dyn Rows, ask: &'r AskCode, loose: &'r Loose) -> Result<Self> {
        let moment = ask.at.moment(rows)?;
        Ok(Self { rows, tree: &ask.at.tree, moment, loose, files: CodeFiles::default() })
    }

    /// The files that may have one of these names, by path; `None` for all files.
    pub fn select(&mut self, names: Option<&BTreeSet<String>>) -> Result<Selected> {
        let hashes = names.map(|names| names.iter().map(|name| hash_of(name)).collect::<BTreeSet<u32>>());
        let hashes: Option<Vec<u32>> = hashes.map(|hashes| hashes.into_iter().collect());
        let (mut hits, mut missing, mut missing_bytes, mut more) = (Vec::new(), Vec::new(), 0, 0);
        let mut seen = HashSet::new();
        self.files = CodeFiles::default();
        let mut after: Option<String> = None;
        loop {
            let batch = self.sources_after(after.as_deref())?;
            let Some((last, _)) = batch.last() else { break };
            after = Some(last.clone());
            let sources: Vec<Source> = batch.iter().filter_map(|(_, source)| *source).collect();
            let mut kept = kept::names(self.rows, &sources)?.into_iter();
            for (path, source) in batch {
                let Some(source) = source else { continue };
                let kept = kept.next().ok_or_else(lacking)?;
                let (parts, found) = match (&kept, self.loose.get(&(source.id, source.language))) {
                    (Some(kept), _) => (kept.parts, kept.look(hashes.as_deref().unwrap_or_default())),
                    (None, Some(loose)) => (0, look_loose(loose, hashes.as_deref().unwrap_or_default())),
                    (None, None) => (0, None),
                };
                self.files.read += 1;
                let Some(found) = found else {
                    if seen.insert((source.id, source.language)) {
                        match missing_bytes < FOUND_AT_ONCE_BYTES {
                            true => missing.push(source),
                            false => more += 1,
                        }
                        missing_bytes += source.bytes;
                    }
                    continue;
                };
                self.files.with_errors += u64::from(found.reading == Reading::WithErrors);
                self.files.unparsed += u64::from(found.reading == Reading::Unparsed);
                if found.defines || found.uses || hashes.is_none() {
                    hits.push(Hit { path, source, parts, defines: found.defines, uses: found.uses });
                }
            }
        }
        Ok(match missing.is_empty() {
            true => Selected::Hits(hits),
            false => Selected::Missing(missing, more),
        })
    }

    /// The next paths, and what stands there as source code.
    fn sources_after(&self, after: Option<&str>) -> Result<Vec<(String, Option<Source>)>> {
        let mut batch = Vec::new();
        let (mut last, mut wanted) = (None, 0);
        read::visit_versions(self.rows, self.tree, self.moment, "", after, &mut |path, _, version| {
            last = Some(path.to_owned());
            if let (Held::File { content, bytes }, Some(language)) = (&version.what, Language::of_path(path)) {
                let source = Source { id: *content, language, bytes: *bytes };
                batch.push((path.to_owned(), Some(source)));
                wanted += 1;
            }
            Ok(wanted < NAMES_AT_ONCE)
        })?;
        if let Some(last) = last.filter(|last| batch.last().is_none_or(|(path, _)| path != last)) {
            batch.push((last, None)); // where to go on
        }
        Ok(batch)
    }

    /// Visits the facts of files, in their order.
    pub fn each(&self, hits: &[Hit], visit: &mut dyn FnMut(&Hit, &Facts) -> Result<()>) -> Result<()> {
        for some in hits.chunks(FACTS_AT_ONCE) {
            let is_loose = |hit: &&Hit| self.loose.contains_key(&(hit.source.id, hit.source.language));
            let wanted: Vec<_> = some.iter().filter(|hit| !is_loose(hit)).map(|hit| (hit.source, hit.parts)).collect();
            let mut kept = kept::facts(self.rows, &wanted)?.into_iter();
            let files: Vec<_> = some.iter().map(|hit| (hit.path.as_str(), hit.source.id)).collect();
            let symbols = symbols::symbols(self.rows, self.tree, &files)?;
            for (hit, symbols) in some.iter().zip(symbols) {
                let facts = match self.loose.get(&(hit.source.id, hit.source.language)) {
                    Some(loose) => Cow::Borrowed(&**loose),
                    None => match kept.next().flatten() {
                        Some(facts) => Cow::Owned(facts),
                        None => Cow::Owned(Arc::unwrap_or_clone(self.found_again(hit.source)?)),
                    },
                };
                match symbols {
                    None => visit(hit, &facts)?,
                    Some(_) => visit(hit, &Facts { symbols, ..facts.into_owned() })?,
                }
            }
        }
        Ok(())
    }

    /// The facts of a file of whose rows some are lost.
    fn found_again(&self, source: Source) -> Result<Arc<Facts>> {
        let mut found = Loose::new();
        kept::find_loose(self.rows, vec![source], &mut found)?;
        found.remove(&(source.id, source.language)).ok_or_else(lacking)
    }

    /// All definitions with one of these names, by name.
    pub fn candidates(&self, hits: &[Hit], names: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<Candidate>>> {
        let defining: Vec<Hit> = hits.iter().filter(|hit| hit.defines).cloned().collect();
        let mut found: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
        self.each(&defining, &mut |hit, facts| {
            for (index, definition) in facts.definitions.iter().enumerate() {
                if names.contains(&definition.name) {
                    found.entry(definition.name.clone()).or_default().push(Candidate {
                        path: hit.path.clone(),
                        language: facts.language,
                        index: index as u32,
                        qualified: facts.qualified_name(index),
                        definition: definition.clone(),
                        symbol: facts.symbols.as_ref().and_then(|symbols| symbols.defined(definition)),
                    });
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The file at a path; `None` when there is none in a language that is known.
    pub fn file(&self, path: &str) -> Result<Option<Source>> {
        let entry = read::entry_at(self.rows, self.tree, self.moment, path)?;
        Ok(entry.and_then(|entry| {
            let (id, language) = (entry.content?, Language::of_path(path)?);
            Some(Source { id, language, bytes: entry.bytes })
        }))
    }

    /// Returns the facts of one file.
    pub fn facts_of(&self, source: Source) -> Result<Option<Arc<Facts>>> {
        if let Some(loose) = self.loose.get(&(source.id, source.language)) {
            return Ok(Some(loose.clone()));
        }
        let Some(kept) = kept::names(self.rows, &[source])?.pop().flatten() else { return Ok(None) };
        match kept::facts(self.rows, &[(source, kept.parts)])?.pop().flatten() {
            Some(facts) => Ok(Some(Arc::new(facts))),
            None => self.found_again(source).map(Some),
        }
    }
}

fn look_loose(facts: &Facts, hashes: &[u32]) -> Option<nuthatch_code::Found> {
    nuthatch_code::look(&Names::of(facts).encode(facts.reading), hashes)
}

/// Paths of all source files, for what imports name.
pub(super) fn paths(code: &Code<'_>) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    read::visit_versions(code.rows, code.tree, code.moment, "", None, &mut |path, _, version| {
        if matches!(version.what, Held::File { .. }) && Language::of_path(path).is_some() {
            paths.push(path.to_owned());
        }
        Ok(true)
    })?;
    Ok(paths)
}
