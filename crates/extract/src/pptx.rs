//! Slides of Office: each slide's text in the order of its shapes, then its diagrams and notes.

use std::collections::{HashMap, HashSet};

use crate::ooxml::{Flow, Relation, main_member, relations, title};
use crate::package::Package;
use crate::part::{Gap, Part};
use crate::read::Read;
use crate::split::Style;
use crate::xml::{Tag, Visit, walk};

pub(crate) fn read(package: &mut Package) -> Result<Read, String> {
    let main = main_member(package, "ppt/presentation.xml")?;
    let mut order = Order(Vec::new());
    walk(&package.text(&main)?, &main, &mut order)?;
    let members = relations(package, &main)?;
    let members: HashMap<&str, &Relation> = members.iter().map(|relation| (relation.id.as_str(), relation)).collect();
    let mut seen = HashSet::new();
    let mut read = Read { title: title(package)?, ..Read::default() };
    for (number, id) in (1..).zip(&order.0) {
        let Some(slide) = members.get(id.as_str()).filter(|slide| seen.insert(slide.target.clone())) else { continue };
        let mut part = Part::new(Style::Prose);
        part.page = Some(number);
        match add_slide(package, &slide.target, &mut part, &mut seen) {
            Ok(heading) => read.title = read.title.take().or(heading),
            Err(what) => read.warnings.push(format!("slide {number} is left out, or a part of it: {what}")),
        }
        read.add(part)?;
    }
    read.unless_lost("slide")
}

/// Gives the slide's title. A member that is `seen` is not read again.
fn add_slide(
    package: &mut Package,
    member: &str,
    part: &mut Part,
    seen: &mut HashSet<String>,
) -> Result<Option<String>, String> {
    let no_roles = HashMap::new();
    let mut flow = Flow::new(part, &no_roles);
    walk(&package.text(member)?, member, &mut flow)?;
    let heading = flow.first_heading.take();
    let beside = relations(package, member)?;
    let of = |kind: &'static str| beside.iter().filter(move |relation: &&Relation| relation.kind == kind);
    for relation in of("diagramData").chain(of("notesSlide")) {
        if !seen.insert(relation.target.clone()) {
            continue;
        }
        part.gap(Gap::Block);
        walk(&package.text(&relation.target)?, &relation.target, &mut Flow::new(part, &no_roles))?;
    }
    Ok(heading)
}

/// Slides' relations in the order in which they are shown.
struct Order(Vec<String>);

impl Visit for Order {
    fn open(&mut self, tag: &Tag) -> bool {
        if tag.name() == "sldId" {
            self.0.extend(tag.prefixed("id").map(|id| id.into_owned()));
        }
        true
    }
}
