//! The facts about one source file: its definitions, references and imports.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Language;
use crate::scip::Symbols;

const HEAD_BYTES_MAX: u32 = 2 << 10;
const SIGNATURE_CHARS_MAX: usize = 200;

/// The version of what is found in a file and of how it is spelt. Facts of another version are derived again.
pub const FACTS_VERSION: u8 = 1;

/// How a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// All of it fits the grammar.
    Whole,
    /// Parts of it do not: what stands there may be missing.
    WithErrors,
    /// A bound of the parser ended it (its size, its nesting, its work): nothing is known of it.
    Unparsed,
}

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "their names say everything")]
pub enum Kind {
    Function,
    /// A function of a type.
    Method,
    /// A function or method without its body: a prototype, or a signature in an interface.
    Declaration,
    Class,
    Struct,
    Enum,
    Union,
    /// A trait, an interface or a protocol.
    Interface,
    /// Another name of a type.
    Type,
    Module,
    Macro,
    Constant,
    Variable,
    /// A variable of a type.
    Field,
    /// One of the values of an enumeration.
    Variant,
}

/// The way in which a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// A call, or the making of an object.
    Call,
    /// The use of a macro, where macros have a syntax of their own.
    Macro,
    /// A type that is extended or implemented.
    Inherit,
    /// Any other naming of a type.
    Type,
    /// Any other naming: a function that is handed over, a constant that is read.
    Value,
}

/// The receiver of a reference: whatever precedes its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// Nothing: `f()`.
    None,
    /// The object or the type that the reference stands in: `self.f()`, `this.f()`, `Self::f()`.
    Own,
    /// The base of the type that contains the reference: `super().f()`, `super.f()`.
    Base,
    /// Names with what joins them: `os.path` of `os.path.join()`, `Index` of `Index::new()`.
    Name(String),
    /// Whatever else has a value: `a().f()`, `a[0].f()`, `self.a.f()`.
    Expression,
}

/// Something that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// As it is spelt.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The definition that it stands in, as an index.
    pub parent: Option<u32>,
    /// The type to which it belongs: the class, the type of the `impl`, the type of the receiver.
    pub owner: Option<String>,
    /// Types that it extends or implements.
    pub bases: Vec<String>,
    /// Cannot be named in another file (`static` in C).
    pub is_private: bool,
    /// The innermost function that it stands in, named or not, by its first byte and the byte behind its last: it cannot be
    /// named outside of it.
    pub function: Option<(u32, u32)>,
    /// The first byte, and the byte behind the last.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// Where its head ends and its body begins, in bytes from the beginning of the file.
    pub head_end: u32,
    /// The line of its name, from 1.
    pub line: u32,
    /// Its last line.
    pub line_end: u32,
}

/// A place where a name is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// As it is spelt.
    pub name: String,
    /// How it is used.
    pub how: Use,
    /// The receiver before its name.
    pub receiver: Receiver,
    /// The innermost definition that it stands in, as an index.
    pub within: Option<u32>,
    /// The name, or the first name of the receiver, is that of a parameter or of a variable of a function.
    pub is_local: bool,
    /// From 1.
    pub line: u32,
    /// Where its name begins, in bytes.
    pub at: u32,
}

/// A name that a file takes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// As it is spelt: `os.path`, `./util`, `crate::tree`, `net/http`, `linux/list.h`.
    pub module: String,
    /// The imported name; `None` for the module itself.
    pub name: Option<String>,
    /// Under which name it is known here; `None` where that is the last part of the module.
    pub alias: Option<String>,
    /// Everything of it is taken.
    pub is_wildcard: bool,
    /// From 1.
    pub line: u32,
}

/// The facts about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its language.
    pub language: Language,
    /// How it was read.
    pub reading: Reading,
    /// In the order of their beginnings, outer ones first.
    pub definitions: Vec<Definition>,
    /// In the order of their places.
    pub references: Vec<Reference>,
    /// In the order of their lines.
    pub imports: Vec<Import>,
    /// The meanings of the file's names according to a type-aware indexer. Not part of the encoded form.
    pub symbols: Option<Symbols>,
}

impl Facts {
    /// Of a file of which nothing is known.
    pub fn unparsed(language: Language) -> Self {
        let (definitions, references, imports) = Default::default();
        Self { language, reading: Reading::Unparsed, definitions, references, imports, symbols: None }
    }

    /// The names of the definitions around one, and its own: `Index.search`. At most 16 deep.
    pub fn qualified_name(&self, at: usize) -> String {
        let Some(definition) = self.definitions.get(at) else { return String::new() };
        let mut names = vec![definition.name.as_str()];
        let mut inner = definition;
        for _ in 0..16 {
            let parent = inner.parent.and_then(|parent| self.definitions.get(parent as usize));
            if let Some(owner) = inner.owner.as_deref().filter(|owner| parent.is_none_or(|up| up.name != **owner)) {
                names.push(owner);
            }
            let Some(parent) = parent else { break };
            names.push(&parent.name);
            inner = parent;
        }
        names.reverse();
        names.join(".")
    }
}

impl Definition {
    /// Where its head stands in the file, at most 2 KiB of it.
    pub fn head_range(&self) -> Range<u32> {
        self.start..self.head_end.clamp(self.start, self.start.saturating_add(HEAD_BYTES_MAX))
    }

    /// Its head, which the caller has read, in one line with single blanks and at most 200 characters.
    pub fn signature(&self, head: &[u8]) -> String {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.split_whitespace().collect();
        words.join(" ").trim_end_matches(['{', '=']).trim_end().chars().take(SIGNATURE_CHARS_MAX).collect()
    }

    /// Something that can be called.
    pub fn is_callable(&self) -> bool {
        matches!(self.kind, Kind::Function | Kind::Method | Kind::Declaration | Kind::Macro)
    }

    /// Something that has members.
    pub fn is_type(&self) -> bool {
        matches!(self.kind, Kind::Class | Kind::Struct | Kind::Enum | Kind::Union | Kind::Interface | Kind::Type)
    }
}
