//! JSON as the OpenAPI document describes it: an object is an object, and a choice is exactly one of its names.
//!
//! Code that serde derives also takes an array for an object, its values in the order in which the fields happen to be
//! declared. For a choice with no name or two, its error says where it stopped reading, not what there is to choose
//! from.
//!
//! **Useful for** every document that a client sends; nested ones are read alike.
//! **Not for** types that buffer what they read (`untagged`, `flatten`): serde reads these from its own copy.
//!
//! **Invariant:** whatever is refused would have been read otherwise, and what is read is read as without this.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

/// Reads from `D`, and takes no array for an object, at any depth.
pub struct Strict<D>(pub D);

/// A visitor that reads a value, and everything in it, strictly.
struct Looking<V> {
    visitor: V,
    is_object: bool,
}

impl<V> Looking<V> {
    fn at(visitor: V) -> Self {
        Self { visitor, is_object: false }
    }
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$name($($argument,)* Looking::at(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_map();
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Looking { visitor, is_object: true })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Choice { visitor, names })
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! visit {
    ($($name:ident: $kind:ty;)*) => {
        $(fn $name<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.visitor.$name(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Looking<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_object {
            true => out.write_str("an object"),
            false => self.visitor.expecting(out),
        }
    }

    visit! {
        visit_bool: bool;
        visit_i64: i64;
        visit_u64: u64;
        visit_f64: f64;
        visit_char: char;
        visit_str: &str;
        visit_borrowed_str: &'de str;
        visit_string: String;
        visit_bytes: &[u8];
        visit_borrowed_bytes: &'de [u8];
        visit_byte_buf: Vec<u8>;
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Strict(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Strict(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
        match self.is_object {
            true => Err(Error::invalid_type(Unexpected::Seq, &self)),
            false => self.visitor.visit_seq(Within(values)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Within(values))
    }
}

/// The values of an array or an object, or what one of them is read by.
struct Within<A>(A);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Within<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(value))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Within<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Within(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Within<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Within(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// One of several: a name, or an object of one name and what belongs to it.
struct Choice<V> {
    visitor: V,
    names: &'static [&'static str],
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "one of {}", listed(self.names))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.visitor.visit_enum(name.into_deserializer())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<V::Value, A::Error> {
        let Self { visitor, names } = self;
        let chosen = visitor.visit_enum(Chosen { values: &mut values, names })?;
        match values.next_key::<String>()? {
            None => Ok(chosen),
            Some(more) => Err(Error::custom(format!("give only one of {}; `{more}` is a second one", listed(names)))),
        }
    }
}

/// The object of a choice.
struct Chosen<'a, A> {
    values: &'a mut A,
    names: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Chosen<'_, A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.values.next_key_seed(seed)? {
            Some(name) => Ok((name, self)),
            None => Err(Error::custom(format!("give one of {}; the object is empty", listed(self.names)))),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Chosen<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.values.next_value()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.values.next_value_seed(Within(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.values.next_value_seed(Looking::at(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.values.next_value_seed(Looking { visitor, is_object: true })
    }
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Looking<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        value.deserialize_any(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        inner: Vec<Inner>,
        one: Option<Inner>,
        #[serde(default)]
        named: BTreeMap<String, Inner>,
        way: Option<Way>,
        numbers: Option<(u8, f32)>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        limit: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "lowercase")]
    enum Way {
        Short,
        Ids(Vec<String>),
        Within(Inner),
        Open { inner: Inner },
    }

    fn read(text: &str) -> Result<Outer, String> {
        Outer::deserialize(Strict(&mut serde_json::Deserializer::from_str(text))).map_err(|error| error.to_string())
    }

    #[test]
    fn an_array_is_taken_for_an_object_nowhere() {
        for wrong in [
            "[[], null]",
            "{\"inner\": [[1]]}",
            "{\"one\": [1]}",
            "{\"named\": {\"a\": [1]}}",
            "{\"way\": {\"within\": [1]}}",
            "{\"way\": {\"open\": [{\"limit\": 1}]}}",
            "{\"way\": {\"open\": {\"inner\": [1]}}}",
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("invalid type: sequence, expected an object"), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_is_written_as_described_is_read_as_without_this() {
        for right in [
            "{}",
            "{\"inner\": [{\"limit\": 1}, {\"limit\": 2}], \"one\": null, \"numbers\": [1, 0.1]}",
            "{\"named\": {\"a\": {\"limit\": 1}}, \"one\": {\"limit\": 3}}",
            "{\"way\": \"short\"}",
            "{\"way\": {\"ids\": [\"a\", \"b\"]}}",
            "{\"way\": {\"within\": {\"limit\": 4}}}",
            "{\"way\": {\"open\": {\"inner\": {\"limit\": 4}}}}",
        ] {
            assert_eq!(read(right).unwrap(), serde_json::from_str(right).unwrap(), "{right}");
        }
    }

    #[test]
    fn a_choice_says_what_there_is_to_choose_from() {
        for (wrong, said) in [
            ("{\"way\": {}}", "give one of `short`, `ids`, `within`, `open`; the object is empty"),
            ("{\"way\": {\"ids\": [], \"within\": {\"limit\": 1}}}", "`within` is a second"),
            ("{\"way\": 3}", "expected one of `short`, `ids`, `within`, `open`"),
            ("{\"way\": {\"long\": 1}}", "unknown variant `long`, expected one of `short`"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
