//! The first frame each way, in JSON, so that any two versions understand it and can say why they do not understand each other.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use crate::frame::{self, FrameError};

/// Version of everything that goes over the socket after the first two frames. Raised with every change of a type in
/// `request.rs`, or of an operation.
pub(crate) const PROTOCOL: u32 = 13;
/// Longest first frame.
const HELLO_BYTES_MAX: usize = 64 << 10;

/// The greeting of a process that wants to be served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub protocol: u32,
    pub build: String,
    pub pid: u32,
    pub program: String,
    /// The session that this connection continues: see `idempotency.rs`.
    #[serde(default, rename = "lane")]
    pub session: String,
}

/// The holder's reply to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub protocol: u32,
    pub build: String,
    pub pid: u32,
    /// Why it will not serve; the connection ends after it.
    #[serde(default)]
    pub refused: Option<String>,
}

impl Hello {
    pub fn new(program: &str, session: &str) -> Self {
        Self {
            protocol: PROTOCOL,
            build: build(),
            pid: std::process::id(),
            program: program.to_string(),
            session: session.to_string(),
        }
    }
}

impl Welcome {
    pub fn new(refused: Option<String>) -> Self {
        Self { protocol: PROTOCOL, build: build(), pid: std::process::id(), refused }
    }
}

pub(crate) fn build() -> String {
    format!("nuthatch {}", env!("CARGO_PKG_VERSION"))
}

pub(crate) fn send(to: &mut impl Write, what: &impl Serialize) -> Result<(), FrameError> {
    let body = serde_json::to_vec(what).map_err(|error| FrameError::Malformed(error.to_string()))?;
    Ok(to.write_all(&frame::of_bytes(&body)?)?)
}

pub(crate) fn receive<T: for<'d> Deserialize<'d>>(from: &mut impl Read) -> Result<T, FrameError> {
    let body = frame::read_bytes(from, HELLO_BYTES_MAX)?;
    serde_json::from_slice(&body).map_err(|error| FrameError::Malformed(error.to_string()))
}
