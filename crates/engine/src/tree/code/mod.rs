//! Questions about source code: what defines a name, who uses it, who calls what, as of any moment of a tree.
//!
//! Facts hang on contents and are found once (`kept.rs`); what a name means is worked out when it is asked, against the
//! files that the tree has at that moment. Nothing about two files is stored, so a change of one touches nothing else.
//!
//! **Invariant:** every place that uses the requested name is counted, whatever it turns out to mean, and so is every
//! file of which nothing is known. Uncertain results are not presented as certain.

mod ask;
mod impact;
mod kept;
mod map;
mod select;
mod symbols;
#[cfg(test)]
mod tests;

use nuthatch_code::{Class, Kind, Language, Use};
use serde::{Deserialize, Serialize};

pub(crate) use ask::{Step, step};
pub(crate) use kept::{Loose, find_loose};
pub use symbols::{ImportSymbols, SymbolsImported};

use crate::tree::TreeAt;

/// Most bytes of source whose facts one call finds; the next one goes on.
pub(crate) const FOUND_AT_ONCE_BYTES: u64 = 64 << 20;
/// Most sites, definitions or steps of an answer.
pub const CODE_LIMIT_MAX: usize = 10_000;
/// Most steps backwards of an impact.
pub const CODE_DEPTH_MAX: u32 = 16;

/// A question about source code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskCode {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// Only what stands at or below this path is listed; what names mean is looked for in the whole tree. Empty for all.
    pub below: String,
    /// The question.
    pub question: CodeQuestion,
    /// Most definitions, sites or steps of the answer, 1 to 10,000. Counts are of all.
    pub limit: usize,
}

/// The question. A name may be that of a definition (`search`), with the names of its surroundings (`Index.search`,
/// `Index::search`), and with the end of its file's path and `#` before it (`src/index.rs#search`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeQuestion {
    /// The definitions of a name.
    Definitions(String),
    /// Every place that names it.
    References(String),
    /// The places that call it.
    Callers(String),
    /// The calls that it makes.
    Callees(String),
    /// The definitions of a file.
    Outline(String),
    /// The imports of a file.
    Imports(String),
    /// Its callers, their callers, and so on, up to this many steps.
    Impact(String, u32),
    /// Tests among what calls it in up to four steps: what looks like a test by its name or path.
    Tests(String),
    /// The definitions that matter most, within this many tokens.
    Map(u32),
}

/// An answer. The parts that a question does not ask for are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeAnswer {
    /// The definitions that the name means, or those of the file or the map; by path and line.
    pub definitions: Vec<CodeDefinition>,
    /// The places that use the name, or that the definition has calls in; by path and line, the surest first.
    pub sites: Vec<CodeSite>,
    /// The imports of a file.
    pub imports: Vec<CodeImport>,
    /// The direct and indirect callers of the definition, the nearest and surest first.
    pub reached: Vec<CodeReached>,
    /// How many sites there are, by what they mean.
    pub counts: CodeCounts,
    /// The files read for the answer.
    pub files: CodeFiles,
    /// There is more than the limit let through.
    pub truncated: bool,
}

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeDefinition {
    /// Its file.
    pub path: String,
    /// Its name with those of what is around it: `Index.search`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The language of the file.
    pub language: Language,
    /// The line of its name, from 1.
    pub line: u32,
    /// Its last line.
    pub line_end: u32,
    /// Its head in one line, at most 200 characters.
    pub signature: String,
}

/// A place that uses a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeSite {
    /// Its file.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// The name with what stands before it: `os.path.join`, `self.run` or `this.run`, and `.run` behind an expression.
    pub name: String,
    /// How it is used.
    pub how: Use,
    /// How sure its meaning is.
    pub class: Class,
    /// The definition that encloses it.
    pub within: Option<String>,
    /// The definitions that it may mean, 20 at most.
    pub targets: Vec<CodeTarget>,
    /// How many definitions it may mean.
    pub targets_count: u32,
}

/// A definition that a site may mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodeTarget {
    /// Its file.
    pub path: String,
    /// The line of its name, from 1.
    pub line: u32,
    /// As [`CodeDefinition::name`].
    pub name: String,
}

/// A name that a file takes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeImport {
    /// From 1.
    pub line: u32,
    /// As it is spelt.
    pub module: String,
    /// The imported name; `None` for the module itself.
    pub name: Option<String>,
    /// Under which name it is known in the file, where that is another one.
    pub alias: Option<String>,
    /// Everything of it is taken.
    pub is_wildcard: bool,
    /// Files of the tree that it may name; none for a module that is elsewhere.
    pub files: Vec<String>,
}

/// A definition from which calls lead to the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeReached {
    /// Itself.
    pub definition: CodeTarget,
    /// Its kind; `None` for a file, which calls outside of any definition.
    pub kind: Option<Kind>,
    /// Steps to what was asked for, from 1.
    pub depth: u32,
    /// The least sure step of the surest way.
    pub class: Class,
    /// The definition that this step calls.
    pub calls: String,
    /// The line of that call, from 1.
    pub line: u32,
    /// It looks like a test: by its name, by its path.
    pub is_test: bool,
}

/// Sites of a name, by what they mean. Together they are all places of the tree that use the name in the way that was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeCounts {
    /// Surely what was asked for.
    pub certain: u64,
    /// The only definition of the tree that they may mean.
    pub unique: u64,
    /// The requested definition, or another one.
    pub ambiguous: u64,
    /// Another definition of the same name.
    pub elsewhere: u64,
    /// Nothing in the tree: libraries, built-in names, values of variables.
    pub outside: u64,
}

/// Files behind an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFiles {
    /// Files in a language that is known.
    pub read: u64,
    /// Of these, those of which a part does not fit the grammar: something may be missing.
    pub with_errors: u64,
    /// Those of which nothing is known, because they are too large, too deep or no program.
    pub unparsed: u64,
    /// Those whose facts are still to be found: the answer is empty, and asking again goes on.
    pub pending: u64,
}
