//! Word processing of Office: the body, then notes, comments, headers and footers; headings by their style.

use std::collections::{HashMap, HashSet};

use crate::ooxml::{Flow, Relation, Role, main_member, relations, title};
use crate::package::Package;
use crate::part::{Gap, Part};
use crate::read::{Content, Read};
use crate::split::Style;
use crate::xml::{Tag, Visit, walk};

pub(crate) fn read(package: &mut Package) -> Result<Read, String> {
    let main = main_member(package, "word/document.xml")?;
    let body = package.text(&main)?;
    let beside = relations(package, &main)?;
    let roles = match beside.iter().find(|relation| relation.kind == "styles") {
        Some(styles) => roles(package, &styles.target)?,
        None => HashMap::new(),
    };
    let mut part = Part::new(Style::Prose);
    let mut flow = Flow::new(&mut part, &roles);
    walk(&body, &main, &mut flow)?;
    let own_title = flow.title.take().or(flow.first_heading.take());
    let warnings = add_beside(package, &mut part, &beside, &roles);
    Ok(Read { title: title(package)?.or(own_title), parts: vec![Content::Part(part)], warnings })
}

/// The parts outside the body, in this order, under headings that name them. Damage there causes only a warning.
const BESIDE: &[(&str, &str)] = &[
    ("footnotes", "Footnotes"),
    ("endnotes", "Endnotes"),
    ("comments", "Comments"),
    ("header", "Headers and footers"),
    ("footer", "Headers and footers"),
];

fn add_beside(
    package: &mut Package,
    part: &mut Part,
    beside: &[Relation],
    roles: &HashMap<String, Role>,
) -> Vec<String> {
    let (mut warnings, mut members, mut seen) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut last_name = "";
    for (kind, name) in BESIDE {
        for relation in beside.iter().filter(|relation| relation.kind == *kind) {
            if !members.insert(&relation.target) {
                continue;
            }
            match package.text(&relation.target) {
                // Each section of a document may have the same header in a member of its own.
                Ok(xml) if !seen.contains(&xml) => {
                    if *name != last_name {
                        part.gap(Gap::Block);
                        part.under(1, name);
                        last_name = name;
                    }
                    if let Err(what) = walk(&xml, &relation.target, &mut Flow::new(part, roles)) {
                        warnings.push(what);
                    }
                    seen.insert(xml);
                }
                Ok(_) => {}
                Err(what) => warnings.push(what),
            }
        }
    }
    warnings
}

/// Which paragraph styles are headings, by their name, their outline level, or the style that they are based on.
fn roles(package: &mut Package, member: &str) -> Result<HashMap<String, Role>, String> {
    #[derive(Default)]
    struct Styles {
        roles: HashMap<String, Role>,
        based_on: Vec<(String, String)>,
        id: String,
    }
    impl Visit for Styles {
        fn open(&mut self, tag: &Tag) -> bool {
            let value = || tag.attribute("val").unwrap_or_default();
            match tag.name() {
                "style" => self.id = tag.attribute("styleId").unwrap_or_default().into_owned(),
                "name" => {
                    if let Some(role) = role_of(&value()) {
                        self.roles.insert(self.id.clone(), role);
                    }
                }
                "basedOn" => self.based_on.push((self.id.clone(), value().into_owned())),
                "outlineLvl" => {
                    if let Some(level @ 0..=8) = tag.number("val") {
                        self.roles.entry(self.id.clone()).or_insert(Role::Heading(level as u8 + 1));
                    }
                }
                _ => {}
            }
            true
        }
    }
    let Some(xml) = package.optional_text(member)? else { return Ok(HashMap::new()) };
    let mut styles = Styles::default();
    walk(&xml, member, &mut styles)?;
    // Chains of styles are short; what is deeper than this has no role.
    for _ in 0..4 {
        for (id, base) in &styles.based_on {
            if let Some(role) = styles.roles.get(base).copied() {
                styles.roles.entry(id.clone()).or_insert(role);
            }
        }
    }
    Ok(styles.roles)
}

/// Names of built-in styles are English in the file, whatever the program's language.
pub(crate) fn role_of(name: &str) -> Option<Role> {
    let name = name.trim().to_ascii_lowercase();
    match name.strip_prefix("heading ") {
        Some(level) => level.parse().ok().filter(|level| (1..=9).contains(level)).map(Role::Heading),
        None => (name == "title").then_some(Role::Title),
    }
}
