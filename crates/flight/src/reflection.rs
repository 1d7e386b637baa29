//! gRPC's standard reflection service: what the other services take and give, for tools that have no copy of their descriptions.
//!
//! Flight's own description is not shipped with its library, so it is written down here, field by field.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, MethodDescriptorProto, OneofDescriptorProto, ServiceDescriptorProto,
};
use tonic_reflection::server::Builder;

pub fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_file_descriptor_set(FileDescriptorSet { file: vec![timestamp(), flight()] })
}

/// A message: its name and its fields.
type Message = (&'static str, &'static [FieldOf]);
/// Number, name and kind.
type FieldOf = (i32, &'static str, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Bytes,
    /// `optional double`
    MaybeDouble,
    Int32,
    Int64,
    Uint64,
    String,
    Strings,
    One(&'static str),
    Many(&'static str),
    Enum(&'static str),
}

use Kind::{Bool, Bytes, Enum, Int32, Int64, Many, MaybeDouble, One, String as Text, Strings, Uint64};

const PACKAGE: &str = "arrow.flight.protocol";

const MESSAGES: &[Message] = &[
    ("HandshakeRequest", &[(1, "protocol_version", Uint64), (2, "payload", Bytes)]),
    ("HandshakeResponse", &[(1, "protocol_version", Uint64), (2, "payload", Bytes)]),
    ("BasicAuth", &[(2, "username", Text), (3, "password", Text)]),
    ("Empty", &[]),
    ("ActionType", &[(1, "type", Text), (2, "description", Text)]),
    ("Criteria", &[(1, "expression", Bytes)]),
    ("Action", &[(1, "type", Text), (2, "body", Bytes)]),
    ("CancelFlightInfoRequest", &[(1, "info", One("FlightInfo"))]),
    ("RenewFlightEndpointRequest", &[(1, "endpoint", One("FlightEndpoint"))]),
    ("Result", &[(1, "body", Bytes)]),
    ("CancelFlightInfoResult", &[(1, "status", Enum("CancelStatus"))]),
    ("SchemaResult", &[(1, "schema", Bytes)]),
    (
        "FlightDescriptor",
        &[(1, "type", Enum("FlightDescriptor.DescriptorType")), (2, "cmd", Bytes), (3, "path", Strings)],
    ),
    (
        "FlightInfo",
        &[
            (1, "schema", Bytes),
            (2, "flight_descriptor", One("FlightDescriptor")),
            (3, "endpoint", Many("FlightEndpoint")),
            (4, "total_records", Int64),
            (5, "total_bytes", Int64),
            (6, "ordered", Bool),
            (7, "app_metadata", Bytes),
        ],
    ),
    (
        "PollInfo",
        &[
            (1, "info", One("FlightInfo")),
            (2, "flight_descriptor", One("FlightDescriptor")),
            (3, "progress", MaybeDouble),
            (4, "expiration_time", One("google.protobuf.Timestamp")),
        ],
    ),
    (
        "FlightEndpoint",
        &[
            (1, "ticket", One("Ticket")),
            (2, "location", Many("Location")),
            (3, "expiration_time", One("google.protobuf.Timestamp")),
            (4, "app_metadata", Bytes),
        ],
    ),
    ("Location", &[(1, "uri", Text)]),
    ("Ticket", &[(1, "ticket", Bytes)]),
    (
        "FlightData",
        &[
            (1, "flight_descriptor", One("FlightDescriptor")),
            (2, "data_header", Bytes),
            (3, "app_metadata", Bytes),
            (1000, "data_body", Bytes),
        ],
    ),
    ("PutResult", &[(1, "app_metadata", Bytes)]),
];

/// Name, request, answer, and which of the two are streams.
const METHODS: &[(&str, &str, &str, bool, bool)] = &[
    ("Handshake", "HandshakeRequest", "HandshakeResponse", true, true),
    ("ListFlights", "Criteria", "FlightInfo", false, true),
    ("GetFlightInfo", "FlightDescriptor", "FlightInfo", false, false),
    ("PollFlightInfo", "FlightDescriptor", "PollInfo", false, false),
    ("GetSchema", "FlightDescriptor", "SchemaResult", false, false),
    ("DoGet", "Ticket", "FlightData", false, true),
    ("DoPut", "FlightData", "PutResult", true, true),
    ("DoExchange", "FlightData", "FlightData", true, true),
    ("DoAction", "Action", "Result", false, true),
    ("ListActions", "Empty", "ActionType", false, true),
];

fn flight() -> FileDescriptorProto {
    let mut messages: Vec<DescriptorProto> = MESSAGES.iter().map(message).collect();
    for message in messages.iter_mut().filter(|message| message.name() == "FlightDescriptor") {
        message.enum_type.push(choice("DescriptorType", &["UNKNOWN", "PATH", "CMD"]));
    }
    let statuses =
        ["UNSPECIFIED", "CANCELLED", "CANCELLING", "NOT_CANCELLABLE"].map(|name| format!("CANCEL_STATUS_{name}"));
    let method =
        |(name, request, answer, streams_in, streams_out): &(&str, &str, &str, bool, bool)| MethodDescriptorProto {
            name: Some((*name).into()),
            input_type: Some(full(request)),
            output_type: Some(full(answer)),
            client_streaming: Some(*streams_in),
            server_streaming: Some(*streams_out),
            ..Default::default()
        };
    FileDescriptorProto {
        name: Some("Flight.proto".into()),
        package: Some(PACKAGE.into()),
        dependency: vec!["google/protobuf/timestamp.proto".into()],
        message_type: messages,
        enum_type: vec![choice("CancelStatus", &statuses.each_ref().map(String::as_str))],
        service: vec![ServiceDescriptorProto {
            name: Some("FlightService".into()),
            method: METHODS.iter().map(method).collect(),
            ..Default::default()
        }],
        syntax: Some("proto3".into()),
        ..Default::default()
    }
}

fn timestamp() -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some("google/protobuf/timestamp.proto".into()),
        package: Some("google.protobuf".into()),
        message_type: vec![message(&("Timestamp", &[(1, "seconds", Int64), (2, "nanos", Int32)]))],
        syntax: Some("proto3".into()),
        ..Default::default()
    }
}

fn message((name, fields): &Message) -> DescriptorProto {
    let mut message = DescriptorProto { name: Some((*name).into()), ..Default::default() };
    for (number, name, kind) in *fields {
        let (of, label, of_name) = match kind {
            Bool => (Type::Bool, Label::Optional, None),
            Bytes => (Type::Bytes, Label::Optional, None),
            MaybeDouble => (Type::Double, Label::Optional, None),
            Int32 => (Type::Int32, Label::Optional, None),
            Int64 => (Type::Int64, Label::Optional, None),
            Uint64 => (Type::Uint64, Label::Optional, None),
            Text => (Type::String, Label::Optional, None),
            Strings => (Type::String, Label::Repeated, None),
            One(other) => (Type::Message, Label::Optional, Some(full(other))),
            Many(other) => (Type::Message, Label::Repeated, Some(full(other))),
            Enum(other) => (Type::Enum, Label::Optional, Some(full(other))),
        };
        let mut field = FieldDescriptorProto {
            name: Some((*name).into()),
            number: Some(*number),
            r#type: Some(of.into()),
            label: Some(label.into()),
            type_name: of_name,
            ..Default::default()
        };
        if matches!(kind, MaybeDouble) {
            // How proto3 says that a number may be missing: a group of one.
            field.proto3_optional = Some(true);
            field.oneof_index = Some(0);
            message.oneof_decl.push(OneofDescriptorProto { name: Some(format!("_{name}")), options: None });
        }
        message.field.push(field);
    }
    message
}

fn choice(name: &str, values: &[&str]) -> EnumDescriptorProto {
    let value = |(number, name): (i32, &&str)| EnumValueDescriptorProto {
        name: Some((*name).into()),
        number: Some(number),
        options: None,
    };
    EnumDescriptorProto { name: Some(name.into()), value: (0..).zip(values).map(value).collect(), ..Default::default() }
}

/// A type's name from the root of all packages.
fn full(name: &str) -> String {
    match name.starts_with("google.") {
        true => format!(".{name}"),
        false => format!(".{PACKAGE}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_described() {
        let (file, time) = (flight(), timestamp());
        let mut names: Vec<String> = file.message_type.iter().map(|message| full(message.name())).collect();
        names.extend(time.message_type.iter().map(|message| format!(".google.protobuf.{}", message.name())));
        names.extend(["CancelStatus", "FlightDescriptor.DescriptorType"].map(full));
        for message in &file.message_type {
            for field in message.field.iter().filter(|field| field.type_name.is_some()) {
                assert!(names.contains(&field.type_name().to_string()), "{} {}", message.name(), field.name());
            }
        }
        for method in &file.service[0].method {
            assert!(
                names.contains(&method.input_type().to_string()) && names.contains(&method.output_type().to_string())
            );
        }
        assert!(builder().build_v1().is_ok() && builder().build_v1alpha().is_ok());
    }
}
