//! Rust: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk, nodes_in};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "function_item" | "function_signature_item" => function(walk, node),
        "impl_item" => implementation(walk, node),
        "struct_item" => type_of(walk, node, Kind::Struct),
        "union_item" => type_of(walk, node, Kind::Union),
        "enum_item" => type_of(walk, node, Kind::Enum),
        "trait_item" => type_of(walk, node, Kind::Interface),
        "type_item" | "associated_type" => drop(walk.define_named(node, Kind::Type)),
        "const_item" => drop(walk.define_named(node, Kind::Constant)),
        "static_item" => drop(walk.define_named(node, Kind::Variable)),
        "macro_definition" => drop(walk.define_named(node, Kind::Macro)),
        "enum_variant" => drop(walk.define_named(node, Kind::Variant)),
        "mod_item" => module(walk, node),
        "use_declaration" => return uses(walk, node),
        "attribute_item" | "inner_attribute_item" | "line_comment" | "block_comment" => return Go::Past,
        "parameter" | "let_declaration" | "let_condition" | "for_expression" => bind_pattern(walk, node, "pattern"),
        "match_pattern" => bind_names(walk, node),
        "closure_parameters" => bind_names(walk, node),
        "call_expression" => call(walk, node),
        "macro_invocation" => macro_call(walk, node),
        "token_tree" => tokens(walk, node),
        "scoped_identifier" | "scoped_type_identifier" => scoped(walk, node),
        "type_identifier" if !walk.is_done(node) => walk.refer(node, Use::Type, Receiver::None),
        "identifier" if !walk.is_done(node) => identifier(walk, node),
        "field_identifier" if !walk.is_done(node) => field(walk, node),
        _ => {}
    }
    Go::Into
}

fn function<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let kind = match (node.kind(), walk.owner()) {
        ("function_signature_item", _) => Kind::Declaration,
        (_, Some(_)) => Kind::Method,
        _ => Kind::Function,
    };
    let definition = walk.define(node, name, kind);
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn type_of<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, kind);
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(name).into()));
}

fn implementation<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let of = node.child_by_field_name("type").map(last_name);
    if let Some(interface) = node.child_by_field_name("trait").map(last_name) {
        walk.refer(interface, Use::Inherit, Receiver::None);
    }
    let owner = of.map(|of| walk.spelt(of).to_owned()).filter(|of| !of.is_empty());
    walk.open_scope(ScopeKind::Type, None, owner);
}

/// The name of a type without its path, its arguments and what refers to it.
fn last_name(node: Node<'_>) -> Node<'_> {
    let mut inner = node;
    for _ in 0..16 {
        let next = match inner.kind() {
            "generic_type" | "reference_type" | "pointer_type" => inner.child_by_field_name("type"),
            "scoped_type_identifier" | "scoped_identifier" => inner.child_by_field_name("name"),
            "dynamic_type" | "abstract_type" => inner.child_by_field_name("trait"),
            _ => None,
        };
        let Some(next) = next else { break };
        inner = next;
    }
    inner
}

fn module<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if node.child_by_field_name("body").is_some() {
        let definition = walk.define(node, name, Kind::Module);
        walk.open_scope(ScopeKind::Module, definition, None);
    } else {
        walk.mark_done(name);
        walk.import(node, "self", Some(walk.spelt(name)), None, false);
    }
}

/// `use a::b::{c as d, e::*};`
fn uses<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let Some(argument) = node.child_by_field_name("argument") else { return Go::Past };
    let mut next = vec![(String::new(), argument)];
    let mut seen = 0;
    while let Some((path, node)) = next.pop() {
        seen += 1;
        if seen > 5_000 {
            break;
        }
        let joined = |more: &str| if path.is_empty() { more.to_owned() } else { format!("{path}::{more}") };
        match node.kind() {
            "scoped_use_list" => {
                let path = joined(walk.field(node, "path"));
                next.extend(node.child_by_field_name("list").map(|list| (path, list)));
            }
            "use_list" => {
                let mut cursor = node.walk();
                next.extend(node.named_children(&mut cursor).map(|child| (path.clone(), child)));
            }
            "use_as_clause" => {
                let whole = joined(walk.field(node, "path"));
                use_name(walk, node, &whole, Some(walk.field(node, "alias")));
            }
            "use_wildcard" => {
                let whole = node.named_child(0).map_or(path.clone(), |child| joined(walk.spelt(child)));
                walk.import(node, &whole, None, None, true);
            }
            "line_comment" | "block_comment" => {}
            _ => use_name(walk, node, &joined(walk.spelt(node)), None),
        }
    }
    Go::Past
}

fn use_name(walk: &mut Walk<'_>, node: Node<'_>, whole: &str, alias: Option<&str>) {
    let whole = whole.strip_suffix("::self").unwrap_or(whole);
    match whole.rsplit_once("::") {
        Some((module, name)) => walk.import(node, module, Some(name), alias, false),
        None => walk.import(node, whole, None, alias, false),
    }
}

fn bind_pattern<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    if let Some(pattern) = node.child_by_field_name(field) {
        bind_names(walk, pattern);
    }
}

/// Names of variables in a pattern. A name that begins with a capital letter is a constant or a variant.
fn bind_names<'t>(walk: &mut Walk<'t>, pattern: Node<'t>) {
    let is_other = |kind: &str| {
        kind.ends_with("_expression")
            || matches!(kind, "scoped_identifier" | "block" | "let_chain" | "type_arguments")
            || (kind.ends_with("_type") && kind != "slice_type")
    };
    for node in nodes_in(pattern, is_other) {
        let is_name = matches!(node.kind(), "identifier" | "shorthand_field_identifier");
        let name = walk.spelt(node);
        if is_name && name.starts_with(|first: char| first == '_' || first.is_lowercase()) {
            let is_constructor = node.parent().is_some_and(|parent| {
                parent.kind() == "tuple_struct_pattern" && parent.child_by_field_name("type") == Some(node)
            });
            if !is_constructor {
                walk.mark_done(node);
                walk.bind(name);
            }
        }
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(mut function) = node.child_by_field_name("function") else { return };
    if function.kind() == "generic_function" {
        function = function.child_by_field_name("function").unwrap_or(function);
    }
    match function.kind() {
        "identifier" => walk.refer(function, Use::Call, Receiver::None),
        "field_expression" => {
            let receiver = function.child_by_field_name("value").map_or(Receiver::Expression, value);
            walk.call_member(function, "field", receiver);
        }
        "scoped_identifier" => {
            let receiver = path(walk, function);
            walk.call_member(function, "name", receiver);
        }
        _ => {}
    }
}

/// Returns the receiver before a dot. A name there is a variable's, and in front of `::` that of a type or a module.
fn value(node: Node<'_>) -> Receiver {
    if node.kind() == "self" { Receiver::Own } else { Receiver::Expression }
}

/// Returns the receiver before the last name of a path.
fn path(walk: &Walk<'_>, node: Node<'_>) -> Receiver {
    let Some(mut path) = node.child_by_field_name("path") else { return Receiver::None };
    if path.kind() == "bracketed_type" {
        return Receiver::Expression;
    }
    let spelt = walk.spelt(path);
    if spelt.contains('<') {
        path = last_name(path);
    }
    match walk.spelt(path) {
        "Self" => Receiver::Own,
        "" => Receiver::Expression,
        name => Receiver::Name(name.split_whitespace().collect()),
    }
}

fn scoped<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    if walk.is_done(node) || walk.parent_kind().starts_with("scoped_") {
        return;
    }
    let Some(name) = node.child_by_field_name("name") else { return };
    if walk.is_done(name) {
        return;
    }
    let how = if node.kind() == "scoped_type_identifier" { Use::Type } else { Use::Value };
    let receiver = path(walk, node);
    walk.refer(name, how, receiver);
}

fn identifier<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    match walk.parent_kind() {
        "token_tree" | "scoped_identifier" | "scoped_type_identifier" | "lifetime" | "label" | "metavariable" => {}
        "tuple_struct_pattern" => walk.refer(node, Use::Call, Receiver::None),
        _ => walk.refer(node, Use::Value, Receiver::None),
    }
}

/// `self.run` without a call: a field, or in rare cases a function that is handed over.
fn field<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(parent) = walk.parent().filter(|parent| parent.kind() == "field_expression") else { return };
    if parent.child_by_field_name("value").is_some_and(|of| of.kind() == "self") {
        walk.refer(node, Use::Value, Receiver::Own);
    }
}

fn macro_call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("macro") else { return };
    match name.child_by_field_name("name") {
        Some(last) => {
            let receiver = path(walk, name);
            walk.mark_done(name);
            walk.refer(last, Use::Macro, receiver);
        }
        None => walk.refer(name, Use::Macro, Receiver::None),
    }
}

/// The parentheses of a macro contain tokens: a name before parentheses counts as a call.
fn tokens<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let all: Vec<Node<'t>> = node.children(&mut cursor).collect();
    for (at, token) in all.iter().enumerate() {
        if token.kind() != "identifier" || walk.is_done(*token) {
            continue;
        }
        let kind = |at: Option<usize>| at.and_then(|at| all.get(at)).map_or("", Node::kind);
        let mut next = at + 1;
        if kind(Some(next)) == "::" && kind(Some(next + 1)) == "<" {
            // Type arguments: `collect::<Vec<_>>()`.
            next = (next + 2..all.len()).find(|at| kind(Some(*at)) == "token_tree").unwrap_or(next);
        }
        let begins = |wanted: u8| {
            all.get(next)
                .is_some_and(|next| next.kind() == "token_tree" && walk.text.get(next.start_byte()) == Some(&wanted))
        };
        let receiver = match kind(at.checked_sub(1)) {
            "." => match at.checked_sub(2).map(|before| all[before]) {
                Some(of) if kind(at.checked_sub(3)) != "." => value(of),
                _ => Receiver::Expression,
            },
            "::" => match at.checked_sub(2).map(|before| walk.spelt(all[before])) {
                Some("Self") => Receiver::Own,
                Some("" | ">") | None => Receiver::Expression,
                Some(name) => Receiver::Name(name.into()),
            },
            _ => Receiver::None,
        };
        let is_macro = kind(Some(at + 1)) == "!" && kind(Some(at + 2)) == "token_tree";
        let is_field = kind(at.checked_sub(1)) == "." || kind(Some(at + 1)) == ":";
        if is_macro {
            walk.refer(*token, Use::Macro, Receiver::None);
        } else if begins(b'(') {
            walk.refer(*token, Use::Call, receiver);
        } else if !is_field && kind(Some(at + 1)) != "::" {
            walk.refer(*token, Use::Value, receiver);
        }
    }
}
