//! VEMB: the vector of an element.

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::vector_set::Quantization;
use crate::vectors::element::id_of;

/// VEMB key element [RAW]
pub(crate) fn vemb(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let raw = match &call.arguments[2..] {
        [] => false,
        [option] if option.eq_ignore_ascii_case(b"RAW") => true,
        _ => return Err(Failure::syntax()),
    };
    let Some((set, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::Null) };
    let record = call.context.record(&collection, &id_of(&call.arguments[1])?, true)?;
    let Some(mut vector) = record.and_then(|record| record.vector) else { return Ok(Reply::Null) };
    vector.truncate(set.dim);
    Ok(match (raw, set.quantization) {
        (true, quantization) => raw_reply(&vector, quantization),
        (false, Quantization::Bin) => {
            Reply::Array(vector.iter().map(|x| Reply::Double(if *x > 0.0 { 1.0 } else { -1.0 })).collect())
        }
        (false, _) => Reply::Array(vector.iter().map(|x| Reply::Double(widened(*x))).collect()),
    })
}

/// The number with the same shortest digits: 0.1 and not 0.10000000149.
fn widened(x: f32) -> f64 {
    x.to_string().parse().expect("digits of a number are one")
}

/// The name of the form, the vector of length 1 in it, its length before, and the range of eight bits.
fn raw_reply(vector: &[f32], quantization: Quantization) -> Reply {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    let unit: Vec<f32> = vector.iter().map(|x| (f64::from(*x) / length) as f32).collect();
    let range = unit.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let bytes = match quantization {
        Quantization::F32 => unit.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Quantization::Int8 => unit.iter().map(|x| (x / range * 127.0).round() as i8 as u8).collect(),
        Quantization::Bin => {
            let byte = |bits: &[f32]| bits.iter().enumerate().map(|(bit, x)| u8::from(*x > 0.0) << bit).sum::<u8>();
            // Words of 64 bits.
            let mut bytes: Vec<u8> = unit.chunks(8).map(byte).collect();
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        }
    };
    let mut parts = vec![Reply::Simple(quantization.name()), Reply::Bulk(bytes), Reply::Double(length)];
    if quantization == Quantization::Int8 {
        parts.push(Reply::Double(f64::from(range)));
    }
    Reply::Array(parts)
}
