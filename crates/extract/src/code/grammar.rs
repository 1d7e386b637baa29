//! Which syntax nodes of each language are definitions, and what they are called.

use nuthatch_code::Language;
use tree_sitter::Node;

pub(crate) struct Grammar {
    pub(crate) language: Language,
    rules: &'static [Rule],
}

/// A node kind that defines something, the word its label begins with, and the field that holds members when it has
/// any.
struct Rule(&'static str, &'static str, Option<&'static str>);

pub(crate) struct Definition<'tree> {
    node: Node<'tree>,
    word: &'static str,
    /// The node whose children are members.
    pub(crate) body: Option<Node<'tree>>,
}

pub(crate) fn of(lang: &str) -> Option<Grammar> {
    let language = Language::of_name(lang)?;
    let rules = match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::JavaScript | Language::TypeScript | Language::Tsx => SCRIPT,
        Language::Go => GO,
        Language::Java => JAVA,
        Language::C | Language::Cpp => C,
    };
    Some(Grammar { language, rules })
}

const BODY: Option<&str> = Some("body");

const RUST: &[Rule] = &[
    Rule("function_item", "fn", None),
    Rule("impl_item", "impl", BODY),
    Rule("trait_item", "trait", BODY),
    Rule("mod_item", "mod", BODY),
    Rule("struct_item", "struct", None),
    Rule("enum_item", "enum", None),
    Rule("union_item", "union", None),
    Rule("macro_definition", "macro", None),
];

const PYTHON: &[Rule] = &[Rule("function_definition", "def", None), Rule("class_definition", "class", BODY)];

const SCRIPT: &[Rule] = &[
    Rule("function_declaration", "function", None),
    Rule("generator_function_declaration", "function", None),
    Rule("class_declaration", "class", BODY),
    Rule("abstract_class_declaration", "class", BODY),
    Rule("method_definition", "method", None),
    Rule("interface_declaration", "interface", None),
    Rule("type_alias_declaration", "type", None),
    Rule("enum_declaration", "enum", None),
    Rule("internal_module", "namespace", BODY),
];

const GO: &[Rule] = &[
    Rule("function_declaration", "func", None),
    Rule("method_declaration", "func", None),
    Rule("type_declaration", "type", None),
];

const JAVA: &[Rule] = &[
    Rule("class_declaration", "class", BODY),
    Rule("interface_declaration", "interface", BODY),
    Rule("enum_declaration", "enum", BODY),
    Rule("record_declaration", "record", BODY),
    Rule("annotation_type_declaration", "@interface", BODY),
    Rule("method_declaration", "method", None),
    Rule("constructor_declaration", "constructor", None),
];

const C: &[Rule] = &[
    Rule("function_definition", "fn", None),
    Rule("struct_specifier", "struct", BODY),
    Rule("class_specifier", "class", BODY),
    Rule("union_specifier", "union", None),
    Rule("enum_specifier", "enum", None),
    Rule("type_definition", "typedef", None),
    Rule("namespace_definition", "namespace", BODY),
];

/// How many wrappers (`export default`, decorators, templates, `const f = …`) are looked through.
const WRAPPERS_MAX: usize = 4;

impl Grammar {
    /// The definition in `node`, seen through its wrappers.
    pub(crate) fn definition<'tree>(&self, node: Node<'tree>) -> Option<Definition<'tree>> {
        let mut inner = node;
        for _ in 0..WRAPPERS_MAX {
            if let Some(Rule(_, word, body)) = self.rules.iter().find(|rule| rule.0 == inner.kind()) {
                let body = body.and_then(|field| inner.child_by_field_name(field));
                return Some(Definition { node: inner, word, body });
            }
            inner = unwrap(inner)?;
            if is_function_value(inner) {
                return Some(Definition { node: inner, word: "function", body: None });
            }
        }
        None
    }

    /// For example `fn parse`, `impl Display for Point`, `class Index`.
    pub(crate) fn label(&self, definition: &Definition, text: &str) -> String {
        let node = definition.node;
        let field = |name| node.child_by_field_name(name).map(|n| &text[n.byte_range()]);
        let name = match node.kind() {
            "impl_item" => match (field("trait"), field("type")) {
                (Some(interface), Some(of)) => format!("{interface} for {of}"),
                (_, of) => of.unwrap_or_default().to_owned(),
            },
            "method_declaration" if definition.word == "func" => {
                let receiver = field("receiver").unwrap_or_default();
                format!("{receiver} {}", field("name").unwrap_or_default())
            }
            "type_declaration" => {
                let spec = node.named_child(0).and_then(|spec| spec.child_by_field_name("name"));
                spec.map_or("", |name| &text[name.byte_range()]).to_owned()
            }
            _ => field("name").map_or_else(|| declarator(node, text).to_owned(), str::to_owned),
        };
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = name.chars().take(LABEL_CHARS_MAX).collect();
        format!("{} {short}", definition.word).trim_end().to_owned()
    }
}

/// Longer names (a type of a page's length) would push the passage itself out of an embedder's window.
const LABEL_CHARS_MAX: usize = 80;

fn unwrap(node: Node) -> Option<Node> {
    match node.kind() {
        "export_statement"
        | "decorated_definition"
        | "ambient_declaration"
        | "template_declaration"
        | "linkage_specification"
        | "expression_statement" => {
            let field = ["declaration", "definition", "value", "body"].iter().find_map(|f| node.child_by_field_name(f));
            field.or_else(|| node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?))
        }
        "lexical_declaration" | "variable_declaration" => node.named_child(0),
        _ => None,
    }
}

/// `const f = (x) => …`
fn is_function_value(node: Node) -> bool {
    node.kind() == "variable_declarator"
        && node.child_by_field_name("value").is_some_and(|value| {
            matches!(value.kind(), "arrow_function" | "function_expression" | "generator_function" | "function")
        })
}

/// C hides a function's name inside declarators: `int (*f(void))[3]`.
fn declarator<'a>(node: Node, text: &'a str) -> &'a str {
    let mut inner = node;
    for _ in 0..16 {
        let Some(next) = inner.child_by_field_name("declarator") else { break };
        inner = next;
    }
    if inner == node { "" } else { &text[inner.byte_range()] }
}
