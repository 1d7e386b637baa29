//! The definitions that matter most in a tree, within a number of tokens.
//!
//! Files are nodes; a file that uses a name has an edge to each file that defines it, and PageRank says which files matter.
//! A file's rank flows to the names that others use of it. The idea, and the weights of names, are those of aider's map.
//! Approximated: edges go by names and not by what they mean, and a token is taken for four bytes.

use std::collections::{BTreeMap, HashMap};

use nuthatch_code::{Candidate, Family};

use crate::Result;
use crate::tree::code::ask::{Found, Missing, described, hits};
use crate::tree::code::select::{Code, Selected};
use crate::tree::code::{AskCode, CodeAnswer};
use crate::tree::path::lies_at;

const BYTES_A_TOKEN: usize = 4;
const DAMPING: f64 = 0.85;
const ROUNDS: usize = 30;
/// Names that more files than this define say nothing about any of them.
const DEFINING_FILES_MAX: usize = 20;

/// A name in a family of languages, by hash.
type Name = (Family, u64);

#[derive(Default)]
struct Named {
    /// Files that define it, each once.
    defining: Vec<u32>,
    weight: f64,
    /// Files that use it, with how often.
    using: Vec<(u32, u32)>,
}

pub(super) fn map(code: &mut Code<'_>, ask: &AskCode, tokens: u32) -> Found<CodeAnswer> {
    let mut files = hits!(code.select(None)?);
    files.retain(|hit| lies_at(&ask.below, &hit.path));
    let mut names: HashMap<Name, Named> = HashMap::new();
    let mut number = 0;
    code.each(&files, &mut |_, facts| {
        let family = facts.language.family();
        for definition in facts.definitions.iter().filter(|one| one.is_callable() || one.is_type()) {
            let named = names.entry((family, hash(&definition.name))).or_default();
            if named.defining.last() != Some(&number) {
                named.defining.push(number);
            }
            named.weight = weight(&definition.name);
        }
        for reference in &facts.references {
            let named = names.entry((family, hash(&reference.name))).or_default();
            match named.using.last_mut() {
                Some((file, count)) if *file == number => *count += 1,
                _ => named.using.push((number, 1)),
            }
        }
        number += 1;
        Ok(())
    })?;
    names.retain(|_, named| (1..=DEFINING_FILES_MAX).contains(&named.defining.len()) && !named.using.is_empty());
    let ranked = ranked_definitions(&names, files.len());
    let mut by_file: BTreeMap<u32, Vec<(Name, f64)>> = BTreeMap::new();
    for ((file, name), rank) in ranked {
        by_file.entry(file).or_default().push((name, rank));
    }
    fill(code, ask, tokens, &files, by_file).map(Ok)
}

fn hash(name: &str) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// Long names made of words say more than short ones, and names that begin with an underscore are for their file alone.
fn weight(name: &str) -> f64 {
    let is_compound = name.contains('_') || name.chars().skip(1).any(char::is_uppercase);
    let mut weight = if is_compound && name.len() >= 8 { 10.0 } else { 1.0 };
    if name.starts_with('_') {
        weight *= 0.1;
    }
    weight
}

/// Names of files by how much rank flows to them, the greatest first.
fn ranked_definitions(names: &HashMap<Name, Named>, files: usize) -> Vec<((u32, Name), f64)> {
    let mut sorted: Vec<(&Name, &Named)> = names.iter().collect();
    sorted.sort_by_key(|(name, _)| (name.0 as u8, name.1)); // sums do not depend on the order of a table
    let mut edges: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let mut flows = Vec::new();
    for (name, named) in sorted {
        let rare = if named.defining.len() > 5 { 0.1 } else { 1.0 };
        for (using, count) in &named.using {
            for defining in named.defining.iter().filter(|defining| *defining != using) {
                let weight = named.weight * rare * f64::from(*count).sqrt() / named.defining.len() as f64;
                *edges.entry((*using, *defining)).or_default() += weight;
                flows.push((*using, *defining, *name, weight));
            }
        }
    }
    let mut out = vec![0.0; files];
    edges.iter().for_each(|((from, _), weight)| out[*from as usize] += weight);
    let mut rank = vec![1.0 / files.max(1) as f64; files];
    for _ in 0..ROUNDS {
        let lost: f64 = (0..files).filter(|file| out[*file] == 0.0).map(|file| rank[file]).sum();
        let even = (1.0 - DAMPING + DAMPING * lost) / files.max(1) as f64;
        let mut next = vec![even; files];
        for ((from, to), weight) in &edges {
            next[*to as usize] += DAMPING * rank[*from as usize] * weight / out[*from as usize];
        }
        rank = next;
    }
    let mut flown: BTreeMap<(u32, u8, u64), (Name, f64)> = BTreeMap::new();
    for (using, defining, name, weight) in flows {
        let flow = rank[using as usize] * weight / out[using as usize];
        flown.entry((defining, name.0 as u8, name.1)).or_insert((name, 0.0)).1 += flow;
    }
    let mut ranked: Vec<_> = flown.into_iter().map(|((file, ..), (name, rank))| ((file, name), rank)).collect();
    ranked.sort_by(|one, other| {
        other.1.total_cmp(&one.1).then(one.0.0.cmp(&other.0.0)).then(one.0.1.1.cmp(&other.0.1.1))
    });
    ranked.truncate(super::CODE_LIMIT_MAX);
    ranked
}

/// Definitions by rank until the tokens are used up; then by file and line.
fn fill(
    code: &Code<'_>,
    ask: &AskCode,
    tokens: u32,
    files: &[super::select::Hit],
    by_file: BTreeMap<u32, Vec<(Name, f64)>>,
) -> Result<CodeAnswer> {
    let chosen: Vec<_> = by_file.keys().filter_map(|file| files.get(*file as usize)).cloned().collect();
    let mut wanted = by_file.values();
    let mut found: Vec<(f64, usize, Candidate)> = Vec::new();
    let mut place = 0;
    code.each(&chosen, &mut |hit, facts| {
        let ranks: HashMap<Name, f64> = wanted.next().into_iter().flatten().copied().collect();
        for (index, definition) in facts.definitions.iter().enumerate() {
            let rank = ranks.get(&(facts.language.family(), hash(&definition.name)));
            if let Some(rank) = rank.filter(|_| definition.is_callable() || definition.is_type()) {
                let (qualified, definition) = (facts.qualified_name(index), definition.clone());
                let (path, language, index) = (hit.path.clone(), facts.language, index as u32);
                found.push((*rank, place, Candidate { path, language, index, qualified, definition, symbol: None }));
            }
        }
        place += 1;
        Ok(())
    })?;
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut answer = CodeAnswer { truncated: found.len() > ask.limit, ..CodeAnswer::default() };
    let (mut left, mut named) = (tokens as usize * BYTES_A_TOKEN, std::collections::BTreeSet::new());
    for (_, place, candidate) in found.into_iter().take(ask.limit) {
        let described = described(code, &chosen[place].source.id, &candidate)?;
        // `line: signature` below a line with the path.
        let head = if named.contains(&place) { 0 } else { described.path.len() + 2 };
        let bytes = described.signature.len() + 9 + head;
        if bytes > left {
            answer.truncated = true;
            break;
        }
        left -= bytes;
        named.insert(place);
        answer.definitions.push(described);
    }
    answer.definitions.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    Ok(answer)
}
