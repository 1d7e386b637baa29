//! The direct and indirect callers of a definition, and the tests among them.

use std::collections::{BTreeMap, BTreeSet};

use nuthatch_code::{Class, Facts, Kind, Place, Reference, resolve};

use crate::tree::code::ask::{Found, Missing, Wanted, hits, only, target};
use crate::tree::code::select::{Code, Hit, Selected};
use crate::tree::code::{AskCode, CodeAnswer, CodeReached, CodeTarget};
use crate::tree::path::lies_at;

/// Steps within which a test counts as one of a definition.
const TEST_DEPTH: u32 = 4;

/// A definition by its file and its name.
type Symbol = (String, String);

/// Finds the callers of a name's definitions, step by step. A step that may lead elsewhere is listed but not followed
/// further.
pub(super) fn impact(code: &mut Code<'_>, ask: &AskCode, wanted: &Wanted, depth: u32) -> Found<CodeAnswer> {
    let names = only(&wanted.name);
    let hits = hits!(code.select(Some(&names))?);
    let first = code.candidates(&hits, &names)?.remove(&wanted.name).unwrap_or_default();
    let mut frontier: BTreeMap<Symbol, Class> = BTreeMap::new();
    for candidate in first.iter().filter(|one| wanted.means(one)) {
        frontier.insert((candidate.path.clone(), candidate.qualified.clone()), Class::Certain);
    }
    let mut answer = CodeAnswer::default();
    let mut seen: BTreeSet<Symbol> = frontier.keys().cloned().collect();
    let files = code.files;
    for step in 1..=depth {
        if frontier.is_empty() || answer.truncated {
            break;
        }
        let mut reached = match callers_of(code, &frontier)? {
            Ok(reached) => reached,
            Err(missing) => return Ok(Err(missing)),
        };
        reached.retain(|symbol, _| !seen.contains(symbol));
        frontier = BTreeMap::new();
        let mut found: Vec<_> = reached.into_iter().collect();
        found.sort_by(|one, other| (one.1.class, &one.0).cmp(&(other.1.class, &other.0)));
        for (symbol, mut place) in found {
            place.depth = step;
            let is_sure = matches!(place.class, Class::Certain | Class::Unique);
            if is_sure {
                seen.insert(symbol.clone());
                if place.kind.is_some() {
                    frontier.insert(symbol, place.class);
                }
            }
            if !lies_at(&ask.below, &place.definition.path) {
                continue;
            }
            if answer.reached.len() == ask.limit {
                answer.truncated = true;
                break;
            }
            answer.reached.push(place);
        }
    }
    code.files = files;
    answer.reached = without_repetition(answer.reached);
    Ok(Ok(answer))
}

/// Each definition once, where it is nearest and surest.
fn without_repetition(reached: Vec<CodeReached>) -> Vec<CodeReached> {
    let mut best: BTreeMap<(String, String), (u32, Class)> = BTreeMap::new();
    let key = |one: &CodeReached| (one.definition.path.clone(), one.definition.name.clone());
    for one in &reached {
        let known = best.entry(key(one)).or_insert((one.depth, one.class));
        if (one.class, one.depth) < (known.1, known.0) {
            *known = (one.depth, one.class);
        }
    }
    let is_best = |one: &CodeReached| best.get(&key(one)) == Some(&(one.depth, one.class));
    reached.into_iter().filter(is_best).collect()
}

/// Returns the users of a step's definitions, by the definition that encloses each use.
fn callers_of(code: &mut Code<'_>, frontier: &BTreeMap<Symbol, Class>) -> Found<BTreeMap<Symbol, CodeReached>> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = frontier.keys().map(|(_, name)| last(name)).collect();
    let hits: Vec<Hit> = match code.select(Some(&names))? {
        Selected::Hits(hits) => hits,
        Selected::Missing(sources, more) => return Ok(Err(Missing(sources, more))),
    };
    let candidates = code.candidates(&hits, &names)?;
    let using: Vec<Hit> = hits.into_iter().filter(|hit| hit.uses).collect();
    let mut reached: BTreeMap<Symbol, CodeReached> = BTreeMap::new();
    code.each(&using, &mut |hit, facts| {
        let place = Place { path: &hit.path, facts };
        for reference in &facts.references {
            let Some(candidates) = candidates.get(facts.name_meant(reference)) else { continue };
            let meaning = resolve(place, reference, candidates);
            let before = meaning.targets.iter().filter_map(|at| {
                let one = &candidates[*at];
                let class = frontier.get(&(one.path.clone(), one.qualified.clone()))?;
                Some((*class, one))
            });
            let Some((before, called)) = before.min_by_key(|(class, _)| *class) else { continue };
            let class = before.max(meaning.class);
            let calls = target(called).name;
            let found = place_of(hit, facts, reference, class, calls);
            let symbol = (found.definition.path.clone(), found.definition.name.clone());
            match reached.get(&symbol) {
                Some(known) if known.class <= class => {}
                _ => drop(reached.insert(symbol, found)),
            }
        }
        Ok(())
    })?;
    Ok(Ok(reached))
}

fn place_of(hit: &Hit, facts: &Facts, reference: &Reference, class: Class, calls: String) -> CodeReached {
    let within = reference.within.and_then(|at| Some((at, facts.definitions.get(at as usize)?)));
    let name = within.map(|(at, _)| facts.qualified_name(at as usize)).unwrap_or_default();
    let line = within.map_or(1, |(_, definition)| definition.line);
    let is_test = is_test(&hit.path, &name);
    CodeReached {
        definition: CodeTarget { path: hit.path.clone(), line, name },
        kind: within.map(|(_, definition)| definition.kind),
        depth: 0,
        class,
        calls,
        line: reference.line,
        is_test,
    }
}

/// Whether a definition looks like a test: by its own name, by those around it, or by its path.
fn is_test(path: &str, name: &str) -> bool {
    let is_test_part = |part: &str| {
        let part = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
        matches!(&*part, "test" | "tests" | "spec" | "__tests__")
            || part.starts_with("test_")
            || part.ends_with("_test")
    };
    let is_test_file = path.rsplit('/').next().is_some_and(|file| {
        file.contains(".test.")
            || file.contains(".spec.")
            || file.split('.').next().is_some_and(|stem| stem.ends_with("Test") || stem.ends_with("Tests"))
    });
    let is_test_name =
        name.split('.').any(|part| part.starts_with("test_") || part.starts_with("Test") || part == "tests");
    is_test_file || is_test_name || path.split('/').any(is_test_part)
}

/// Tests among what reaches the definitions of a name in four steps.
pub(super) fn tests(code: &mut Code<'_>, ask: &AskCode, wanted: &Wanted) -> Found<CodeAnswer> {
    let all = AskCode { limit: super::CODE_LIMIT_MAX, ..ask.clone() };
    let mut answer = match impact(code, &all, wanted, TEST_DEPTH)? {
        Ok(answer) => answer,
        Err(missing) => return Ok(Err(missing)),
    };
    let is_callable = |kind: Option<Kind>| kind.is_none_or(|kind| matches!(kind, Kind::Function | Kind::Method));
    answer.reached.retain(|one| one.is_test && is_callable(one.kind));
    answer.truncated |= answer.reached.len() > ask.limit;
    answer.reached.truncate(ask.limit);
    Ok(Ok(answer))
}

#[cfg(test)]
mod tests_of_names {
    use super::is_test;

    #[test]
    fn tests_are_known_by_their_names_and_paths() {
        for (path, name) in [
            ("tests/a.rs", "run"),
            ("src/a.rs", "tests.run"),
            ("a/test_b.py", "run"),
            ("a/b.py", "test_run"),
            ("a/b_test.go", "Run"),
            ("a/b.spec.ts", "run"),
            ("a/IndexTest.java", "run"),
        ] {
            assert!(is_test(path, name), "{path} {name}");
        }
        assert!(!is_test("src/latest.rs", "attest"));
    }
}
