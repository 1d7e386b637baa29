//! Definitions, references, callers, callees, outlines and imports.

use std::collections::BTreeSet;

use nuthatch_code::{
    Candidate, Class, Definition, Facts, Family, Place, Receiver, Reference, Use, may_be_module, resolve,
};

use crate::kv::Rows;
use crate::tree::code::kept::{Loose, Source};
use crate::tree::code::select::{Code, Hit, Selected, paths};
use crate::tree::code::{
    AskCode, CODE_DEPTH_MAX, CODE_LIMIT_MAX, CodeAnswer, CodeDefinition, CodeFiles, CodeImport, CodeQuestion, CodeSite,
    CodeTarget, impact, map,
};
use crate::tree::path::{check_path, check_place, lies_at};
use crate::tree::{ContentId, content};
use crate::{Error, Result};

/// Targets of one site that an answer names.
const TARGETS_MAX: usize = 20;

/// The outcome of one look at the tree.
pub(crate) enum Step {
    Answered(Box<CodeAnswer>),
    /// The facts of these sources have to be found first, and those of `more` further files.
    Missing {
        sources: Vec<Source>,
        more: u64,
    },
}

/// Answers from what is kept and from `loose`, or says what is missing.
pub(crate) fn step(rows: &dyn Rows, ask: &AskCode, loose: &Loose) -> Result<Step> {
    check(ask)?;
    let mut code = Code::of(rows, ask, loose)?;
    let answer = match &ask.question {
        CodeQuestion::Definitions(name) => definitions(&mut code, ask, &Wanted::of(name)?),
        CodeQuestion::References(name) => sites(&mut code, ask, &Wanted::of(name)?, |_| true),
        CodeQuestion::Callers(name) => sites(&mut code, ask, &Wanted::of(name)?, is_call),
        CodeQuestion::Callees(name) => callees(&mut code, ask, &Wanted::of(name)?),
        CodeQuestion::Outline(path) => outline(&mut code, ask, path),
        CodeQuestion::Imports(path) => imports(&mut code, ask, path),
        CodeQuestion::Impact(name, depth) => impact::impact(&mut code, ask, &Wanted::of(name)?, *depth),
        CodeQuestion::Tests(name) => impact::tests(&mut code, ask, &Wanted::of(name)?),
        CodeQuestion::Map(tokens) => map::map(&mut code, ask, *tokens),
    }?;
    Ok(match answer {
        Ok(mut answer) => {
            answer.files = code.files;
            Step::Answered(Box::new(answer))
        }
        Err(Missing(sources, more)) => Step::Missing { sources, more },
    })
}

fn check(ask: &AskCode) -> Result<()> {
    check_place(&ask.below)?;
    if ask.limit == 0 || ask.limit > CODE_LIMIT_MAX {
        let why = format!("an answer cannot have {} entries; ask for 1 to {CODE_LIMIT_MAX}", ask.limit);
        return Err(Error::invalid(why));
    }
    match &ask.question {
        CodeQuestion::Impact(_, depth) if *depth == 0 || *depth > CODE_DEPTH_MAX => {
            Err(Error::invalid(format!("an impact of {depth} steps is none; ask for 1 to {CODE_DEPTH_MAX}")))
        }
        CodeQuestion::Map(0) => Err(Error::invalid("a map of 0 tokens is none; ask for 1 or more")),
        _ => Ok(()),
    }
}

/// Facts that have to be found first.
pub(super) struct Missing(pub Vec<Source>, pub u64);

/// An answer, unless something is missing.
pub(super) type Found<T> = Result<std::result::Result<T, Missing>>;

/// Goes on with what was selected, or returns what is missing.
macro_rules! hits {
    ($selected:expr) => {
        match $selected {
            Selected::Hits(hits) => hits,
            Selected::Missing(sources, more) => return Ok(Err(Missing(sources, more))),
        }
    };
}
pub(super) use hits;

/// A name as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    path: Option<String>,
    around: Vec<String>,
    pub name: String,
}

impl Wanted {
    fn of(text: &str) -> Result<Self> {
        let (path, name) = match text.rsplit_once('#') {
            Some((path, name)) if !path.is_empty() => (Some(path.to_owned()), name),
            _ => (None, text),
        };
        let mut around: Vec<String> = name.replace("::", ".").split('.').map(str::to_owned).collect();
        match around.pop().filter(|name| !name.is_empty()) {
            Some(name) if around.iter().all(|part| !part.is_empty()) => Ok(Self { path, around, name }),
            _ => {
                let why = format!("{text:?} names nothing; give a name, as in search, Index.search or src/a.rs#search");
                Err(Error::invalid(why))
            }
        }
    }

    /// Whether a definition of that name is meant.
    pub fn means(&self, candidate: &Candidate) -> bool {
        let is_path = self.path.as_deref().is_none_or(|path| {
            candidate.path.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        let mut around: Vec<&str> = candidate.qualified.split('.').collect();
        around.pop();
        is_path && around.ends_with(&self.around.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

pub(super) fn is_call(how: Use) -> bool {
    matches!(how, Use::Call | Use::Macro)
}

pub(super) fn only(name: &str) -> BTreeSet<String> {
    [name.to_owned()].into()
}

pub(super) fn target(candidate: &Candidate) -> CodeTarget {
    CodeTarget { path: candidate.path.clone(), line: candidate.definition.line, name: candidate.qualified.clone() }
}

/// A definition with its signature.
pub(super) fn described(code: &Code<'_>, id: &ContentId, candidate: &Candidate) -> Result<CodeDefinition> {
    let definition = &candidate.definition;
    let head = definition.head_range();
    let head = content::read(code.rows, id, head.start.into(), head.len())?.unwrap_or_default();
    Ok(CodeDefinition {
        path: candidate.path.clone(),
        name: candidate.qualified.clone(),
        kind: definition.kind,
        language: candidate.language,
        line: definition.line,
        line_end: definition.line_end,
        signature: definition.signature(&head),
    })
}

/// The candidates that are meant, described; `true` when there are more.
fn meant(
    code: &Code<'_>,
    ask: &AskCode,
    wanted: &Wanted,
    hits: &[Hit],
    candidates: &[Candidate],
) -> Result<(Vec<CodeDefinition>, bool)> {
    let mut found = Vec::new();
    for candidate in candidates.iter().filter(|one| wanted.means(one) && lies_at(&ask.below, &one.path)) {
        if found.len() == ask.limit {
            return Ok((found, true));
        }
        if let Ok(at) = hits.binary_search_by(|hit| hit.path.as_str().cmp(&candidate.path)) {
            found.push(described(code, &hits[at].source.id, candidate)?);
        }
    }
    Ok((found, false))
}

fn definitions(code: &mut Code<'_>, ask: &AskCode, wanted: &Wanted) -> Found<CodeAnswer> {
    let names = only(&wanted.name);
    let hits = hits!(code.select(Some(&names))?);
    let candidates = code.candidates(&hits, &names)?.remove(&wanted.name).unwrap_or_default();
    let (definitions, truncated) = meant(code, ask, wanted, &hits, &candidates)?;
    Ok(Ok(CodeAnswer { definitions, truncated, ..CodeAnswer::default() }))
}

/// The places that use a name in one of some ways.
fn sites(code: &mut Code<'_>, ask: &AskCode, wanted: &Wanted, counts: fn(Use) -> bool) -> Found<CodeAnswer> {
    let names = only(&wanted.name);
    let hits = hits!(code.select(Some(&names))?);
    let candidates = code.candidates(&hits, &names)?.remove(&wanted.name).unwrap_or_default();
    let (definitions, mut truncated) =
        meant(code, &AskCode { below: String::new(), ..ask.clone() }, wanted, &hits, &candidates)?;
    let mut answer = CodeAnswer { definitions, ..CodeAnswer::default() };
    let using: Vec<Hit> = hits.into_iter().filter(|hit| hit.uses && lies_at(&ask.below, &hit.path)).collect();
    let is_defined = candidates.iter().any(|candidate| wanted.means(candidate));
    let mut listed: [Vec<CodeSite>; 3] = Default::default();
    code.each(&using, &mut |hit, facts| {
        let place = Place { path: &hit.path, facts };
        for reference in &facts.references {
            if facts.name_meant(reference) != wanted.name || !counts(reference.how) {
                continue;
            }
            let meaning = resolve(place, reference, &candidates);
            let is_meant = meaning.targets.iter().any(|at| wanted.means(&candidates[*at]));
            let list = match meaning.class {
                Class::Certain if is_meant => (&mut answer.counts.certain, Some(0)),
                Class::Unique if is_meant => (&mut answer.counts.unique, Some(1)),
                Class::Ambiguous if is_meant => (&mut answer.counts.ambiguous, Some(2)),
                Class::Outside => (&mut answer.counts.outside, (!is_defined).then_some(2)),
                _ => (&mut answer.counts.elsewhere, None),
            };
            *list.0 += 1;
            if let Some(list) = list.1 {
                match listed[list].len() < ask.limit {
                    true => listed[list].push(site(place, reference, meaning.class, &meaning.targets, &candidates)),
                    false => truncated = true,
                }
            }
        }
        Ok(())
    })?;
    answer.sites = listed.into_iter().flatten().collect();
    answer.truncated = truncated || answer.sites.len() > ask.limit;
    answer.sites.truncate(ask.limit);
    Ok(Ok(answer))
}

/// A place as it is told.
fn site(
    place: Place<'_>,
    reference: &Reference,
    class: Class,
    targets: &[usize],
    candidates: &[Candidate],
) -> CodeSite {
    let family = place.facts.language.family();
    let joint = if family == Family::Rust { "::" } else { "." };
    let own = if matches!(family, Family::Script | Family::Java | Family::C) { "this" } else { "self" };
    let name = match &reference.receiver {
        Receiver::None => reference.name.clone(),
        Receiver::Own => format!("{own}.{}", reference.name),
        Receiver::Name(before) => format!("{before}{joint}{}", reference.name),
        Receiver::Base => format!("super.{}", reference.name),
        Receiver::Expression => format!(".{}", reference.name),
    };
    CodeSite {
        path: place.path.into(),
        line: reference.line,
        name,
        how: reference.how,
        class,
        within: within(place.facts, reference),
        targets: targets.iter().take(TARGETS_MAX).map(|at| target(&candidates[*at])).collect(),
        targets_count: targets.len() as u32,
    }
}

fn within(facts: &Facts, reference: &Reference) -> Option<String> {
    reference.within.map(|within| facts.qualified_name(within as usize))
}

/// Returns the calls that the definitions of a name make.
fn callees(code: &mut Code<'_>, ask: &AskCode, wanted: &Wanted) -> Found<CodeAnswer> {
    let names = only(&wanted.name);
    let hits = hits!(code.select(Some(&names))?);
    let candidates = code.candidates(&hits, &names)?.remove(&wanted.name).unwrap_or_default();
    let (definitions, mut truncated) = meant(code, ask, wanted, &hits, &candidates)?;
    let is_meant = |one: &&Candidate| wanted.means(one) && lies_at(&ask.below, &one.path);
    let callers: Vec<&Candidate> = candidates.iter().filter(is_meant).collect();
    let paths: BTreeSet<&str> = callers.iter().map(|one| one.path.as_str()).collect();
    let holding: Vec<Hit> = hits.iter().filter(|hit| paths.contains(hit.path.as_str())).cloned().collect();
    let is_inside = |definition: &Definition, at: u32| (definition.start..definition.end).contains(&at);
    let mut called = BTreeSet::new();
    code.each(&holding, &mut |hit, facts| {
        for caller in callers.iter().filter(|one| one.path == hit.path) {
            let inside =
                facts.references.iter().filter(|one| is_call(one.how) && is_inside(&caller.definition, one.at));
            called.extend(inside.map(|one| facts.name_meant(one).to_owned()));
        }
        Ok(())
    })?;
    let files = code.files;
    let defining = hits!(code.select(Some(&called))?);
    let targets = code.candidates(&defining, &called)?;
    code.files = files;
    let mut answer = CodeAnswer { definitions, ..CodeAnswer::default() };
    code.each(&holding, &mut |hit, facts| {
        let place = Place { path: &hit.path, facts };
        for caller in callers.iter().filter(|one| one.path == hit.path) {
            for reference in &facts.references {
                if !is_call(reference.how) || !is_inside(&caller.definition, reference.at) {
                    continue;
                }
                let candidates = targets.get(facts.name_meant(reference)).map_or(&[][..], Vec::as_slice);
                let meaning = resolve(place, reference, candidates);
                *match meaning.class {
                    Class::Certain => &mut answer.counts.certain,
                    Class::Unique => &mut answer.counts.unique,
                    Class::Ambiguous => &mut answer.counts.ambiguous,
                    Class::Outside => &mut answer.counts.outside,
                } += 1;
                match answer.sites.len() < ask.limit {
                    true => answer.sites.push(site(place, reference, meaning.class, &meaning.targets, candidates)),
                    false => truncated = true,
                }
            }
        }
        Ok(())
    })?;
    answer.truncated = truncated;
    Ok(Ok(answer))
}

/// One file of source code, with what is known of it.
fn file(code: &mut Code<'_>, path: &str) -> Found<(Source, std::sync::Arc<Facts>)> {
    check_path(path)?;
    let none =
        || Error::not_found(format!("tree {:?} has no source file {path:?} in a language that is known", code.tree));
    let source = code.file(path)?.ok_or_else(none)?;
    let Some(facts) = code.facts_of(source)? else { return Ok(Err(Missing(vec![source], 0))) };
    let reading = facts.reading;
    code.files = CodeFiles {
        read: 1,
        with_errors: u64::from(reading == nuthatch_code::Reading::WithErrors),
        unparsed: u64::from(reading == nuthatch_code::Reading::Unparsed),
        pending: 0,
    };
    Ok(Ok((source, facts)))
}

fn outline(code: &mut Code<'_>, ask: &AskCode, path: &str) -> Found<CodeAnswer> {
    let (source, facts) = match file(code, path)? {
        Ok(found) => found,
        Err(missing) => return Ok(Err(missing)),
    };
    let mut answer = CodeAnswer { truncated: facts.definitions.len() > ask.limit, ..CodeAnswer::default() };
    for (index, definition) in facts.definitions.iter().enumerate().take(ask.limit) {
        let (qualified, definition) = (facts.qualified_name(index), definition.clone());
        let (path, language, index) = (path.to_owned(), facts.language, index as u32);
        let candidate = Candidate { path, language, index, qualified, definition, symbol: None };
        answer.definitions.push(described(code, &source.id, &candidate)?);
    }
    Ok(Ok(answer))
}

fn imports(code: &mut Code<'_>, ask: &AskCode, path: &str) -> Found<CodeAnswer> {
    let (_, facts) = match file(code, path)? {
        Ok(found) => found,
        Err(missing) => return Ok(Err(missing)),
    };
    let (paths, family) = (paths(code)?, facts.language.family());
    let mut answer = CodeAnswer { truncated: facts.imports.len() > ask.limit, ..CodeAnswer::default() };
    for import in facts.imports.iter().take(ask.limit) {
        let below = import.name.as_ref().map(|name| match family {
            Family::Rust => format!("{}::{name}", import.module),
            _ if import.module.ends_with('.') => format!("{}{name}", import.module),
            _ => format!("{}.{name}", import.module),
        });
        // The imported name may be a module itself.
        let files = [below.as_deref(), Some(&import.module)].into_iter().flatten().find_map(|module| {
            let fits = |file: &&String| {
                nuthatch_code::Language::of_path(file).is_some_and(|language| language.family() == family)
                    && may_be_module(family, module, path, file)
            };
            let files: Vec<String> = paths.iter().filter(fits).take(TARGETS_MAX).cloned().collect();
            (!files.is_empty()).then_some(files)
        });
        answer.imports.push(CodeImport {
            line: import.line,
            module: import.module.clone(),
            name: import.name.clone(),
            alias: import.alias.clone(),
            is_wildcard: import.is_wildcard,
            files: files.unwrap_or_default(),
        });
    }
    Ok(Ok(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_path_and_what_is_around_them() {
        let wanted = Wanted::of("src/a.rs#Index::search").unwrap();
        assert_eq!((wanted.path.as_deref(), &*wanted.name), (Some("src/a.rs"), "search"));
        assert_eq!(wanted.around, ["Index"]);
        assert_eq!(Wanted::of("#secret").unwrap().name, "#secret");
        for wrong in ["", ".", "a.", "::b", "a#"] {
            assert!(Wanted::of(wrong).is_err(), "{wrong}");
        }
    }
}
