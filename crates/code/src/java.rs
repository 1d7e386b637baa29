//! Java: which nodes define, use and import names.

use tree_sitter::Node;

use crate::facts::{Kind, Receiver, Use};
use crate::walk::{Go, ScopeKind, Walk, child_of, is_dotted, nodes_in};

pub(crate) fn enter<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    match node.kind() {
        "class_declaration" | "record_declaration" => type_of(walk, node, Kind::Class),
        "interface_declaration" | "annotation_type_declaration" => type_of(walk, node, Kind::Interface),
        "enum_declaration" => type_of(walk, node, Kind::Enum),
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => method(walk, node),
        "annotation_type_element_declaration" => drop(walk.define_named(node, Kind::Declaration)),
        "enum_constant" => drop(walk.define_named(node, Kind::Variant)),
        "class_body" if walk.parent_kind() == "object_creation_expression" => {
            walk.open_scope(ScopeKind::Type, None, None);
        }
        "variable_declarator" => variable(walk, node),
        "formal_parameter"
        | "catch_formal_parameter"
        | "enhanced_for_statement"
        | "resource"
        | "instanceof_expression" => {
            bind(walk, node, "name");
        }
        "spread_parameter" | "inferred_parameters" | "type_pattern" | "record_pattern_component" => {
            bind_children(walk, node);
        }
        "lambda_expression" => {
            let only = node.child_by_field_name("parameters").filter(|only| only.kind() == "identifier");
            only.into_iter().for_each(|only| walk.bind_all(only, |kind| kind == "identifier", |_| false));
        }
        "method_invocation" => call(walk, node),
        "object_creation_expression" => creation(walk, node),
        "method_reference" => method_reference(walk, node),
        "field_access" => field(walk, node),
        "annotation" | "marker_annotation" => annotation(walk, node),
        "superclass" | "super_interfaces" | "extends_interfaces" => heritage(walk, node),
        "import_declaration" => return import(walk, node),
        "package_declaration" | "line_comment" | "block_comment" => return Go::Past,
        "type_identifier" if !walk.is_done(node) => walk.refer(node, Use::Type, Receiver::None),
        "identifier" if !walk.is_done(node) => match walk.parent_kind() {
            "break_statement" | "continue_statement" | "labeled_statement" | "element_value_pair" => {}
            _ => walk.refer(node, Use::Value, Receiver::None),
        },
        _ => {}
    }
    Go::Into
}

fn type_of<'t>(walk: &mut Walk<'t>, node: Node<'t>, kind: Kind) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let definition = walk.define(node, name, kind);
    let mut bases = Vec::new();
    for field in ["superclass", "interfaces"] {
        bases.extend(node.child_by_field_name(field).into_iter().flat_map(|list| base_names(walk, list)));
    }
    bases.extend(child_of(node, "extends_interfaces").into_iter().flat_map(|list| base_names(walk, list)));
    if let Some(definition) = walk.definition_mut(definition) {
        definition.bases = bases;
    }
    walk.open_scope(ScopeKind::Type, definition, Some(walk.spelt(name).into()));
}

fn base_names(walk: &Walk<'_>, list: Node<'_>) -> Vec<String> {
    let names = nodes_in(list, |kind| kind == "type_arguments").into_iter();
    names.filter(|node| node.kind() == "type_identifier").map(|node| walk.spelt(node).to_owned()).collect()
}

fn heritage<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for name in nodes_in(node, |kind| kind == "type_arguments") {
        if name.kind() == "type_identifier" {
            walk.refer(name, Use::Inherit, Receiver::None);
        }
    }
}

fn method<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let has_body = node.child_by_field_name("body").is_some();
    let definition = walk.define(node, name, if has_body { Kind::Method } else { Kind::Declaration });
    walk.open_scope(ScopeKind::Function, definition, None);
}

fn variable<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if walk.scope_kind() == ScopeKind::Function {
        walk.mark_done(name);
        walk.bind(walk.spelt(name));
        return;
    }
    let whole = walk.parent().filter(|parent| parent.kind().ends_with("_declaration")).unwrap_or(node);
    walk.define(whole, name, Kind::Field);
}

fn bind<'t>(walk: &mut Walk<'t>, node: Node<'t>, field: &str) {
    if let Some(name) = node.child_by_field_name(field).filter(|name| name.kind() == "identifier") {
        walk.mark_done(name);
        walk.bind(walk.spelt(name));
    }
}

fn bind_children<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let all: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
    for child in all {
        if child.kind() == "identifier" {
            walk.mark_done(child);
            walk.bind(walk.spelt(child));
        }
    }
}

fn receiver_of(walk: &Walk<'_>, object: Option<Node<'_>>) -> Receiver {
    let Some(object) = object else { return Receiver::None };
    match object.kind() {
        "this" => Receiver::Own,
        "super" => Receiver::Base,
        "identifier" | "type_identifier" => Receiver::Name(walk.spelt(object).into()),
        "field_access" | "scoped_type_identifier" | "scoped_identifier" => {
            let name = walk.spelt(object);
            let is_plain = is_dotted(name) && !name.starts_with("this.");
            match is_plain {
                true if name.ends_with(".this") => Receiver::Own,
                true if name.ends_with(".super") => Receiver::Base,
                true => Receiver::Name(name.into()),
                false => Receiver::Expression,
            }
        }
        _ => Receiver::Expression,
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let object = node.child_by_field_name("object");
    let receiver = match (object, child_of(node, "super")) {
        (None, Some(_)) => Receiver::Base,
        _ => receiver_of(walk, object),
    };
    object.filter(|object| object.kind() == "field_access").into_iter().for_each(|object| walk.mark_done(object));
    walk.refer(name, Use::Call, receiver);
}

fn creation<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(mut of) = node.child_by_field_name("type") else { return };
    if of.kind() == "generic_type" {
        of = of.named_child(0).unwrap_or(of);
    }
    match of.kind() {
        "type_identifier" => walk.refer(of, Use::Call, Receiver::None),
        "scoped_type_identifier" => {
            let count = u32::try_from(of.named_child_count()).unwrap_or(0);
            let Some(last) = count.checked_sub(1).and_then(|last| of.named_child(last)) else { return };
            let receiver = receiver_of(walk, of.named_child(0).filter(|_| count > 1));
            walk.refer(last, Use::Call, receiver);
        }
        _ => {}
    }
}

/// `Index::search`
fn method_reference<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let count = u32::try_from(node.named_child_count()).unwrap_or(0);
    let Some(name) = count.checked_sub(1).and_then(|last| node.named_child(last)) else { return };
    if name.kind() == "identifier" && count > 1 {
        let receiver = receiver_of(walk, node.named_child(0));
        walk.refer(name, Use::Value, receiver);
    }
}

fn field<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let Some(name) = node.child_by_field_name("field") else { return };
    if walk.is_done(node) || walk.is_done(name) {
        return walk.mark_done(name);
    }
    match receiver_of(walk, node.child_by_field_name("object")) {
        Receiver::Expression => walk.mark_done(name),
        receiver => walk.refer(name, Use::Value, receiver),
    }
}

fn annotation<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    if let Some(name) = node.child_by_field_name("name").filter(|name| name.kind() == "identifier") {
        walk.refer(name, Use::Type, Receiver::None);
    }
}

/// `import static a.b.C.f;`, `import a.b.*;`
fn import<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Go {
    let Some(path) = child_of(node, "scoped_identifier").or_else(|| child_of(node, "identifier")) else {
        return Go::Past;
    };
    let path: String = walk.spelt(path).split_whitespace().collect();
    if child_of(node, "asterisk").is_some() {
        walk.import(node, &path, None, None, true);
    } else if let Some((module, name)) = path.rsplit_once('.') {
        walk.import(node, module, Some(name), None, false);
    }
    Go::Past
}
