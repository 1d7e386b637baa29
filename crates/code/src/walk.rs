//! One walk over a syntax tree, which collects what the rules of a language find at each node.
//!
//! The walk holds the scopes: functions with the names that they bind, types to which members belong, modules. A name
//! that a function binds is known when the function ends, so references are marked as local then.

use std::collections::{HashMap, HashSet};

use tree_sitter::{Node, Tree};

use crate::Language;
use crate::facts::{Definition, Facts, Import, Kind, Reading, Receiver, Reference, Use};
use crate::parse::parse_for_facts;

/// Longer names are of machines, and so are longer receivers.
const NAME_BYTES_MAX: usize = 200;
/// Nodes that a search for names in one pattern looks at.
const PATTERN_NODES_MAX: usize = 2_000;

/// Whether to visit the children of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    Into,
    Past,
}

/// The kind of scope that a node opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    File,
    Function,
    /// Members of a type.
    Type,
    Module,
}

struct Scope {
    kind: ScopeKind,
    /// The depth of its node, its first byte and the byte behind its last.
    depth: usize,
    range: (u32, u32),
    definition: Option<u32>,
    owner: Option<String>,
    bound: HashSet<String>,
    /// Names of definitions that stand in it.
    defined: HashSet<String>,
    first_reference: usize,
    /// The name of the object: the receiver of a method in Go.
    own_name: Option<String>,
}

/// The rules of a language.
pub(crate) type Rules = for<'t> fn(&mut Walk<'t>, Node<'t>) -> Go;

pub(crate) struct Walk<'t> {
    pub text: &'t [u8],
    facts: Facts,
    scopes: Vec<Scope>,
    /// The nodes above the one that is looked at.
    pub above: Vec<Node<'t>>,
    /// Nodes that a rule has dealt with already.
    done: HashSet<usize>,
    /// Of the node that is looked at.
    range: (u32, u32),
}

/// The facts of a file; the bytes should be UTF-8, and names that are not are left out.
pub fn facts_of(language: Language, text: &[u8]) -> Facts {
    match parse_for_facts(language, text) {
        Some(tree) => walk(language, text, &tree),
        None => Facts::unparsed(language),
    }
}

fn walk(language: Language, text: &[u8], tree: &Tree) -> Facts {
    let rules: Rules = match language {
        Language::Rust => crate::rust::enter,
        Language::Python => crate::python::enter,
        Language::JavaScript | Language::TypeScript | Language::Tsx => crate::script::enter,
        Language::Go => crate::go::enter,
        Language::Java => crate::java::enter,
        Language::C | Language::Cpp => crate::c::enter,
    };
    let root = tree.root_node();
    let mut facts = Facts::unparsed(language);
    facts.reading = if root.has_error() { Reading::WithErrors } else { Reading::Whole };
    let mut walk =
        Walk { text, facts, scopes: Vec::new(), above: Vec::new(), done: HashSet::new(), range: (0, u32::MAX) };
    walk.open_scope(ScopeKind::File, None, None);
    let mut cursor = root.walk();
    let mut go = Go::Into;
    loop {
        if go == Go::Into {
            let node = cursor.node();
            walk.range = (node.start_byte() as u32, node.end_byte() as u32);
            go = if node.is_error() { walk.enter_error(node) } else { rules(&mut walk, node) };
            if go == Go::Into && cursor.goto_first_child() {
                walk.above.push(node);
                continue;
            }
        }
        walk.close_scopes(walk.above.len());
        if cursor.goto_next_sibling() {
            go = Go::Into;
        } else if cursor.goto_parent() {
            walk.above.pop();
            go = Go::Past;
        } else {
            break;
        }
    }
    walk.finish()
}

impl<'t> Walk<'t> {
    /// The text of a node; empty where it is no UTF-8 or too long for a name.
    pub fn spelt(&self, node: Node<'_>) -> &'t str {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        if text.len() > NAME_BYTES_MAX {
            return "";
        }
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The text of a field of a node.
    pub fn field(&self, node: Node<'_>, field: &str) -> &'t str {
        node.child_by_field_name(field).map_or("", |child| self.spelt(child))
    }

    /// The node right above.
    pub fn parent(&self) -> Option<Node<'t>> {
        self.above.last().copied()
    }

    pub fn parent_kind(&self) -> &'t str {
        self.parent().map_or("", |parent| parent.kind())
    }

    /// A rule has dealt with this node: it names nothing by itself.
    pub fn mark_done(&mut self, node: Node<'_>) {
        self.done.insert(node.id());
    }

    pub fn is_done(&self, node: Node<'_>) -> bool {
        self.done.contains(&node.id())
    }

    /// Opens a scope that ends with the node that is being looked at.
    pub fn open_scope(&mut self, kind: ScopeKind, definition: Option<u32>, owner: Option<String>) {
        let definition = definition.or_else(|| self.scopes.last().and_then(|scope| scope.definition));
        self.scopes.push(Scope {
            kind,
            depth: self.above.len(),
            range: self.range,
            definition,
            owner,
            bound: HashSet::new(),
            defined: HashSet::new(),
            first_reference: self.facts.references.len(),
            own_name: None,
        });
    }

    fn close_scopes(&mut self, depth: usize) {
        while self.scopes.len() > 1 && self.scopes.last().is_some_and(|scope| scope.depth >= depth) {
            let Some(scope) = self.scopes.pop() else { return };
            if scope.kind != ScopeKind::Function || scope.bound.is_empty() {
                continue;
            }
            for reference in &mut self.facts.references[scope.first_reference..] {
                let first = match &reference.receiver {
                    Receiver::None => reference.name.as_str(),
                    Receiver::Name(name) => name.split(['.', ':']).next().unwrap_or_default(),
                    Receiver::Own | Receiver::Base | Receiver::Expression => continue,
                };
                if scope.bound.contains(first) && !scope.defined.contains(first) {
                    reference.is_local = true;
                }
            }
        }
    }

    pub fn scope_kind(&self) -> ScopeKind {
        self.scopes.last().map_or(ScopeKind::File, |scope| scope.kind)
    }

    /// Whether some function is around.
    pub fn is_in_function(&self) -> bool {
        self.scopes.iter().any(|scope| scope.kind == ScopeKind::Function)
    }

    /// The type whose members are being looked at, directly.
    pub fn owner(&self) -> Option<String> {
        self.scopes.last().filter(|scope| scope.kind == ScopeKind::Type).and_then(|scope| scope.owner.clone())
    }

    /// Sets the name of the object in the innermost method.
    pub fn set_own_name(&mut self, name: &str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.own_name = Some(name.into());
        }
    }

    pub fn is_own_name(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.own_name.as_deref() == Some(name))
    }

    /// Binds a name in the innermost function.
    pub fn bind(&mut self, name: &str) {
        if let Some(scope) = self.scopes.iter_mut().rev().find(|scope| scope.kind == ScopeKind::Function) {
            scope.bound.insert(name.into());
        }
    }

    /// A name that the innermost function assigns to belongs to something around it.
    pub fn leave_unbound(&mut self, name: &str) {
        if let Some(scope) = self.scopes.iter_mut().rev().find(|scope| scope.kind == ScopeKind::Function) {
            scope.defined.insert(name.into());
        }
    }

    /// Binds all names in a pattern. `is_name` accepts names; `is_other` accepts nodes that are visited as code later.
    pub fn bind_all(&mut self, pattern: Node<'t>, is_name: fn(&str) -> bool, is_other: fn(&str) -> bool) {
        for node in nodes_in(pattern, is_other) {
            if is_name(node.kind()) {
                self.mark_done(node);
                self.bind(self.spelt(node));
            }
        }
    }

    /// Adds a definition whose name is that of `name`, over all of `node`. Returns its index, or `None` for one without a name.
    pub fn define(&mut self, node: Node<'t>, name: Node<'t>, kind: Kind) -> Option<u32> {
        self.mark_done(name);
        self.define_as(node, name, self.spelt(name), kind)
    }

    /// The same where the name is the field `name`.
    pub fn define_named(&mut self, node: Node<'t>, kind: Kind) -> Option<u32> {
        let name = node.child_by_field_name("name")?;
        self.define(node, name, kind)
    }

    /// The same with a name that is a part of what is spelt.
    pub fn define_as(&mut self, node: Node<'t>, name_node: Node<'t>, name: &str, kind: Kind) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        let body = ["body", "value"].iter().find_map(|field| node.child_by_field_name(field));
        let head_end = body.map_or(node.end_byte(), |body| body.start_byte());
        let function =
            self.scopes.iter().rev().find(|scope| scope.kind == ScopeKind::Function).map(|scope| scope.range);
        let scope = self.scopes.last_mut()?;
        scope.defined.insert(name.into());
        let owner = if scope.kind == ScopeKind::Type { scope.owner.clone() } else { None };
        let definition = Definition {
            name: name.into(),
            kind,
            parent: scope.definition,
            owner,
            bases: Vec::new(),
            is_private: false,
            function,
            start: node.start_byte() as u32,
            end: node.end_byte() as u32,
            head_end: head_end as u32,
            line: name_node.start_position().row as u32 + 1,
            line_end: node.end_position().row as u32 + 1,
        };
        self.facts.definitions.push(definition);
        Some(self.facts.definitions.len() as u32 - 1)
    }

    /// Changes a definition that was just added.
    pub fn definition_mut(&mut self, index: Option<u32>) -> Option<&mut Definition> {
        self.facts.definitions.get_mut(index? as usize)
    }

    /// Whether the innermost scope has a definition of this name already.
    pub fn is_defined_here(&self, name: &str) -> bool {
        self.scopes.last().is_some_and(|scope| scope.defined.contains(name))
    }

    /// Adds a reference.
    pub fn refer(&mut self, name: Node<'t>, how: Use, receiver: Receiver) {
        self.mark_done(name);
        self.refer_as(name, self.spelt(name), how, receiver);
    }

    /// The same with a name that is a part of what is spelt.
    pub fn refer_as(&mut self, node: Node<'t>, name: &str, how: Use, receiver: Receiver) {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return;
        }
        let within = self.scopes.last().and_then(|scope| scope.definition);
        self.facts.references.push(Reference {
            name: name.into(),
            how,
            receiver,
            within,
            is_local: false,
            line: node.start_position().row as u32 + 1,
            at: node.start_byte() as u32,
        });
    }

    /// A word that stands before parentheses and is no name.
    pub fn is_keyword(&self, name: &str) -> bool {
        KEYWORDS.contains(&name)
    }

    /// A call of what a node gives in one of its fields, asked of a receiver.
    pub fn call_member(&mut self, function: Node<'t>, field: &str, receiver: Receiver) {
        if let Some(name) = function.child_by_field_name(field) {
            self.mark_done(function);
            self.refer(name, Use::Call, receiver);
        }
    }

    /// Calls in text that the grammar keeps as it is, such as the body of a macro: names before parentheses.
    pub fn refer_in_text(&mut self, node: Node<'t>) {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        let mut at = 0;
        while at < text.len() {
            if !is_word(text[at]) {
                at += 1;
                continue;
            }
            let end = text[at..].iter().position(|byte| !is_word(*byte)).map_or(text.len(), |length| at + length);
            let next = text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
            let name = std::str::from_utf8(&text[at..end]).unwrap_or_default();
            if next == Some(&b'(') && !text[at].is_ascii_digit() && !KEYWORDS.contains(&name) {
                let has_receiver = at > 0 && matches!(text[at - 1], b'.' | b'>' | b':');
                let receiver = if has_receiver { Receiver::Expression } else { Receiver::None };
                let line = text[..at].iter().filter(|byte| **byte == b'\n').count() as u32;
                self.refer_as(node, name, Use::Call, receiver);
                if let Some(reference) = self.facts.references.last_mut() {
                    (reference.line, reference.at) = (reference.line + line, reference.at + at as u32);
                }
            }
            at = end;
        }
    }

    /// Visits a node that does not fit the grammar all the same, and takes names before parentheses for calls.
    fn enter_error(&mut self, node: Node<'t>) -> Go {
        let mut cursor = node.walk();
        let children: Vec<Node<'t>> = node.children(&mut cursor).collect();
        for pair in children.windows(2) {
            if pair[1].kind() == "(" && pair[0].kind() == "identifier" && !self.is_done(pair[0]) {
                self.refer(pair[0], Use::Call, Receiver::Expression);
            }
        }
        Go::Into
    }

    pub fn import(&mut self, node: Node<'_>, module: &str, name: Option<&str>, alias: Option<&str>, wildcard: bool) {
        if module.is_empty() && name.is_none() {
            return;
        }
        let some = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
        self.facts.imports.push(Import {
            module: module.into(),
            name: some(name),
            alias: some(alias),
            is_wildcard: wildcard,
            line: node.start_position().row as u32 + 1,
        });
    }

    fn finish(mut self) -> Facts {
        self.close_scopes(0);
        let mut facts = self.facts;
        facts.references.sort_by_key(|reference| reference.at);
        // Indexes into definitions must follow where they go.
        let mut order: Vec<u32> = (0..facts.definitions.len() as u32).collect();
        let key = |at: &u32| {
            let definition = &facts.definitions[*at as usize];
            (definition.start, std::cmp::Reverse(definition.end), *at)
        };
        order.sort_by_key(key);
        let moved: HashMap<u32, u32> = order.iter().enumerate().map(|(to, from)| (*from, to as u32)).collect();
        let moved = |at: Option<u32>| at.and_then(|at| moved.get(&at).copied());
        let mut definitions: Vec<Definition> = order.iter().map(|at| facts.definitions[*at as usize].clone()).collect();
        definitions.iter_mut().for_each(|definition| definition.parent = moved(definition.parent));
        facts.references.iter_mut().for_each(|reference| reference.within = moved(reference.within));
        facts.definitions = definitions;
        facts
    }
}

/// Words before parentheses that are no calls.
const KEYWORDS: &[&str] = &[
    "if",
    "while",
    "for",
    "switch",
    "return",
    "sizeof",
    "defined",
    "catch",
    "alignof",
    "typeof",
    "__typeof__",
    "do",
    "else",
    "case",
    "__attribute__",
    "asm",
    "__asm__",
    "decltype",
    "static_assert",
    "_Static_assert",
];

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// A node and what lies below it, without what lies below nodes that `is_other` accepts; not these either.
pub(crate) fn nodes_in<'t>(node: Node<'t>, is_other: fn(&str) -> bool) -> Vec<Node<'t>> {
    let (mut found, mut next) = (Vec::new(), vec![node]);
    while let Some(node) = next.pop() {
        if is_other(node.kind()) {
            continue;
        }
        found.push(node);
        if found.len() >= PATTERN_NODES_MAX {
            break;
        }
        let mut cursor = node.walk();
        next.extend(node.named_children(&mut cursor));
    }
    found
}

/// Names with dots between them and nothing else.
pub(crate) fn is_dotted(text: &str) -> bool {
    let is_part = |byte: u8| byte == b'.' || byte == b'_' || byte == b'$' || byte.is_ascii_alphanumeric();
    !text.is_empty() && text.bytes().all(is_part)
}

/// The first child of a kind.
pub(crate) fn child_of<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| child.kind() == kind)
}
