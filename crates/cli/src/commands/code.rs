//! `nuthatch code`: definitions, references, callers and callees in the source code of a tree.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use nuthatch_link::{
    AskCode, CodeAnswer, CodeClass, CodeDefinition, CodeQuestion, CodeSite, CodeTarget, Error, TreeAt,
};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out, SOURCE, name, plain};
use crate::tree_at::inside;
use crate::units::count;

/// Files that were left out, of which so many are named.
const LEFT_OUT_SHOWN: usize = 10;

#[derive(Args)]
#[command(after_help = "\
A NAME is that of a definition (search), with what is around it (Index.search, Index::search), and
with the end of its file's path (src/index.rs#search). The first question about a tree reads its
files once.

Answers say how sure they are: certain, what the file itself says by its scopes and imports;
unique, the only definition of that name; ambiguous, one of several; outside, none of the tree's.
Exit codes: 0 something was found, 1 nothing.

nuthatch code def search --tree repo
nuthatch code callers Index.search --tree repo --as-of v1
nuthatch code map --tree repo --tokens 2000
nuthatch code import-scip index.scip --tree repo")]
pub struct Code {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Question(Question),
    /// Take in an index that an indexer with types has made (scip-python, scip-typescript, rust-analyzer scip)
    ///
    /// Its meanings of names take precedence in all answers. Files whose text does not match the index are skipped and
    /// listed.
    ImportScip(ImportScip),
}

#[derive(Subcommand)]
enum Question {
    /// The definitions of a name
    Def(Named),
    /// Every place that uses a name
    Refs(Named),
    /// The places that call it
    Callers(Named),
    /// Everything that it calls
    Callees(Named),
    /// The definitions of a file
    Outline(OfFile),
    /// The imports of a file
    Imports(OfFile),
    /// Its callers, their callers, and so on
    Impact(Impact),
    /// Tests that call it in up to four steps, by their names and paths: a guess
    Tests(Named),
    /// The definitions that matter most
    Map(Map),
}

#[derive(Args)]
struct ImportScip {
    /// The index
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tree
    #[arg(long, value_name = "NAME")]
    tree: String,
    /// Where in the tree the folder is that was indexed
    #[arg(long, value_name = "PATH", default_value = "")]
    below: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Named {
    /// The name of a definition
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct OfFile {
    /// A path in the tree
    #[arg(value_name = "PATH")]
    path: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Impact {
    /// The name of a definition
    #[arg(value_name = "NAME")]
    name: String,
    /// Steps, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 3)]
    depth: u32,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Map {
    /// About how many tokens the map may have; one is taken for four bytes
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    tokens: u32,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Place {
    /// The tree
    #[arg(long, value_name = "NAME")]
    tree: String,
    /// As it was: the name of a snapshot, a sequence or a time
    #[arg(long, value_name = "AS_OF")]
    as_of: Option<String>,
    /// List only what stands at or below this path; names are looked for in the whole tree
    #[arg(long, value_name = "PATH", default_value = "")]
    below: String,
    /// Entries of the answer, 1 to 10,000
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Question {
    fn parts(&self) -> (CodeQuestion, &Place) {
        match self {
            Self::Def(Named { name, place }) => (CodeQuestion::Definitions(name.clone()), place),
            Self::Refs(Named { name, place }) => (CodeQuestion::References(name.clone()), place),
            Self::Callers(Named { name, place }) => (CodeQuestion::Callers(name.clone()), place),
            Self::Callees(Named { name, place }) => (CodeQuestion::Callees(name.clone()), place),
            Self::Tests(Named { name, place }) => (CodeQuestion::Tests(name.clone()), place),
            Self::Outline(OfFile { path, place }) => (CodeQuestion::Outline(inside(path).into()), place),
            Self::Imports(OfFile { path, place }) => (CodeQuestion::Imports(inside(path).into()), place),
            Self::Impact(Impact { name, depth, place }) => (CodeQuestion::Impact(name.clone(), *depth), place),
            Self::Map(Map { tokens, place }) => (CodeQuestion::Map(*tokens), place),
        }
    }
}

impl Code {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let asked = match &self.command {
            Command::Question(question) => question,
            Command::ImportScip(import) => return import.run(globals, out),
        };
        let (question, place) = asked.parts();
        let database = folder::open(globals)?;
        let tree = database.existing_tree(&place.tree)?;
        let at = TreeAt { tree: place.tree.clone(), as_of: place.as_of.clone() };
        let ask = AskCode { at, below: inside(&place.below).into(), question, limit: place.limit };
        let answer = tree.code(&ask, |left| output::note(&format!("reading source code: {left} files are left")))?;
        if place.json {
            output::json(out, &answer)?;
        } else {
            asked.show(&answer, out)?;
            show_rest(&answer, out)?;
        }
        out.flush()?;
        database.close()?;
        let CodeAnswer { definitions, sites, imports, reached, .. } = &answer;
        let found = match asked {
            Question::Def(_) | Question::Outline(_) | Question::Map(_) => definitions.len(),
            Question::Refs(_) | Question::Callers(_) | Question::Callees(_) => sites.len(),
            Question::Imports(_) => imports.len(),
            Question::Impact(_) | Question::Tests(_) => reached.len(),
        };
        Ok(if found == 0 { Outcome::NothingFound } else { Outcome::Done })
    }
}

impl Question {
    fn show(&self, answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
        match self {
            Self::Def(_) => answer.definitions.iter().try_for_each(|one| show_definition(one, out)),
            Self::Refs(_) | Self::Callers(_) | Self::Callees(_) => {
                answer.sites.iter().try_for_each(|one| show_site(one, out))?;
                show_counts(answer, out)
            }
            Self::Outline(_) => answer.definitions.iter().try_for_each(|one| {
                let depth = one.name.matches('.').count() * 2;
                writeln!(out, "{DIM}{:>6}{DIM:#}  {:depth$}{}", one.line, "", plain(&one.signature))
            }),
            Self::Imports(_) => show_imports(answer, out),
            Self::Impact(_) | Self::Tests(_) => show_reached(answer, out),
            Self::Map(_) => show_map(answer, out),
        }
    }
}

impl ImportScip {
    fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let index = File::open(&self.file).map_err(|error| Error::io(&self.file, &error))?;
        let database = folder::open_to_write(globals)?;
        let tree = database.existing_tree(&self.tree)?;
        let report = tree.import_scip(BufReader::with_capacity(1 << 18, index), inside(&self.below))?;
        if self.json {
            output::json(out, &report)?;
        } else {
            writeln!(out, "Took in {} of {}.", count(report.names, "name"), count(report.files, "file"))?;
            for (paths, why) in [(&report.missing, "not in the tree"), (&report.changed, "another text in the tree")] {
                for path in paths.iter().take(LEFT_OUT_SHOWN) {
                    output::warning(&format!("{}: {why}", name(path)));
                }
                if let Some(more @ 1..) = paths.len().checked_sub(LEFT_OUT_SHOWN) {
                    output::warning(&format!("and {}: {why}; --json lists all", count(more as u64, "file")));
                }
            }
        }
        out.flush()?;
        database.close()?;
        Ok(if report.files == 0 { Outcome::NothingFound } else { Outcome::Done })
    }
}

fn spelt(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn show_definition(one: &CodeDefinition, out: &mut Out) -> std::io::Result<()> {
    let kind = spelt(&one.kind);
    writeln!(out, "{SOURCE}{}:{}{SOURCE:#}  {kind} {BOLD}{}{BOLD:#}", name(&one.path), one.line, plain(&one.name))?;
    writeln!(out, "    {}", plain(&one.signature))
}

fn show_site(one: &CodeSite, out: &mut Out) -> std::io::Result<()> {
    let within = one.within.as_deref().map(|within| format!(" in {}", plain(within))).unwrap_or_default();
    let (path, class, called) = (name(&one.path), spelt(&one.class), plain(&one.name));
    write!(out, "{SOURCE}{path}:{}{SOURCE:#}  {class:<9}  {called}{within}", one.line)?;
    let target = |one: &CodeTarget| format!("{}:{} {}", name(&one.path), one.line, plain(&one.name));
    match &one.targets[..] {
        [] => writeln!(out),
        [only] => writeln!(out, "  {DIM}-> {}{DIM:#}", target(only)),
        [first, ..] => {
            let more = one.targets_count - 1;
            writeln!(out, "  {DIM}-> {} or {more} others{DIM:#}", target(first))
        }
    }
}

fn show_counts(answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
    let counts = &answer.counts;
    let all = counts.certain + counts.unique + counts.ambiguous + counts.elsewhere + counts.outside;
    writeln!(
        out,
        "{DIM}{all} of that name: {} certain, {} unique, {} ambiguous, {} of other definitions, {} outside{DIM:#}",
        counts.certain, counts.unique, counts.ambiguous, counts.elsewhere, counts.outside
    )
}

fn show_imports(answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
    for one in &answer.imports {
        let taken = if one.is_wildcard { Some("*") } else { one.name.as_deref() };
        let taken = taken.map_or(String::new(), |taken| format!(" {taken}"));
        let alias = one.alias.as_deref().map_or(String::new(), |alias| format!(" as {alias}"));
        let files: Vec<String> = one.files.iter().map(|file| name(file)).collect();
        let files = if files.is_empty() { "outside".into() } else { files.join(", ") };
        let import = plain(&format!("{}{taken}{alias}", one.module));
        writeln!(out, "{:>6}  {import}  {SOURCE}{files}{SOURCE:#}", one.line)?;
    }
    Ok(())
}

fn show_reached(answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
    for one in &answer.reached {
        let user = if one.definition.name.is_empty() { "(the file)".into() } else { plain(&one.definition.name) };
        let (path, line, class) = (name(&one.definition.path), one.line, spelt(&one.class));
        let used = plain(&one.calls);
        writeln!(
            out,
            "{:>3}  {class:<9}  {SOURCE}{path}:{line}{SOURCE:#}  {BOLD}{user}{BOLD:#} uses {used}",
            one.depth
        )?;
    }
    if answer.reached.iter().any(|one| one.class == CodeClass::Ambiguous) {
        writeln!(out, "{DIM}Steps that are ambiguous were not followed.{DIM:#}")?;
    }
    Ok(())
}

fn show_map(answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
    let mut path = "";
    for one in &answer.definitions {
        if one.path != path {
            path = &one.path;
            writeln!(out, "{SOURCE}{}{SOURCE:#}", name(path))?;
        }
        writeln!(out, "{DIM}{:>6}{DIM:#}: {}", one.line, plain(&one.signature))?;
    }
    Ok(())
}

/// Tells the user what may be missing from the answer.
fn show_rest(answer: &CodeAnswer, out: &mut Out) -> std::io::Result<()> {
    if answer.truncated {
        writeln!(out, "{DIM}There is more: give a greater --limit, or --below.{DIM:#}")?;
    }
    let files = &answer.files;
    if files.unparsed > 0 || files.with_errors > 0 {
        writeln!(
            out,
            "{DIM}Of {} files, {} could not be parsed, and parts of {}.{DIM:#}",
            files.read, files.unparsed, files.with_errors
        )?;
    }
    Ok(())
}
