//! VADD: elements and their vectors.

use nuthatch_link::Record;

use crate::call::Call;
use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::vector_set::{Quantization, Set};
use crate::vectors::attributes::payload_of;
use crate::vectors::element::id_of;
use crate::vectors::vector::{as_stored, check_dim, parse, stored_dim};
use crate::vectors::{LINKS_DEFAULT, asked_ef};
use crate::words::Words;

/// The arguments of a VADD.
struct Asked {
    reduce: Option<usize>,
    vector: Vec<f32>,
    element: Vec<u8>,
    quantization: Option<Quantization>,
    links: Option<usize>,
    attributes: Option<String>,
}

/// VADD key [REDUCE dim] FP32 blob | VALUES n number … element [CAS] [NOQUANT | Q8 | BIN] [EF n] [SETATTR json] [M n]
pub(crate) fn vadd(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let asked = Asked::parse(&mut Words::new(&call.arguments[1..]))?;
    let id = id_of(&asked.element)?;
    let (set, collection, vector) = match call.context.set(key)? {
        Some((set, collection)) => {
            asked.check(&set)?;
            let vector = as_stored(&set, asked.vector)?;
            (set, collection, vector)
        }
        None => {
            let (set, vector) = create(call.context, key, &asked)?;
            let collection = call.context.tenant.collection(&set.collection)?;
            (set, collection, vector)
        }
    };
    let tenant = call.context.tenant;
    let _element = tenant.lock_element(&set.collection, &asked.element);
    let old = call.context.record(&collection, &id, false)?;
    let is_new = old.is_none();
    let attributes = asked.attributes.or_else(|| old.and_then(|old| old.context)).filter(|text| !text.is_empty());
    let record = Record {
        payload: attributes.as_deref().map(payload_of).unwrap_or_default(),
        context: attributes,
        ..Record::new(id).vector(vector)
    };
    call.context.upsert(&collection, vec![record])?;
    Ok(Reply::Bool(is_new))
}

/// A new set for this vector, and the vector as it is stored there.
fn create(context: &mut CommandContext<'_>, key: &[u8], asked: &Asked) -> Outcome<(Set, Vec<f32>)> {
    let given = asked.vector.len();
    if asked.reduce.is_some_and(|reduce| reduce > given) {
        return Err(Failure::error("REDUCE asks for more dimensions than the vector has"));
    }
    let dim = asked.reduce.unwrap_or(given);
    check_dim(dim)?;
    let set = Set {
        collection: String::new(),
        dim,
        input_dim: asked.reduce.map(|_| given),
        quantization: asked.quantization.unwrap_or(Quantization::Int8),
        links: asked.links.unwrap_or(LINKS_DEFAULT),
        // Such that doubles hold it.
        uid: fastrand::u64(1..1 << 52),
        expires_at_ms: None,
    };
    let vector = as_stored(&set, asked.vector.clone())?;
    let set = Set { collection: context.create_collection(key, stored_dim(dim))?, ..set };
    match context.claim(key, &set)? {
        true => Ok((set, vector)),
        // Another client has created it since.
        false => Err(Failure::conflict()),
    }
}

impl Asked {
    fn parse(words: &mut Words<'_>) -> Outcome<Self> {
        let mut how = words.option()?;
        let mut reduce = None;
        if how == "REDUCE" {
            reduce =
                Some(words.positive("REDUCE dimension").map_err(|_| Failure::error("invalid vector specification"))?);
            how = words.option()?;
        }
        let vector = parse(&how, words)?.ok_or_else(|| Failure::error("invalid vector specification"))?;
        let element = words.word().map_err(|_| Failure::arity("vadd"))?.to_vec();
        let mut asked = Self { reduce, vector, element, quantization: None, links: None, attributes: None };
        while !words.is_empty() {
            match words.option()?.as_str() {
                // Others are not kept waiting either way.
                "CAS" => {}
                "NOQUANT" => asked.quantization = Some(Quantization::F32),
                "Q8" => asked.quantization = Some(Quantization::Int8),
                "BIN" => asked.quantization = Some(Quantization::Bin),
                // The graph is built later, and calibrates itself.
                "EF" => drop(asked_ef(words)?),
                "M" => {
                    let links = words.positive("M")?;
                    if !(4..=4096).contains(&links) {
                        return Err(Failure::error("invalid M: 4 to 4096"));
                    }
                    asked.links = Some(links);
                }
                "SETATTR" => {
                    let text = String::from_utf8(words.word()?.to_vec());
                    asked.attributes = Some(text.map_err(|_| Failure::error("attributes must be JSON in UTF-8"))?);
                }
                _ => return Err(Failure::error("invalid option after element")),
            }
        }
        Ok(asked)
    }

    /// The dimension and form that a VADD asks for must be those of the set.
    fn check(&self, set: &Set) -> Outcome<()> {
        if self.quantization.is_some_and(|asked| asked != set.quantization) {
            return Err(Failure::error("asked quantization mismatch with existing vector set"));
        }
        if self.links.is_some_and(|asked| asked != set.links) {
            return Err(Failure::error("asked M value mismatch with existing vector set"));
        }
        match (self.reduce, set.input_dim) {
            (Some(_), None) => Err(Failure::error("the vector set was made without REDUCE")),
            (Some(asked), Some(_)) if asked != set.dim => {
                Err(Failure::error(format!("REDUCE asks for {asked} dimensions, and the vector set has {}", set.dim)))
            }
            _ => Ok(()),
        }
    }
}
