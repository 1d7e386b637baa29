//! How durable a write is when it is answered.

use nuthatch_link::Durability;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durable {
    /// On the disk.
    #[default]
    Commit,
    /// With the operating system, and on the disk a moment later.
    Interval,
    /// With the operating system.
    Os,
}

/// The parameter of all writes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Durably {
    /// The failures that an answered write survives: power loss (`commit`), or a killed process (`interval`, `os`).
    #[serde(default)]
    pub durability: Durable,
}

impl From<Durable> for Durability {
    fn from(durable: Durable) -> Self {
        match durable {
            Durable::Commit => Self::Commit,
            Durable::Interval => Self::Interval,
            Durable::Os => Self::Os,
        }
    }
}
