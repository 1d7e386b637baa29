//! The possible meanings of a reference among the definitions of its name in a tree, and their certainty.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::facts::{Definition, Facts, Import, Kind, Receiver, Reference, Use};
use crate::module::{self, Fit};
use crate::scip::Symbol;
use crate::{Family, Language};

/// How sure a meaning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The file says what is meant: by its own scopes, by an import, by naming the type or the module.
    Certain,
    /// Nothing says what is meant, and the tree has one definition that it may be.
    Unique,
    /// Nothing says what is meant, and there are several, all of which are named.
    Ambiguous,
    /// Nothing in the tree is meant: a library, a built-in name, the value of a variable.
    Outside,
}

/// A definition that a reference of the same name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: String,
    /// The language of the file.
    pub language: Language,
    /// Its index among the definitions of the file.
    pub index: u32,
    /// As [`Facts::qualified_name`] says.
    pub qualified: String,
    /// Itself.
    pub definition: Definition,
    /// The symbol that a type-aware indexer assigns to it.
    pub symbol: Option<Symbol>,
}

/// The file of a reference.
#[derive(Clone, Copy, Debug)]
pub struct Place<'f> {
    /// Its path.
    pub path: &'f str,
    /// The facts about it.
    pub facts: &'f Facts,
}

/// The possible meanings of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// How sure that is.
    pub class: Class,
    /// Of the candidates, those that it may be; none when it is outside.
    pub targets: Vec<usize>,
}

impl Facts {
    /// The name by which what a reference means is defined: another one when the file has imported it under this name.
    pub fn name_meant<'f>(&'f self, reference: &'f Reference) -> &'f str {
        let is_plain = reference.receiver == Receiver::None && !reference.is_local;
        let renamed = self.imports.iter().find(|import| is_plain && import.alias.as_deref() == Some(&reference.name));
        match renamed.and_then(|import| import.name.as_deref()) {
            None | Some("default") => &reference.name,
            Some(name) => name,
        }
    }
}

/// Returns the possible meanings of a reference. `candidates` are all definitions in the tree of the name that
/// [`Facts::name_meant`] returns.
pub fn resolve(place: Place<'_>, reference: &Reference, candidates: &[Candidate]) -> Meaning {
    let family = place.facts.language.family();
    let fits = |candidate: &Candidate| {
        let is_same_file = candidate.path == place.path;
        candidate.language.family() == family
            && (is_same_file || !candidate.definition.is_private)
            && is_used_so(family, reference.how, candidate.definition.kind)
    };
    let mut among: Vec<usize> = (0..candidates.len()).filter(|at| fits(&candidates[*at])).collect();
    if let Some(symbol) = place.facts.symbols.as_ref().and_then(|symbols| symbols.meant(reference)) {
        let is_it = |at: &usize| {
            let candidate = &candidates[*at];
            candidate.symbol == Some(symbol) && (!symbol.is_local() || candidate.path == place.path)
        };
        let targets: Vec<usize> = (0..candidates.len()).filter(is_it).collect();
        if !targets.is_empty() {
            return Meaning { class: Class::Certain, targets };
        }
        // Of another package it is none of these. Within one, an indexer may have spelt a symbol in two ways.
        among.retain(|at| match candidates[*at].symbol {
            _ if symbol.is_local() => false,
            Some(other) => other.package == symbol.package,
            None => true,
        });
    }
    let resolving = Resolving { place, family, reference, candidates, among };
    match &reference.receiver {
        _ if resolving.among.is_empty() => outside(),
        Receiver::None if reference.is_local => outside(),
        Receiver::None => resolving.plain(),
        Receiver::Own => resolving.own(),
        Receiver::Base => resolving.of_base(),
        Receiver::Name(_) if reference.is_local => resolving.member(),
        Receiver::Name(name) => resolving.named(name),
        Receiver::Expression => resolving.member(),
    }
}

fn outside() -> Meaning {
    Meaning { class: Class::Outside, targets: Vec::new() }
}

/// Whether what is used so can be of this kind.
fn is_used_so(family: Family, how: Use, kind: Kind) -> bool {
    match how {
        Use::Macro => kind == Kind::Macro,
        Use::Call => kind != Kind::Module && (kind != Kind::Macro || family == Family::C),
        Use::Type | Use::Inherit => {
            !matches!(kind, Kind::Function | Kind::Method | Kind::Declaration | Kind::Module)
                && (kind != Kind::Macro || family == Family::C)
        }
        Use::Value => kind != Kind::Macro || family == Family::C,
    }
}

struct Resolving<'a> {
    place: Place<'a>,
    family: Family,
    reference: &'a Reference,
    candidates: &'a [Candidate],
    /// Those that can be used as the reference does.
    among: Vec<usize>,
}

impl Resolving<'_> {
    fn some(&self, accept: impl Fn(&Candidate) -> bool) -> Vec<usize> {
        self.among.iter().copied().filter(|at| accept(&self.candidates[*at])).collect()
    }

    /// Returns the meaning that the file states: one thing, or several of a kind.
    fn told(&self, targets: Vec<usize>) -> Option<Meaning> {
        let targets = self.without_prototypes(targets);
        match self.things(&targets) {
            0 => None,
            1 => Some(Meaning { class: Class::Certain, targets }),
            _ => Some(Meaning { class: Class::Ambiguous, targets }),
        }
    }

    /// Nothing says what is meant.
    fn guessed(&self, targets: Vec<usize>) -> Meaning {
        let targets = self.without_prototypes(targets);
        let is_common = self.reference.receiver != Receiver::None && is_common(self.family, &self.reference.name);
        match self.things(&targets) {
            0 => outside(),
            1 if !is_common => Meaning { class: Class::Unique, targets },
            _ => Meaning { class: Class::Ambiguous, targets },
        }
    }

    /// A prototype is the same thing as the definition that has a body.
    fn without_prototypes(&self, targets: Vec<usize>) -> Vec<usize> {
        let is_prototype = |at: &usize| self.candidates[*at].definition.kind == Kind::Declaration;
        if self.family != Family::C || targets.iter().all(is_prototype) {
            return targets;
        }
        let owner = |at: &usize| self.candidates[*at].definition.owner.as_deref();
        let defined: BTreeSet<_> = targets.iter().filter(|at| !is_prototype(at)).map(owner).collect();
        targets.iter().copied().filter(|at| !is_prototype(at) || !defined.contains(&owner(at))).collect()
    }

    /// How many different things these are: what one file calls by one name is one thing (overloads, `#ifdef`).
    fn things(&self, targets: &[usize]) -> usize {
        let things = targets.iter().map(|at| (&self.candidates[*at].path, &self.candidates[*at].qualified));
        things.collect::<BTreeSet<_>>().len()
    }

    fn is_here(&self, candidate: &Candidate) -> bool {
        candidate.path == self.place.path
    }

    fn is_beside(&self, candidate: &Candidate) -> bool {
        folder(&candidate.path) == folder(self.place.path)
    }

    /// The definitions around the reference, the innermost first.
    fn around(&self) -> impl Iterator<Item = (u32, &Definition)> {
        let definitions = &self.place.facts.definitions;
        let first = self.reference.within;
        std::iter::successors(first, move |at| definitions.get(*at as usize).and_then(|inner| inner.parent))
            .take(64)
            .filter_map(move |at| Some((at, definitions.get(at as usize)?)))
    }

    /// Types around the reference, whose members it may mean without naming them.
    fn own_types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = Vec::new();
        for (_, definition) in self.around() {
            types.extend(definition.owner.as_deref());
            if definition.is_type() {
                types.push(&definition.name);
            }
        }
        types
    }

    /// Returns the bases of the types around the reference, as this file states them.
    fn own_bases(&self, types: &[&str]) -> Vec<&str> {
        let definitions = &self.place.facts.definitions;
        let own = definitions.iter().filter(|definition| definition.is_type() && types.contains(&&*definition.name));
        own.flat_map(|definition| definition.bases.iter().map(String::as_str)).collect()
    }

    /// `f()`
    fn plain(&self) -> Meaning {
        self.in_scope()
            .or_else(|| self.of_own_type())
            .or_else(|| self.imported(&self.reference.name))
            .or_else(|| self.of_package())
            .unwrap_or_else(|| self.plain_elsewhere())
    }

    /// Finds the meaning in a scope around the reference.
    fn in_scope(&self) -> Option<Meaning> {
        let mut visible = self.some(|candidate| {
            let of = &candidate.definition;
            let is_around = of.function.is_none_or(|(start, end)| (start..end).contains(&self.reference.at));
            self.is_here(candidate) && !is_hidden_member(of) && is_around
        });
        // The innermost one hides others.
        let depth = |at: &usize| self.candidates[*at].definition.function.map(|(start, _)| start);
        let deepest = visible.iter().map(depth).max().flatten();
        visible.retain(|at| depth(at) == deepest);
        self.told(visible)
    }

    /// In Java and C++ members need no name before them.
    fn of_own_type(&self) -> Option<Meaning> {
        if !matches!(self.family, Family::Java | Family::C) {
            return None;
        }
        let types = self.own_types();
        let is_member = |candidate: &Candidate, of: &[&str]| {
            candidate.definition.owner.as_deref().is_some_and(|owner| of.contains(&owner))
        };
        if types.is_empty() {
            return None;
        }
        self.told(self.some(|candidate| self.is_here(candidate) && is_member(candidate, &types)))
            .or_else(|| match self.family {
                Family::C => self.told(self.some(|candidate| is_member(candidate, &types))),
                _ => None,
            })
            .or_else(|| {
                let bases = self.own_bases(&types);
                self.told(self.some(|candidate| is_member(candidate, &bases)))
            })
    }

    /// Resolves a name that an import of this file introduces. When the import leads out of the tree, so does the
    /// reference.
    fn imported(&self, name: &str) -> Option<Meaning> {
        let imports = &self.place.facts.imports;
        let mut has_named = false;
        for import in imports.iter().filter(|import| is_called(import, name)) {
            let Some(of) = import.name.as_deref() else { continue };
            has_named = true;
            let found = self.of_module(&import.module, |candidate| is_top(candidate) && is_of(candidate, of));
            if let Some(told) = self.told(found) {
                return Some(told);
            }
            if leads_inside(self.family, &import.module) {
                return Some(self.guessed(self.some(is_top)));
            }
        }
        if has_named {
            return Some(outside());
        }
        for import in imports.iter().filter(|import| import.is_wildcard) {
            let mut found = self.of_module(&import.module, is_top);
            if self.family == Family::C && !found.iter().any(|at| self.candidates[*at].path.ends_with(&import.module)) {
                found.clear(); // the header does not tell of it, though the file beside it has one
            }
            if let Some(told) = self.told(found) {
                return Some(told);
            }
        }
        None
    }

    /// Candidates in the files that fit a module best.
    fn of_module(&self, module: &str, accept: impl Fn(&Candidate) -> bool) -> Vec<usize> {
        let mut found: Vec<(Fit, usize)> = Vec::new();
        for at in self.some(accept) {
            let candidate = &self.candidates[at];
            let inner = self.modules_inside(candidate);
            let fit = module::fit(self.family, module, self.place.path, &candidate.path, &inner);
            found.extend(fit.map(|fit| (fit, at)));
        }
        let best = found.iter().map(|(fit, _)| *fit).max();
        found.into_iter().filter(|(fit, _)| Some(*fit) == best).map(|(_, at)| at).collect()
    }

    /// Modules inside its file in which a candidate stands; of Rust alone.
    fn modules_inside<'c>(&self, candidate: &'c Candidate) -> Vec<&'c str> {
        if self.family != Family::Rust {
            return Vec::new();
        }
        let mut names: Vec<&str> = candidate.qualified.split('.').collect();
        names.pop();
        if candidate.definition.owner.is_some() {
            names.pop();
        }
        names
    }

    /// In Go and Java, files of one folder share their names.
    fn of_package(&self) -> Option<Meaning> {
        match self.family {
            Family::Go | Family::Java => {
                self.told(self.some(|candidate| self.is_beside(candidate) && is_top(candidate)))
            }
            _ => None,
        }
    }

    /// A name that the file neither defines nor imports.
    fn plain_elsewhere(&self) -> Meaning {
        let imports = &self.place.facts.imports;
        let has_wildcard = imports.iter().any(|import| import.is_wildcard);
        let is_macro = self.reference.how == Use::Macro;
        let may_be_elsewhere = match self.family {
            Family::C => true,
            Family::Java => self.reference.how != Use::Call || !self.own_bases(&self.own_types()).is_empty(),
            Family::Python | Family::Go => has_wildcard,
            Family::Rust => has_wildcard || is_macro,
            Family::Script => imports.is_empty() || matches!(self.reference.how, Use::Type | Use::Inherit),
        };
        if !may_be_elsewhere {
            return outside();
        }
        match self.family {
            Family::Java if self.reference.how == Use::Call => self.guessed(self.among.clone()),
            _ => self.guessed(self.some(is_top)),
        }
    }

    /// `self.f()`
    fn own(&self) -> Meaning {
        let types = self.own_types();
        let is_member = |candidate: &Candidate, of: &[&str]| {
            candidate.definition.owner.as_deref().is_some_and(|owner| of.contains(&owner))
        };
        let here = self.some(|candidate| self.is_here(candidate) && is_member(candidate, &types));
        let told = self.told(here).or_else(|| {
            let elsewhere = self.some(|candidate| match self.family {
                Family::Go => self.is_beside(candidate) && is_member(candidate, &types),
                Family::Rust | Family::C => is_member(candidate, &types),
                Family::Python | Family::Script | Family::Java => false,
            });
            self.told(elsewhere)
        });
        told.unwrap_or_else(|| self.of_base())
    }

    /// `super().f()`, or what is not in the type itself.
    fn of_base(&self) -> Meaning {
        let types = self.own_types();
        let bases = self.own_bases(&types);
        let is_owned = |candidate: &Candidate, of: &[&str]| {
            candidate.definition.owner.as_deref().is_some_and(|owner| of.contains(&owner))
        };
        self.told(self.some(|candidate| is_owned(candidate, &bases))).unwrap_or_else(|| {
            let is_other = |candidate: &Candidate| !(self.is_here(candidate) && is_owned(candidate, &types));
            self.guessed(self.some(|candidate| is_member_of_any(candidate) && is_other(candidate)))
        })
    }

    /// A member of a value of which nothing is known.
    fn member(&self) -> Meaning {
        // In C a function is no member: what is called is a variable.
        let is_plain_c = self.place.facts.language == Language::C;
        self.guessed(self.some(|candidate| match is_plain_c {
            true => candidate.definition.kind == Kind::Field,
            false => is_member_of_any(candidate),
        }))
    }

    /// `os.path.join()`, `Index::new()`
    fn named(&self, name: &str) -> Meaning {
        let joint = if self.family == Family::Rust { "::" } else { "." };
        let parts: Vec<&str> = name.split(joint).filter(|part| !part.is_empty()).collect();
        let Some((&last, before)) = parts.split_last() else { return self.member() };
        if let Some(meaning) = self.of_import(&parts, joint) {
            return meaning;
        }
        let is_owned = |candidate: &Candidate| candidate.definition.owner.as_deref() == Some(last);
        if self.family == Family::Rust
            && let Some(told) = self
                .told(self.of_module(name, |candidate| candidate.definition.owner.is_none()))
                .or_else(|| self.told(self.of_module(&before.join(joint), is_owned)))
        {
            return told;
        }
        let told = self.told(self.some(|candidate| self.is_here(candidate) && is_owned(candidate)));
        let told = told.or_else(|| match self.family {
            Family::Go | Family::Java => {
                self.told(self.some(|candidate| self.is_beside(candidate) && is_owned(candidate)))
            }
            _ => None,
        });
        let told = told.or_else(|| match self.family {
            Family::Rust | Family::Java | Family::C => self.told(self.some(is_owned)),
            Family::Python | Family::Script | Family::Go => None,
        });
        told.unwrap_or_else(|| match self.family {
            // The path of a module or of a type that is not in the tree.
            Family::Rust => outside(),
            // A name that a file neither defines nor imports is built in.
            Family::Python | Family::Script if self.knows_its_names() && !self.defines(parts[0]) => outside(),
            _ => self.member(),
        })
    }

    /// Whether names that the file neither defines nor imports can only be built in.
    fn knows_its_names(&self) -> bool {
        let imports = &self.place.facts.imports;
        let is_module = self.family == Family::Python || !imports.is_empty();
        is_module && !imports.iter().any(|import| import.is_wildcard)
    }

    /// Whether the file itself defines a name.
    fn defines(&self, name: &str) -> bool {
        self.place.facts.definitions.iter().any(|definition| definition.name == name)
    }

    /// Resolves a member of something that was imported.
    fn of_import(&self, parts: &[&str], joint: &str) -> Option<Meaning> {
        let name = parts.join(joint);
        let mut has_import = false;
        for import in &self.place.facts.imports {
            let rest = match () {
                () if import.name.is_none() && import.alias.is_none() && import.module == name => &[][..],
                () if is_called(import, parts[0]) => &parts[1..],
                () => continue,
            };
            has_import = true;
            let mut module = vec![import.module.as_str()];
            module.extend(import.name.as_deref());
            module.extend(rest);
            let last = *module.last()?;
            let separator = match self.family {
                Family::Go | Family::Script => "/",
                _ => joint,
            };
            let join = |parts: &[&str]| {
                let is_dots = parts.first().is_some_and(|first| first.ends_with('.'));
                if is_dots { format!("{}{}", parts[0], parts[1..].join(separator)) } else { parts.join(separator) }
            };
            let whole = join(&module);
            let is_owned = |candidate: &Candidate| candidate.definition.owner.as_deref() == Some(last);
            let told = self.told(self.of_module(&whole, |candidate| candidate.definition.owner.is_none()));
            let told = told.or_else(|| {
                let above = join(&module[..module.len() - 1]);
                self.told(self.of_module(&above, is_owned))
            });
            if told.is_some() {
                return told;
            }
            if leads_inside(self.family, &import.module) {
                // A type of the tree under another name, or what a module gives out.
                return Some(self.told(self.some(is_owned)).unwrap_or_else(|| self.member()));
            }
        }
        has_import.then(outside)
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A member of a type or of an object, which is not named by itself.
fn is_hidden_member(definition: &Definition) -> bool {
    (definition.owner.is_some() || definition.kind == Kind::Method) && !definition.is_type()
}

/// Nothing but modules is around it, or a type.
fn is_top(candidate: &Candidate) -> bool {
    let of = &candidate.definition;
    (!is_hidden_member(of) || of.kind == Kind::Variant) && of.function.is_none()
}

fn is_member_of_any(candidate: &Candidate) -> bool {
    (candidate.definition.owner.is_some() || candidate.definition.kind == Kind::Method)
        && candidate.definition.kind != Kind::Variant
}

/// Whether an import makes something known under this name.
fn is_called(import: &Import, name: &str) -> bool {
    if import.is_wildcard {
        return false;
    }
    let own = import.alias.as_deref().or(import.name.as_deref());
    own.unwrap_or_else(|| {
        import.module.rsplit(['/', ':']).next().unwrap_or_default().split('.').next().unwrap_or_default()
    }) == name
}

/// Whether a candidate is what an import takes: by its name; what is a module's default may have any.
fn is_of(candidate: &Candidate, name: &str) -> bool {
    name == "default" || candidate.definition.name == name
}

/// Whether an import names something of the tree, wherever that is.
fn leads_inside(family: Family, module: &str) -> bool {
    match family {
        Family::Rust => {
            let first = module.split("::").next().unwrap_or_default();
            matches!(first, "crate" | "self" | "super")
        }
        Family::Python | Family::Script => module.starts_with('.'),
        Family::Go | Family::Java | Family::C => false,
    }
}

/// Methods that values of the language's own types have: a call of one on a value of which nothing is known says little.
fn is_common(family: Family, name: &str) -> bool {
    let names: &[&str] = match family {
        Family::Python => PYTHON_METHODS,
        Family::Script => SCRIPT_METHODS,
        Family::Rust => RUST_METHODS,
        Family::Java => JAVA_METHODS,
        Family::Go => GO_METHODS,
        Family::C => C_METHODS,
    };
    names.contains(&name)
}

const PYTHON_METHODS: &[&str] = &[
    "accept",
    "acquire",
    "add",
    "append",
    "as_integer_ratio",
    "bind",
    "cancel",
    "capitalize",
    "casefold",
    "center",
    "clear",
    "close",
    "commit",
    "connect",
    "copy",
    "count",
    "critical",
    "cursor",
    "date",
    "debug",
    "decode",
    "difference",
    "discard",
    "done",
    "encode",
    "end",
    "endswith",
    "error",
    "exception",
    "execute",
    "exists",
    "extend",
    "fetchall",
    "fetchone",
    "fileno",
    "find",
    "flush",
    "format",
    "get",
    "group",
    "groups",
    "hex",
    "index",
    "info",
    "insert",
    "intersection",
    "is_dir",
    "is_file",
    "isalpha",
    "isdigit",
    "isoformat",
    "isspace",
    "items",
    "join",
    "keys",
    "listen",
    "ljust",
    "log",
    "lower",
    "lstrip",
    "match",
    "mkdir",
    "name",
    "now",
    "parse",
    "partition",
    "pop",
    "popitem",
    "put",
    "read",
    "readline",
    "readlines",
    "recv",
    "release",
    "remove",
    "replace",
    "reset",
    "resolve",
    "result",
    "reverse",
    "rfind",
    "rjust",
    "rollback",
    "rpartition",
    "rsplit",
    "rstrip",
    "run",
    "search",
    "seek",
    "send",
    "set",
    "setdefault",
    "shutdown",
    "sort",
    "split",
    "splitlines",
    "start",
    "startswith",
    "stop",
    "strip",
    "sub",
    "tell",
    "time",
    "timestamp",
    "title",
    "today",
    "total_seconds",
    "translate",
    "union",
    "unlink",
    "update",
    "upper",
    "values",
    "wait",
    "warning",
    "write",
    "writelines",
    "zfill",
];
const SCRIPT_METHODS: &[&str] = &[
    "$",
    "add",
    "addEventListener",
    "all",
    "appendChild",
    "apply",
    "assign",
    "at",
    "bind",
    "blur",
    "call",
    "catch",
    "charAt",
    "clear",
    "click",
    "close",
    "concat",
    "contains",
    "create",
    "createElement",
    "debug",
    "delete",
    "disconnect",
    "dispatchEvent",
    "emit",
    "end",
    "endsWith",
    "entries",
    "error",
    "every",
    "exec",
    "fill",
    "filter",
    "finally",
    "find",
    "findIndex",
    "flat",
    "flatMap",
    "focus",
    "forEach",
    "freeze",
    "from",
    "get",
    "getAttribute",
    "getPropertyValue",
    "has",
    "hasOwnProperty",
    "includes",
    "indexOf",
    "info",
    "insertBefore",
    "isArray",
    "join",
    "keys",
    "lastIndexOf",
    "log",
    "map",
    "match",
    "next",
    "observe",
    "of",
    "on",
    "once",
    "padEnd",
    "padStart",
    "parse",
    "pop",
    "push",
    "querySelector",
    "querySelectorAll",
    "read",
    "reduce",
    "reduceRight",
    "reject",
    "remove",
    "removeAttribute",
    "removeChild",
    "removeEventListener",
    "removeProperty",
    "replace",
    "resolve",
    "reverse",
    "send",
    "set",
    "setAttribute",
    "setProperty",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "split",
    "start",
    "startsWith",
    "stop",
    "stringify",
    "substr",
    "substring",
    "test",
    "then",
    "toFixed",
    "toJSON",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "toggle",
    "trim",
    "unshift",
    "update",
    "valueOf",
    "values",
    "warn",
    "write",
];
const RUST_METHODS: &[&str] = &[
    "add",
    "all",
    "and_then",
    "any",
    "append",
    "as_bytes",
    "as_deref",
    "as_mut",
    "as_ref",
    "as_str",
    "borrow",
    "borrow_mut",
    "bytes",
    "chain",
    "chars",
    "checked_add",
    "checked_sub",
    "clear",
    "clone",
    "cloned",
    "cmp",
    "collect",
    "concat",
    "contains",
    "contains_key",
    "copied",
    "count",
    "default",
    "deref",
    "display",
    "drain",
    "drop",
    "elapsed",
    "ends_with",
    "entry",
    "enumerate",
    "eq",
    "err",
    "exists",
    "expect",
    "extend",
    "file_name",
    "fill",
    "filter",
    "filter_map",
    "find",
    "first",
    "flat_map",
    "flush",
    "fmt",
    "fold",
    "for_each",
    "from",
    "get",
    "get_mut",
    "hash",
    "id",
    "index",
    "insert",
    "into",
    "into_iter",
    "is",
    "is_dir",
    "is_empty",
    "is_file",
    "is_none",
    "is_none_or",
    "is_ok",
    "is_some",
    "is_some_and",
    "iter",
    "iter_mut",
    "join",
    "keys",
    "kind",
    "last",
    "len",
    "lines",
    "load",
    "lock",
    "map",
    "map_err",
    "max",
    "max_by_key",
    "min",
    "min_by_key",
    "name",
    "next",
    "ok",
    "ok_or",
    "or_else",
    "parent",
    "parse",
    "path",
    "peek",
    "poll",
    "pop",
    "position",
    "push",
    "push_str",
    "read",
    "read_exact",
    "read_to_end",
    "read_to_string",
    "recv",
    "remove",
    "replace",
    "retain",
    "rev",
    "seek",
    "send",
    "skip",
    "sort",
    "sort_by",
    "sort_by_key",
    "spawn",
    "split",
    "starts_with",
    "status",
    "store",
    "sum",
    "swap",
    "take",
    "to_owned",
    "to_string",
    "to_vec",
    "trim",
    "truncate",
    "try_from",
    "try_into",
    "unwrap",
    "unwrap_or",
    "values",
    "wait",
    "with",
    "with_capacity",
    "write",
    "write_all",
    "zip",
];
const JAVA_METHODS: &[&str] = &[
    "accept",
    "add",
    "addAll",
    "append",
    "apply",
    "asList",
    "await",
    "build",
    "call",
    "cast",
    "charAt",
    "clear",
    "clone",
    "close",
    "collect",
    "compareTo",
    "computeIfAbsent",
    "contains",
    "containsKey",
    "containsValue",
    "count",
    "doubleValue",
    "endsWith",
    "entrySet",
    "equals",
    "execute",
    "filter",
    "find",
    "findFirst",
    "flush",
    "forEach",
    "format",
    "get",
    "getBytes",
    "getClass",
    "getId",
    "getKey",
    "getMessage",
    "getName",
    "getOrDefault",
    "getType",
    "getValue",
    "hasNext",
    "hashCode",
    "indexOf",
    "intValue",
    "isAssignableFrom",
    "isEmpty",
    "isPresent",
    "iterator",
    "join",
    "keySet",
    "length",
    "limit",
    "lock",
    "longValue",
    "map",
    "matches",
    "name",
    "next",
    "of",
    "orElse",
    "put",
    "putAll",
    "read",
    "reduce",
    "remove",
    "repeat",
    "replace",
    "reset",
    "run",
    "set",
    "setValue",
    "size",
    "sort",
    "split",
    "start",
    "startsWith",
    "stop",
    "stream",
    "submit",
    "substring",
    "test",
    "toArray",
    "toList",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "trim",
    "unlock",
    "values",
    "write",
];
const GO_METHODS: &[&str] = &[
    "Add",
    "As",
    "Bool",
    "Bytes",
    "Cause",
    "Close",
    "Context",
    "Copy",
    "Done",
    "Elem",
    "Error",
    "Float",
    "Flush",
    "Format",
    "Get",
    "Header",
    "Index",
    "Int",
    "Is",
    "Key",
    "Kind",
    "Len",
    "Less",
    "Lock",
    "Name",
    "Next",
    "Open",
    "Parse",
    "Read",
    "Recv",
    "Reset",
    "Run",
    "Scan",
    "Seek",
    "Send",
    "Set",
    "Size",
    "Start",
    "Stop",
    "String",
    "Swap",
    "Type",
    "Unlock",
    "Unwrap",
    "Value",
    "Wait",
    "Write",
    "WriteString",
];
const C_METHODS: &[&str] = &[
    "add",
    "append",
    "at",
    "back",
    "begin",
    "c_str",
    "clear",
    "close",
    "compare",
    "contains",
    "copy",
    "count",
    "data",
    "detach",
    "emplace",
    "emplace_back",
    "empty",
    "end",
    "erase",
    "find",
    "first",
    "flush",
    "front",
    "get",
    "init",
    "insert",
    "join",
    "length",
    "load",
    "lock",
    "name",
    "notify",
    "open",
    "pop",
    "pop_back",
    "push",
    "push_back",
    "read",
    "release",
    "remove",
    "reserve",
    "reset",
    "resize",
    "run",
    "second",
    "set",
    "size",
    "start",
    "stop",
    "store",
    "str",
    "substr",
    "swap",
    "type",
    "unlock",
    "wait",
    "what",
    "write",
];
