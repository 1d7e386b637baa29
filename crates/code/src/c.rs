//! C and C++: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk, child_of, nodes_in};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "function_definition" => function(walk, node),
        "declaration" | "field_declaration" => declaration(walk, node),
        "parameter_declaration" | "optional_parameter_declaration" | "for_range_loop" => parameter(walk, node),
        "struct_specifier" => type_of(walk, node, Kind::Struct),
        "class_specifier" => type_of(walk, node, Kind::Class),
        "union_specifier" => type_of(walk, node, Kind::Union),
        "enum_specifier" => type_of(walk, node, Kind::Enum),
        "enumerator" => drop(walk.define_named(node, Kind::Variant)),
        "type_definition" => type_definition(walk, node),
        "alias_declaration" | "concept_definition" => drop(walk.define_named(node, Kind::Type)),
        "namespace_definition" => namespace(walk, node),
        "preproc_def" | "preproc_function_def" => return macro_of(walk, node),
        "preproc_include" => return include(walk, node),
        "preproc_arg" => walk.refer_in_text(node),
        "lambda_expression" => walk.open_scope(ScopeKind::Function, None, None),
        "call_expression" => call(walk, node),
        "new_expression" => creation(walk, node),
        "base_class_clause" => heritage(walk, node),
        "qualified_identifier" => qualified(walk, node),
        "comment" => return Go::Past,
        "type_identifier" if !walk.is_done(node) => walk.refer(node, Use::Type, Receiver::None),
        "identifier" if !walk.is_done(node) => walk.refer(node, Use::Value, Receiver::None),
        "field_identifier" if !walk.is_done(node) => field(walk, node),
        _ => {}
    }
    Go::Into
}

/// Returns the node of the name that a declarator declares, and whether it is a function. C hides names: `int
/// (*f(void))[3]`.
fn declared(node: Node<'_>) -> (Node<'_>, bool) {
    let (mut inner, mut is_function) = (node, false);
    for _ in 0..32 {
        let kind = inner.kind();
        let next = inner.child_by_field_name("declarator").or_else(|| match kind {
            "parenthesized_declarator" | "reference_declarator" | "attributed_declarator" => inner.named_child(0),
            _ => None,
        });
        let Some(next) = next else { break };
        if kind == "function_declarator" {
            // `int (*f)(void)` is a variable.
            let is_pointer = next.kind() == "parenthesized_declarator"
                && next.named_child(0).is_some_and(|inner| inner.kind() == "pointer_declarator");
            is_function = !is_pointer;
        }
        inner = next;
    }
    (inner, is_function)
}

/// The last part of `Outer::Inner::name`, and what stands before it.
fn unqualified(node: Node<'_>) -> (Node<'_>, Option<Node<'_>>) {
    let (mut inner, mut scope) = (node, None);
    for _ in 0..16 {
        if inner.kind() != "qualified_identifier" {
            break;
        }
        scope = inner.child_by_field_name("scope").or(scope);
        let Some(name) = inner.child_by_field_name("name") else { break };
        inner = name;
    }
    if matches!(inner.kind(), "template_function" | "template_method" | "template_type") {
        inner = inner.child_by_field_name("name").unwrap_or(inner);
    }
    (inner, scope)
}

fn plain_scope<'t>(walk: &Walk<'t>, scope: Node<'t>) -> &'t str {
    match scope.kind() {
        "template_type" => walk.field(scope, "name"),
        _ => walk.spelt(scope),
    }
}

fn is_static(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .any(|child| child.kind() == "storage_class_specifier" && walk.spelt(child) == "static")
}

fn function<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(declarator) = node.child_by_field_name("declarator") else { return };
    let (name, _) = declared(declarator);
    let (last, scope) = unqualified(name);
    let in_type = walk.owner().is_some();
    let kind = if in_type || scope.is_some() { Kind::Method } else { Kind::Function };
    let is_private = !in_type && is_static(walk, node);
    walk.mark_done(name);
    walk.mark_done(last);
    if walk.is_keyword(walk.spelt(last)) {
        return; // what follows a part that does not fit the grammar
    }
    let definition = walk.define_as(node, last, walk.spelt(last), kind);
    let owner = scope.map(|scope| plain_scope(walk, scope).to_owned());
    if let Some(definition) = walk.definition_mut(definition) {
        definition.is_private = is_private;
        definition.owner = owner.clone().or_else(|| definition.owner.clone());
    }
    walk.open_scope(ScopeKind::Function, definition, owner);
}

/// Prototypes, variables and fields; in a function, variables of its own.
fn declaration<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let declarators: Vec<Node<'t>> = node.children_by_field_name("declarator", &mut cursor).collect();
    let is_field = node.kind() == "field_declaration";
    for declarator in declarators {
        let (name, is_function) = declared(declarator);
        let (last, scope) = unqualified(name);
        if !matches!(last.kind(), "identifier" | "field_identifier" | "destructor_name" | "operator_name") {
            continue;
        }
        if is_function {
            if walk.scope_kind() != ScopeKind::Function {
                walk.mark_done(name);
                walk.define_as(node, last, walk.spelt(last), Kind::Declaration);
            }
            walk.mark_done(last);
        } else if walk.scope_kind() == ScopeKind::Function {
            walk.mark_done(last);
            walk.bind(walk.spelt(last));
        } else if is_field {
            walk.define(node, last, Kind::Field);
        } else if scope.is_none() && !is_extern(walk, node) {
            let is_private = is_static(walk, node);
            let definition = walk.define(node, last, Kind::Variable);
            if let Some(definition) = walk.definition_mut(definition) {
                definition.is_private = is_private;
            }
        } else {
            walk.mark_done(last);
        }
    }
}

fn is_extern(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .any(|child| child.kind() == "storage_class_specifier" && walk.spelt(child) == "extern")
}

fn parameter<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(declarator) = node.child_by_field_name("declarator") else { return };
    let (name, _) = declared(declarator);
    if name.kind() == "identifier" {
        walk.mark_done(name);
        walk.bind(walk.spelt(name));
    }
}

fn type_of<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    let (Some(name), body) = (node.child_by_field_name("name"), node.child_by_field_name("body")) else {
        if node.child_by_field_name("body").is_some() {
            walk.open_scope(ScopeKind::Type, None, None);
        }
        return;
    };
    if body.is_none() {
        return;
    }
    let (last, _) = unqualified(name);
    walk.mark_done(name);
    let definition = walk.define(node, last, kind);
    let bases = child_of(node, "base_class_clause").map(|list| {
        let names = nodes_in(list, |kind| kind == "template_argument_list").into_iter();
        names.filter(|node| node.kind() == "type_identifier").map(|node| walk.spelt(node).to_owned()).collect()
    });
    if let Some(definition) = walk.definition_mut(definition) {
        definition.bases = bases.unwrap_or_default();
    }
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(last).into()));
}

fn heritage<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for name in nodes_in(node, |kind| kind == "template_argument_list") {
        if name.kind() == "type_identifier" {
            walk.refer(name, Use::Inherit, Receiver::None);
        }
    }
}

fn type_definition<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let declarators: Vec<Node<'t>> = node.children_by_field_name("declarator", &mut cursor).collect();
    for declarator in declarators {
        let (name, _) = declared(declarator);
        if matches!(name.kind(), "type_identifier" | "identifier" | "primitive_type") {
            walk.define(node, name, Kind::Type);
        }
    }
}

fn namespace<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, Kind::Module);
    walk.open_scope(ScopeKind::Module, definition, None);
}

fn macro_of<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let Some(name) = node.child_by_field_name("name") else { return Go::Past };
    let definition = walk.define(node, name, Kind::Macro);
    if let Some(value) = node.child_by_field_name("value") {
        walk.open_scope(ScopeKind::Function, definition, None);
        walk.refer_in_text(value);
    }
    Go::Past
}

fn include<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let path = walk.field(node, "path").trim_matches(['"', '<', '>']);
    walk.import(node, path, None, None, true);
    Go::Past
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    match function.kind() {
        "identifier" => walk.refer(function, Use::Call, Receiver::None),
        "template_function" => {
            if let Some(name) = function.child_by_field_name("name") {
                walk.refer(name, Use::Call, Receiver::None);
            }
        }
        "field_expression" => {
            let Some(name) = function.child_by_field_name("field") else { return };
            let (name, _) = unqualified(name);
            let receiver = match function.child_by_field_name("argument") {
                Some(of) if of.kind() == "this" => Receiver::Own,
                Some(of) if of.kind() == "identifier" => Receiver::Name(walk.spelt(of).into()),
                _ => Receiver::Expression,
            };
            walk.refer(name, Use::Call, receiver);
        }
        "qualified_identifier" => {
            let (name, scope) = unqualified(function);
            let receiver = match scope.map(|scope| plain_scope(walk, scope)) {
                None => Receiver::None,
                Some("") => Receiver::Expression,
                Some(scope) => Receiver::Name(scope.into()),
            };
            walk.mark_done(function);
            walk.refer(name, Use::Call, receiver);
        }
        _ => {}
    }
}

fn creation<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(of) = node.child_by_field_name("type") else { return };
    let (name, _) = unqualified(of);
    if name.kind() == "type_identifier" {
        walk.refer(name, Use::Call, Receiver::None);
    }
}

fn qualified<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    if walk.is_done(node) || walk.parent_kind() == "qualified_identifier" {
        return;
    }
    let (name, scope) = unqualified(node);
    if walk.is_done(name) {
        return;
    }
    let how = if name.kind() == "type_identifier" { Use::Type } else { Use::Value };
    let receiver = scope.map(|scope| Receiver::Name(plain_scope(walk, scope).into())).unwrap_or(Receiver::None);
    walk.refer(name, how, receiver);
}

/// `this->run` without a call.
fn field<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(parent) = walk.parent().filter(|parent| parent.kind() == "field_expression") else { return };
    if parent.child_by_field_name("argument").is_some_and(|of| of.kind() == "this") {
        walk.refer(node, Use::Value, Receiver::Own);
    }
}
