//! Elements common to Office's word processing and slides: paragraphs of runs, tables, relations, properties.

use std::collections::HashMap;

use crate::package::Package;
use crate::part::{Gap, Part};
use crate::xml::{Tag, Visit, element_text, walk};

/// Relations of a member: id, type's last word, target as a member's name.
pub(crate) struct Relation {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) target: String,
}

/// The relations of `member`; none when it has none.
pub(crate) fn relations(package: &mut Package, member: &str) -> Result<Vec<Relation>, String> {
    struct Read {
        folder: String,
        relations: Vec<Relation>,
    }
    impl Visit for Read {
        fn open(&mut self, tag: &Tag) -> bool {
            if tag.name() == "Relationship" && tag.attribute("TargetMode").as_deref() != Some("External") {
                let attribute = |name| tag.attribute(name).unwrap_or_default().into_owned();
                let kind = attribute("Type").rsplit('/').next().unwrap_or_default().to_owned();
                let target = resolve(&self.folder, &attribute("Target"));
                self.relations.push(Relation { id: attribute("Id"), kind, target });
            }
            true
        }
    }
    let (folder, file) = member.rsplit_once('/').unwrap_or(("", member));
    let slash = if folder.is_empty() { "" } else { "/" };
    let name = format!("{folder}{slash}_rels/{file}.rels");
    let mut read = Read { folder: folder.to_owned(), relations: Vec::new() };
    if let Some(xml) = package.optional_text(&name)? {
        walk(&xml, &name, &mut read)?;
    }
    Ok(read.relations)
}

/// The member that `target` names in a member of `folder`.
pub(crate) fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The member that the package is about.
pub(crate) fn main_member(package: &mut Package, usual: &str) -> Result<String, String> {
    let relations = relations(package, "")?;
    let main = relations.into_iter().find(|relation| relation.kind == "officeDocument");
    Ok(main.map_or_else(|| usual.to_owned(), |relation| relation.target))
}

/// The title among the document's properties.
pub(crate) fn title(package: &mut Package) -> Result<Option<String>, String> {
    let member = "docProps/core.xml";
    let Some(xml) = package.optional_text(member)? else { return Ok(None) };
    let title = element_text(&xml, member, "title")?;
    // PowerPoint's own title when nobody has given one.
    Ok(title.filter(|title| title != "PowerPoint Presentation"))
}

/// The role that its style gives a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Heading(u8),
    Title,
}

/// Copies what people see of WordprocessingML or DrawingML into a part.
pub(crate) struct Flow<'a> {
    pub(crate) part: &'a mut Part,
    /// Roles of paragraph styles, by their id.
    pub(crate) roles: &'a HashMap<String, Role>,
    /// The first paragraph in the style of a title, and the first heading of the first level.
    pub(crate) title: Option<String>,
    pub(crate) first_heading: Option<String>,
    /// Begun paragraphs, which nest in text boxes: their role and where they begin.
    paragraphs: Vec<(Option<Role>, Option<usize>)>,
    tables: usize,
    /// Elements within a run's text.
    in_text: bool,
    /// The shape at hand is the slide's title.
    in_title_shape: bool,
    in_slide_number: bool,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(part: &'a mut Part, roles: &'a HashMap<String, Role>) -> Self {
        Flow {
            part,
            roles,
            title: None,
            first_heading: None,
            paragraphs: Vec::new(),
            tables: 0,
            in_text: false,
            in_title_shape: false,
            in_slide_number: false,
        }
    }

    fn end_paragraph(&mut self) {
        let Some((role, Some(start))) = self.paragraphs.pop() else { return };
        if self.tables > 0 {
            return;
        }
        match role {
            Some(Role::Heading(level)) => {
                let name = self.part.heading(level, start);
                if level == 1 {
                    self.first_heading = self.first_heading.take().or(name);
                }
            }
            // A title is a heading above all others.
            Some(Role::Title) => self.title = self.title.take().or(self.part.heading(0, start)),
            None => {}
        }
    }

    /// In a table's cell, paragraphs are separated by no more than a space.
    fn block(&self) -> Gap {
        if self.tables > 0 { Gap::Space } else { Gap::Block }
    }

    fn placeholder(&mut self, kind: Option<&str>) {
        self.in_title_shape = matches!(kind, Some("title" | "ctrTitle"));
        self.in_slide_number = kind == Some("sldNum");
    }
}

/// Elements that describe appearance, hold deleted content, or repeat their neighbours.
const PASSED_OVER: &[&str] =
    &["Fallback", "moveFrom", "rPr", "sectPr", "sdtPr", "tabs", "tblPr", "tcPr", "trPr", "bodyPr", "lstStyle", "numPr"];

impl Visit for Flow<'_> {
    fn open(&mut self, tag: &Tag) -> bool {
        match tag.name() {
            name if PASSED_OVER.contains(&name) => return false,
            "p" => {
                self.part.gap(self.block());
                self.paragraphs.push((self.in_title_shape.then_some(Role::Heading(1)), None));
            }
            "pStyle" => {
                let role = tag.attribute("val").and_then(|id| self.roles.get(id.as_ref()));
                if let (Some(role), Some(paragraph)) = (role, self.paragraphs.last_mut()) {
                    paragraph.0 = Some(*role);
                }
            }
            "outlineLvl" => {
                if let (Some(level @ 0..=8), Some(paragraph)) = (tag.number("val"), self.paragraphs.last_mut()) {
                    paragraph.0 = Some(Role::Heading(level as u8 + 1));
                }
            }
            "t" => self.in_text = true,
            "tab" => self.part.gap(Gap::Space),
            "br" | "cr" => self.part.gap(if self.tables > 0 { Gap::Space } else { Gap::Line }),
            "noBreakHyphen" => _ = self.part.words("-"),
            "tbl" => {
                self.part.gap(if self.tables == 0 { Gap::Block } else { Gap::Space });
                self.tables += 1;
            }
            "sp" => self.placeholder(None),
            "ph" => self.placeholder(tag.attribute("type").as_deref()),
            _ => {}
        }
        true
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" => {
                self.end_paragraph();
                self.part.gap(self.block());
            }
            "t" => self.in_text = false,
            "tc" => self.part.end_cell(),
            "tr" => self.part.end_row(),
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.part.gap(self.block());
            }
            "sp" => self.placeholder(None),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.in_text || self.in_slide_number {
            return;
        }
        let start = self.part.words(text);
        if let Some((_, begins @ None)) = self.paragraphs.last_mut() {
            *begins = start;
        }
    }
}
