//! JavaScript, TypeScript and TSX: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk, child_of, is_dotted, nodes_in};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_expression" | "generator_function" => {
            function(walk, node);
        }
        "function_signature" => drop(walk.define_named(node, Kind::Declaration)),
        "method_signature" | "abstract_method_signature" => drop(walk.define_named(node, Kind::Declaration)),
        "arrow_function" => arrow(walk, node),
        "method_definition" => method(walk, node),
        "class_declaration" | "abstract_class_declaration" | "class" => type_of(walk, node, Kind::Class),
        "interface_declaration" => type_of(walk, node, Kind::Interface),
        "enum_declaration" => type_of(walk, node, Kind::Enum),
        "type_alias_declaration" => drop(walk.define_named(node, Kind::Type)),
        "internal_module" | "module" => namespace(walk, node),
        "variable_declarator" => variable(walk, node),
        "public_field_definition" | "field_definition" => field(walk, node),
        "pair" => pair(walk, node),
        "assignment_expression" => assignment(walk, node),
        "formal_parameters" => parameters(walk, node),
        "catch_clause" => bind(walk, node, "parameter"),
        "for_in_statement" if node.child_by_field_name("kind").is_some() => bind(walk, node, "left"),
        "call_expression" => call(walk, node, "function"),
        "new_expression" => call(walk, node, "constructor"),
        "jsx_opening_element" | "jsx_self_closing_element" => element(walk, node),
        "jsx_closing_element" => node.child_by_field_name("name").into_iter().for_each(|name| walk.mark_done(name)),
        "member_expression" => member(walk, node),
        "class_heritage" | "extends_clause" | "implements_clause" | "extends_type_clause" => heritage(walk, node),
        "import_statement" => return import(walk, node),
        "export_statement" if node.child_by_field_name("source").is_some() => return export_from(walk, node),
        "comment" => return Go::Past,
        "type_identifier" if !walk.is_done(node) => walk.refer(node, Use::Type, Receiver::None),
        "identifier" | "shorthand_property_identifier" if !walk.is_done(node) => {
            walk.refer(node, Use::Value, Receiver::None);
        }
        _ => {}
    }
    Go::Into
}

fn is_name(kind: &str) -> bool {
    matches!(kind, "identifier" | "shorthand_property_identifier_pattern")
}

/// Whether nodes of this kind are read, not bound, in a pattern: types and values of parameters that are left out.
fn is_read(kind: &str) -> bool {
    kind.ends_with("expression")
        || kind == "type_annotation"
        || kind == "object"
        || kind == "array"
        || kind == "decorator"
}

fn function<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    // A function that is a value is named by what it is given to.
    let is_value = matches!(node.kind(), "function_expression" | "generator_function");
    if is_value && is_given_a_name(walk.parent()) {
        node.child_by_field_name("name").into_iter().for_each(|name| walk.mark_done(name));
        return open_function(walk);
    }
    let definition = walk.define_named(node, Kind::Function);
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn open_function(walk: &mut Walk<'_>) {
    walk.open_scope(ScopeKind::Function, None, None);
}

fn is_given_a_name(parent: Option<Node<'_>>) -> bool {
    parent.is_some_and(|parent| {
        matches!(
            parent.kind(),
            "variable_declarator" | "pair" | "assignment_expression" | "public_field_definition" | "field_definition"
        )
    })
}

fn arrow<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    open_function(walk);
    bind(walk, node, "parameter");
}

fn method<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let definition = walk.define_named(node, Kind::Method);
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn type_of<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    let Some(name) = node.child_by_field_name("name") else {
        return walk.open_scope(ScopeKind::Type, None, None);
    };
    let definition = walk.define(node, name, kind);
    let bases = bases(walk, node);
    if let Some(definition) = walk.definition_mut(definition) {
        definition.bases = bases;
    }
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(name).into()));
}

fn bases(walk: &Walk<'_>, node: Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["class_heritage", "extends_type_clause", "extends_clause"] {
        let Some(heritage) = child_of(node, kind) else { continue };
        let is_other = |kind: &str| matches!(kind, "type_arguments" | "call_expression" | "class_body" | "object");
        let names = nodes_in(heritage, is_other).into_iter();
        found.extend(
            names
                .filter(|node| matches!(node.kind(), "identifier" | "type_identifier" | "property_identifier"))
                .map(|node| walk.spelt(node).to_owned()),
        );
    }
    found
}

fn heritage<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let names: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
    for name in names {
        let name = if name.kind() == "generic_type" { name.child_by_field_name("name").unwrap_or(name) } else { name };
        if matches!(name.kind(), "identifier" | "type_identifier") {
            walk.refer(name, Use::Inherit, Receiver::None);
        }
    }
}

fn namespace<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let definition = node
        .child_by_field_name("name")
        .filter(|name| name.kind() == "identifier")
        .and_then(|name| walk.define(node, name, Kind::Module));
    if definition.is_some() {
        walk.open_scope(ScopeKind::Module, definition, None);
    }
}

fn is_function(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function" | "function")
    })
}

fn variable<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let (Some(name), value) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else { return };
    if let Some(module) = value.and_then(|value| required(walk, value)) {
        return require(walk, node, name, module);
    }
    match name.kind() {
        "identifier" if is_function(value) => {
            let definition = walk.define(node, name, Kind::Function);
            open_below(walk, definition);
        }
        "identifier" if value.is_some_and(|value| value.kind() == "class") => {
            walk.define(node, name, Kind::Class);
        }
        "identifier" if !walk.is_in_function() => drop(walk.define(node, name, Kind::Variable)),
        _ if walk.is_in_function() => walk.bind_all(name, is_name, is_read),
        _ => {
            for name in nodes_in(name, is_read) {
                if is_name(name.kind()) {
                    walk.define(node, name, Kind::Variable);
                }
            }
        }
    }
}

/// Places everything below a definition inside it, if the definition opens no scope itself.
fn open_below(walk: &mut Walk<'_>, definition: Option<u32>) {
    if definition.is_some() {
        walk.open_scope(ScopeKind::Module, definition, None);
    }
}

/// The module of `require('module')`.
fn required<'t>(walk: &Walk<'t>, value: Node<'t>) -> Option<&'t str> {
    if value.kind() != "call_expression" || walk.field(value, "function") != "require" {
        return None;
    }
    let argument = value.child_by_field_name("arguments")?.named_child(0)?;
    (argument.kind() == "string").then(|| unquoted(walk.spelt(argument)))
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

fn require<'t>(walk: &mut Walk<'t>, node: Node<'t>, name: Node<'t>, module: &str) {
    if name.kind() == "identifier" {
        walk.mark_done(name);
        return walk.import(node, module, None, Some(walk.spelt(name)), false);
    }
    let mut cursor = name.walk();
    let parts: Vec<Node<'t>> = name.named_children(&mut cursor).collect();
    for part in parts {
        walk.mark_done(part);
        match part.kind() {
            "shorthand_property_identifier_pattern" => {
                walk.import(node, module, Some(walk.spelt(part)), None, false);
            }
            "pair_pattern" => {
                part.child_by_field_name("value").into_iter().for_each(|value| walk.mark_done(value));
                walk.import(node, module, Some(walk.field(part, "key")), Some(walk.field(part, "value")), false);
            }
            _ => {}
        }
    }
}

fn field<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let name = node.child_by_field_name("property").or_else(|| node.child_by_field_name("name"));
    let Some(name) = name else { return };
    let is_method = is_function(node.child_by_field_name("value"));
    let definition = walk.define(node, name, if is_method { Kind::Method } else { Kind::Field });
    open_below(walk, definition.filter(|_| is_method));
}

/// `{ run: function () {} }`
fn pair<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(key) = node.child_by_field_name("key") else { return };
    if key.kind() == "property_identifier" && is_function(node.child_by_field_name("value")) {
        let definition = walk.define(node, key, Kind::Method);
        open_below(walk, definition);
    }
}

/// `exports.run = function () {}`, `Index.prototype.run = () => {}`
fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let (Some(left), right) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else { return };
    if !is_function(right) {
        return;
    }
    match left.kind() {
        "member_expression" => {
            let Some(name) = left.child_by_field_name("property") else { return };
            let object = walk.field(left, "object");
            let owner = object.strip_suffix(".prototype").map(str::to_owned);
            let kind = if owner.is_some() { Kind::Method } else { Kind::Function };
            walk.mark_done(left);
            let definition = walk.define(node, name, kind);
            if let Some(definition) = walk.definition_mut(definition) {
                definition.owner = owner;
                definition.head_end = right.map_or(definition.head_end, |right| right.start_byte() as u32);
            }
            open_below(walk, definition);
        }
        "identifier" if !walk.is_in_function() && !walk.is_defined_here(walk.spelt(left)) => {
            let definition = walk.define(node, left, Kind::Function);
            open_below(walk, definition);
        }
        _ => {}
    }
}

fn parameters<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let all: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
    for parameter in all {
        let pattern = match parameter.kind() {
            "required_parameter" | "optional_parameter" => parameter.child_by_field_name("pattern"),
            "assignment_pattern" => parameter.child_by_field_name("left"),
            _ => Some(parameter),
        };
        pattern.into_iter().for_each(|pattern| walk.bind_all(pattern, is_name, is_read));
    }
}

fn bind<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    if let Some(pattern) = node.child_by_field_name(field) {
        walk.bind_all(pattern, is_name, is_read);
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    let Some(function) = node.child_by_field_name(field) else { return };
    match function.kind() {
        "identifier" => walk.refer(function, Use::Call, Receiver::None),
        "member_expression" => {
            let receiver = receiver_of(walk, function);
            walk.call_member(function, "property", receiver);
        }
        _ => {}
    }
}

fn receiver_of(walk: &Walk<'_>, node: Node<'_>) -> Receiver {
    let Some(object) = node.child_by_field_name("object") else { return Receiver::Expression };
    match object.kind() {
        "this" => Receiver::Own,
        "super" => Receiver::Base,
        "identifier" => Receiver::Name(walk.spelt(object).into()),
        "member_expression" => {
            let name = walk.spelt(object);
            let is_plain = is_dotted(name) && !name.starts_with("this.");
            if is_plain { Receiver::Name(name.into()) } else { Receiver::Expression }
        }
        _ => Receiver::Expression,
    }
}

/// `<Button/>`: names in small letters are elements of HTML.
fn element<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name").filter(|name| name.kind() == "identifier") else { return };
    match walk.spelt(name).starts_with(char::is_uppercase) {
        true => walk.refer(name, Use::Call, Receiver::None),
        false => walk.mark_done(name),
    }
}

fn member<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("property") else { return };
    if walk.is_done(node) || walk.is_done(name) {
        return;
    }
    match receiver_of(walk, node) {
        Receiver::Expression => walk.mark_done(name),
        receiver => walk.refer(name, Use::Value, receiver),
    }
}

fn import<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let Some(source) = node.child_by_field_name("source") else { return Go::Past };
    let module = unquoted(walk.spelt(source));
    let Some(clause) = child_of(node, "import_clause") else {
        walk.import(node, module, None, None, false);
        return Go::Past;
    };
    let mut cursor = clause.walk();
    let parts: Vec<Node<'t>> = clause.named_children(&mut cursor).collect();
    for part in parts {
        match part.kind() {
            "identifier" => walk.import(node, module, Some("default"), Some(walk.spelt(part)), false),
            "namespace_import" => {
                let alias = part.named_child(0).map(|name| walk.spelt(name));
                walk.import(node, module, None, alias, false);
            }
            "named_imports" => specifiers(walk, part, module),
            _ => {}
        }
    }
    Go::Past
}

fn specifiers<'t>(walk: &mut Walk<'t>, list: Node<'t>, module: &str) {
    let mut cursor = list.walk();
    let all: Vec<Node<'t>> = list.named_children(&mut cursor).collect();
    for one in all {
        if matches!(one.kind(), "import_specifier" | "export_specifier") {
            let alias = walk.field(one, "alias");
            let alias = Some(alias).filter(|alias| !alias.is_empty());
            walk.import(one, module, Some(walk.field(one, "name")), alias, false);
        }
    }
}

fn export_from<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let module = unquoted(walk.field(node, "source"));
    match child_of(node, "export_clause") {
        Some(clause) => specifiers(walk, clause, module),
        None => walk.import(node, module, None, None, true),
    }
    Go::Past
}
