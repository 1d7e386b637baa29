//! Python: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "function_definition" => function(walk, node),
        "class_definition" => class(walk, node),
        "parameters" | "lambda_parameters" => parameters(walk, node),
        "assignment" => assignment(walk, node),
        "augmented_assignment" | "for_statement" | "for_in_clause" => bind(walk, node, "left"),
        "named_expression" => bind(walk, node, "name"),
        "as_pattern" | "except_clause" => bind(walk, node, "alias"),
        "case_pattern" => walk.bind_all(node, is_name, |kind| matches!(kind, "dotted_name" | "attribute")),
        "keyword_argument" => {
            node.child_by_field_name("name").into_iter().for_each(|name| walk.mark_done(name));
        }
        "call" => call(walk, node),
        "attribute" => attribute(walk, node),
        "import_statement" => return import(walk, node),
        "import_from_statement" => return import_from(walk, node),
        "global_statement" | "nonlocal_statement" => return outer_names(walk, node),
        "future_import_statement" | "comment" => return Go::Past,
        "type_alias_statement" => type_alias(walk, node),
        "identifier" if !walk.is_done(node) => {
            let how =
                if walk.above.iter().rev().take(3).any(|node| node.kind() == "type") { Use::Type } else { Use::Value };
            walk.refer(node, how, Receiver::None);
        }
        _ => {}
    }
    Go::Into
}

fn is_name(kind: &str) -> bool {
    kind == "identifier"
}

/// Whether nodes of this kind are read, not bound, in the target of an assignment.
fn is_read(kind: &str) -> bool {
    matches!(kind, "attribute" | "subscript" | "call" | "type" | "default_value")
}

fn function<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let kind = if walk.scope_kind() == ScopeKind::Type { Kind::Method } else { Kind::Function };
    let definition = walk.define(node, name, kind);
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn class<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, Kind::Class);
    let mut bases = Vec::new();
    if let Some(list) = node.child_by_field_name("superclasses") {
        let mut cursor = list.walk();
        for base in list.named_children(&mut cursor) {
            let (last, receiver) = match base.kind() {
                "identifier" => (base, Receiver::None),
                "attribute" => match base.child_by_field_name("attribute") {
                    Some(last) => (last, receiver_of(walk, base)),
                    None => continue,
                },
                _ => continue,
            };
            bases.push(walk.spelt(last).to_owned());
            walk.refer(last, Use::Inherit, receiver);
            walk.mark_done(base);
        }
    }
    if let Some(definition) = walk.definition_mut(definition) {
        definition.bases = bases;
    }
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(name).into()));
}

fn parameters<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    for parameter in node.named_children(&mut cursor) {
        let name = match parameter.kind() {
            "default_parameter" | "typed_default_parameter" => parameter.child_by_field_name("name"),
            "typed_parameter" => parameter.named_child(0),
            _ => Some(parameter),
        };
        if let Some(name) = name {
            walk.bind_all(name, is_name, is_read);
        }
    }
}

fn bind<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    let Some(pattern) = node.child_by_field_name(field) else { return };
    match walk.is_in_function() {
        true => walk.bind_all(pattern, is_name, is_read),
        false => define_all(walk, pattern, pattern),
    }
}

fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    match walk.scope_kind() {
        ScopeKind::Function => walk.bind_all(left, is_name, is_read),
        _ => define_all(walk, node, left),
    }
}

/// Variables of a module or a class, each where it is assigned first.
fn define_all<'t>(walk: &mut Walk<'t>, whole: Node<'t>, pattern: Node<'t>) {
    let kind = if walk.scope_kind() == ScopeKind::Type { Kind::Field } else { Kind::Variable };
    for node in crate::walk::nodes_in(pattern, is_read) {
        if node.kind() == "identifier" {
            match walk.is_defined_here(walk.spelt(node)) {
                true => walk.mark_done(node),
                false => drop(walk.define(whole, node, kind)),
            }
        }
    }
}

fn type_alias<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let name = node.child_by_field_name("left").and_then(|left| left.named_child(0));
    if let Some(name) = name.filter(|name| name.kind() == "identifier") {
        walk.define(node, name, Kind::Type);
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    match function.kind() {
        "identifier" => walk.refer(function, Use::Call, Receiver::None),
        "attribute" => {
            let receiver = receiver_of(walk, function);
            walk.call_member(function, "attribute", receiver);
        }
        _ => {}
    }
}

/// Returns the receiver of an attribute.
fn receiver_of(walk: &Walk<'_>, node: Node<'_>) -> Receiver {
    let Some(object) = node.child_by_field_name("object") else { return Receiver::Expression };
    match object.kind() {
        "identifier" => match walk.spelt(object) {
            "self" | "cls" => Receiver::Own,
            name => Receiver::Name(name.into()),
        },
        "attribute" if is_plain(object) => match walk.spelt(object) {
            name if name.starts_with("self.") || name.starts_with("cls.") => Receiver::Expression,
            "" => Receiver::Expression,
            name => Receiver::Name(name.split_whitespace().collect()),
        },
        "call" if walk.field(object, "function") == "super" => Receiver::Base,
        _ => Receiver::Expression,
    }
}

/// Names with dots between them.
fn is_plain(node: Node<'_>) -> bool {
    let mut inner = node;
    for _ in 0..16 {
        match inner.kind() {
            "identifier" => return true,
            "attribute" => match inner.child_by_field_name("object") {
                Some(object) => inner = object,
                None => return false,
            },
            _ => return false,
        }
    }
    false
}

fn attribute<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("attribute") else { return };
    if walk.is_done(node) || walk.is_done(name) {
        return;
    }
    let receiver = receiver_of(walk, node);
    match receiver {
        Receiver::Expression => walk.mark_done(name),
        receiver => walk.refer(name, Use::Value, receiver),
    }
}

/// Names that a function assigns to and that are not its own.
fn outer_names<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let mut cursor = node.walk();
    for name in node.named_children(&mut cursor) {
        walk.leave_unbound(walk.spelt(name));
    }
    Go::Past
}

fn import<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let mut cursor = node.walk();
    let names: Vec<Node<'t>> = node.children_by_field_name("name", &mut cursor).collect();
    for name in names {
        match name.kind() {
            "aliased_import" => {
                let (module, alias) = (walk.field(name, "name"), walk.field(name, "alias"));
                walk.import(node, module, None, Some(alias), false);
            }
            _ => walk.import(node, walk.spelt(name), None, None, false),
        }
    }
    Go::Past
}

fn import_from<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let module: String = walk.field(node, "module_name").split_whitespace().collect();
    let mut cursor = node.walk();
    let names: Vec<Node<'t>> = node.children_by_field_name("name", &mut cursor).collect();
    for name in names {
        match name.kind() {
            "aliased_import" => {
                let (of, alias) = (walk.field(name, "name"), walk.field(name, "alias"));
                walk.import(name, &module, Some(of), Some(alias), false);
            }
            _ => walk.import(name, &module, Some(walk.spelt(name)), None, false),
        }
    }
    if crate::walk::child_of(node, "wildcard_import").is_some() {
        walk.import(node, &module, None, None, true);
    }
    Go::Past
}
