//! Go: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk, nodes_in};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "function_declaration" => function(walk, node, Kind::Function),
        "method_declaration" => method(walk, node),
        "method_elem" | "method_spec" => drop(walk.define_named(node, Kind::Declaration)),
        "func_literal" => walk.open_scope(ScopeKind::Function, None, None),
        "type_spec" | "type_alias" => type_of(walk, node),
        "const_spec" => variables(walk, node, Kind::Constant),
        "var_spec" => variables(walk, node, Kind::Variable),
        "short_var_declaration" | "range_clause" | "receive_statement" => bind(walk, node, "left"),
        "type_switch_statement" => bind(walk, node, "alias"),
        "parameter_declaration" | "variadic_parameter_declaration" => parameters(walk, node),
        "field_declaration" => fields(walk, node),
        "keyed_element" => key(walk, node),
        "call_expression" => call(walk, node),
        "selector_expression" => selector(walk, node),
        "qualified_type" => qualified(walk, node),
        "import_spec" => return import(walk, node),
        "package_clause" | "comment" | "label_name" => return Go::Past,
        "type_identifier" if !walk.is_done(node) => walk.refer(node, Use::Type, Receiver::None),
        "identifier" if !walk.is_done(node) => walk.refer(node, Use::Value, Receiver::None),
        _ => {}
    }
    Go::Into
}

fn is_name(kind: &str) -> bool {
    kind == "identifier"
}

fn is_read(kind: &str) -> bool {
    kind.ends_with("_expression")
}

fn names<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).filter(|name| name.is_named()).collect()
}

fn function<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, kind);
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn method<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, Kind::Method);
    let receiver = node.child_by_field_name("receiver").map(|receiver| nodes_in(receiver, |_| false));
    let receiver = receiver.unwrap_or_default();
    let find = |kind: &str| receiver.iter().find(|node| node.kind() == kind).copied();
    // Of `(s *Stack[T])`, type parameters come after the type.
    let owner = find("generic_type").and_then(|of| of.child_by_field_name("type")).or_else(|| find("type_identifier"));
    let owner = owner.map(|owner| walk.spelt(owner).to_owned());
    if let Some(definition) = walk.definition_mut(definition) {
        definition.owner.clone_from(&owner);
    }
    walk.open_scope(ScopeKind::Function, definition, owner);
    if let Some(own) = find("identifier") {
        walk.set_own_name(walk.spelt(own));
    }
}

fn type_of<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let kind = match node.child_by_field_name("type").map(|of| of.kind()) {
        Some("struct_type") => Kind::Struct,
        Some("interface_type") => Kind::Interface,
        _ => Kind::Type,
    };
    let definition = walk.define(node, name, kind);
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(name).into()));
}

fn variables<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    for name in names(node, "name") {
        match walk.is_in_function() {
            true => {
                walk.mark_done(name);
                walk.bind(walk.spelt(name));
            }
            false => drop(walk.define(node, name, kind)),
        }
    }
}

fn bind<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    let is_new = node.kind() != "range_clause" || walk.text[node.byte_range()].windows(2).any(|pair| pair == b":=");
    if let Some(left) = node.child_by_field_name(field).filter(|_| is_new) {
        walk.bind_all(left, is_name, is_read);
    }
}

fn parameters<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for name in names(node, "name") {
        walk.mark_done(name);
        if !walk.is_own_name(walk.spelt(name)) {
            walk.bind(walk.spelt(name));
        }
    }
}

fn fields<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for name in names(node, "name") {
        walk.define(node, name, Kind::Field);
    }
}

/// `Point{x: 1}`: the key of a structure is a field.
fn key<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let key = node.child_by_field_name("key").and_then(|key| key.named_child(0));
    if let Some(key) = key.filter(|key| key.kind() == "identifier") {
        walk.mark_done(key);
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(mut function) = node.child_by_field_name("function") else { return };
    for _ in 0..8 {
        let inner = match function.kind() {
            "parenthesized_expression" => function.named_child(0),
            "type_instantiation_expression" => function.child_by_field_name("type"),
            "index_expression" => function.child_by_field_name("operand"),
            _ => None,
        };
        let Some(inner) = inner else { break };
        function = inner;
    }
    match function.kind() {
        "identifier" | "type_identifier" => walk.refer(function, Use::Call, Receiver::None),
        "selector_expression" => {
            let receiver = receiver_of(walk, function);
            walk.call_member(function, "field", receiver);
        }
        _ => {}
    }
}

fn receiver_of(walk: &Walk<'_>, node: Node<'_>) -> Receiver {
    match node.child_by_field_name("operand") {
        Some(operand) if operand.kind() == "identifier" => match walk.spelt(operand) {
            name if walk.is_own_name(name) => Receiver::Own,
            name => Receiver::Name(name.into()),
        },
        _ => Receiver::Expression,
    }
}

fn selector<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("field") else { return };
    if walk.is_done(node) || walk.is_done(name) {
        return;
    }
    match receiver_of(walk, node) {
        Receiver::Expression => walk.mark_done(name),
        receiver => walk.refer(name, Use::Value, receiver),
    }
}

fn qualified<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if !walk.is_done(name) {
        let package = walk.field(node, "package").to_owned();
        walk.refer(name, Use::Type, Receiver::Name(package));
    }
}

fn import<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let module = walk.field(node, "path").trim_matches(['"', '`']);
    match node.child_by_field_name("name") {
        Some(name) if name.kind() == "dot" => walk.import(node, module, None, None, true),
        Some(name) => walk.import(node, module, None, Some(walk.spelt(name)), false),
        None => walk.import(node, module, None, None, false),
    }
    Go::Past
}
