//! Creating vector fields, and checking requested options against stored ones.

use std::collections::BTreeMap;

use nuthatch_vector::{DIM_MAX, DIM_MIN, Element, Metric};

use crate::collection::Core;
use crate::descriptor::field::{FieldId, FieldKind};
use crate::descriptor::meta::FieldMeta;
use crate::folder::{FORMAT_OF_FIELD_KINDS, FORMAT_OF_FIELDS};
use crate::index::Indexed;
use crate::name::check_name;
use crate::{Error, Result};

/// Named fields of one collection.
const FIELDS_MAX: usize = 64;

/// The options of a named vector field. They are fixed when the field is created; omitted options keep an existing
/// field's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorFieldOptions {
    /// The kind of its values; default dense.
    pub kind: Option<FieldKind>,
    /// Components, 2 to 4096. A new field needs it, unless it is sparse.
    pub dim: Option<usize>,
    /// Default cosine; Hamming for binary vectors. Sparse vectors are compared by their dot product.
    pub metric: Option<Metric>,
    /// Default `f32`, which is what sparse vectors have.
    pub element: Option<Element>,
}

/// Named fields that a caller asks a collection for.
pub(crate) type Wanted = BTreeMap<String, VectorFieldOptions>;

impl Core {
    /// Creates the missing fields. Existing rows have no vector of them.
    pub(crate) fn add_fields(&self, wanted: &Wanted) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let writer = self.writer.lock();
        self.check_open()?; // a dropped collection must not write itself back
        let descriptor = self.descriptor();
        let new = new_fields(&self.name, &descriptor.meta.fields, wanted)?;
        if new.is_empty() {
            return Ok(());
        }
        let mut meta = descriptor.meta.clone();
        meta.fields.extend(new);
        let descriptor = descriptor.with_meta(meta.clone())?;
        self.shared.folder.raise_format(format_of(&meta.fields).unwrap_or(FORMAT_OF_FIELDS))?;
        self.settle(writer, descriptor)?;
        meta.write_copy(&self.index_folder())
    }

    /// Refuses options that contradict existing fields, and fields that cannot be created.
    pub(crate) fn check_fields(&self, wanted: &Wanted) -> Result<()> {
        new_fields(&self.name, &self.descriptor().meta.fields, wanted).map(drop)
    }
}

/// The format of a folder with these fields, if they ask for one.
pub(crate) fn format_of(fields: &[FieldMeta]) -> Option<u32> {
    let of = |field: &FieldMeta| match FieldKind::of(field.id) {
        FieldKind::Dense => FORMAT_OF_FIELDS,
        FieldKind::Sparse | FieldKind::Tokens => FORMAT_OF_FIELD_KINDS,
    };
    fields.iter().map(of).max()
}

/// Those of the wanted fields that are not known yet.
pub(crate) fn new_fields(collection: &str, known: &[FieldMeta], wanted: &Wanted) -> Result<Vec<FieldMeta>> {
    let mut new: Vec<FieldMeta> = Vec::new();
    for (name, options) in wanted {
        match known.iter().find(|field| field.name == *name) {
            Some(field) => agree(collection, field, options)?,
            None => {
                let kind = options.kind.unwrap_or_default();
                let of_kind = known.iter().chain(&new).map(|field| field.id).filter(|id| FieldKind::of(*id) == kind);
                let id = of_kind.max().map_or(kind.first_id(), |last| last + 1);
                new.push(make(id, name, options)?);
            }
        }
    }
    if known.len() + new.len() > FIELDS_MAX {
        return Err(Error::invalid(format!(
            "collection {collection:?} would have {} vector fields; the limit is {FIELDS_MAX}",
            known.len() + new.len()
        )));
    }
    // As they are listed.
    new.sort_by_key(|field| field.id);
    Ok(new)
}

fn make(id: FieldId, name: &str, options: &VectorFieldOptions) -> Result<FieldMeta> {
    check_name("vector field", name)?;
    let kind = FieldKind::of(id);
    if kind == FieldKind::Sparse {
        if options.dim.is_some()
            || options.metric.is_some_and(|metric| metric != Metric::Dot)
            || options.element.is_some_and(|element| element != Element::F32)
        {
            return Err(Error::invalid(format!(
                "vector field {name:?} is sparse; it has no `dim`, and its weights are f32 that are compared by their dot product"
            )));
        }
        let (metric, element) = (Metric::Dot.to_string(), Element::F32.to_string());
        return Ok(FieldMeta { id, name: name.into(), dim: 0, metric, element });
    }
    let Some(dim) = options.dim else {
        return Err(Error::invalid(format!(
            "vector field {name:?} is new and needs its dimension; give `dim`, {DIM_MIN} to {DIM_MAX}"
        )));
    };
    if !(DIM_MIN..=DIM_MAX).contains(&dim) {
        return Err(Error::invalid(format!(
            "vector field {name:?} cannot have {dim} dimensions; choose {DIM_MIN} to {DIM_MAX}"
        )));
    }
    if kind == FieldKind::Tokens && options.element == Some(Element::Binary) {
        return Err(Error::invalid(format!(
            "vector field {name:?} has a vector for each token, which cannot be binary; choose f32, f16, int8 or uint8"
        )));
    }
    let (metric, element) = metric_and_element(options.metric, options.element)
        .map_err(|error| Error::invalid(format!("vector field {name:?}: {}", error.message)))?;
    Ok(FieldMeta { id, name: name.into(), dim, metric: metric.to_string(), element: element.to_string() })
}

/// A field's type, with only some of it given.
pub(crate) fn metric_and_element(metric: Option<Metric>, element: Option<Element>) -> Result<(Metric, Element)> {
    let element = element.unwrap_or_default();
    let metric = metric.unwrap_or(match element {
        Element::Binary => Metric::Hamming,
        Element::F32 | Element::F16 | Element::Int8 | Element::Uint8 => Metric::Cosine,
    });
    if (metric == Metric::Hamming) != (element == Element::Binary) {
        return Err(Error::invalid(format!(
            "metric {metric} does not work with {element} elements; use Hamming only with binary vectors, and binary \
            vectors only with Hamming"
        )));
    }
    Ok((metric, element))
}

fn agree(collection: &str, field: &FieldMeta, options: &VectorFieldOptions) -> Result<()> {
    let kind = FieldKind::of(field.id).as_str();
    let given = [
        ("kind", kind.to_string(), options.kind.map(|kind| kind.as_str().to_string())),
        ("dim", field.dim.to_string(), options.dim.map(|dim| dim.to_string())),
        ("metric", field.metric.clone(), options.metric.map(|metric| metric.to_string())),
        ("elements", field.element.clone(), options.element.map(|element| element.to_string())),
    ];
    for (what, stored, given) in given {
        if let Some(given) = given.filter(|given| *given != stored) {
            return Err(Error::invalid(format!(
                "vector field {:?} of collection {collection:?} has {what} {stored}, but {given} was given; omit it, or \
                create another field",
                field.name
            )));
        }
    }
    Ok(())
}
