//! The names of modes, of fusions, and of the parts of a hit.

use nuthatch_engine::{Error, Fusion, Mode, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The names of all modes.
pub const MODES: [&str; 3] = ["hybrid", "text", "vector"];
/// The names of all fusions.
pub const FUSIONS: [&str; 3] = ["rrf", "weighted", "normalised"];

// Without comments: they would become part of the server's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum ModeName {
    Hybrid,
    Text,
    Vector,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum FusionName {
    #[default]
    Rrf,
    Weighted,
    Normalised,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = IncludedPart)]
pub enum Part {
    Text,
    Payload,
    Vector,
}

/// With the engine's words for what is none.
impl TryFrom<String> for ModeName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse::<Mode>().map(Into::into)
    }
}

/// As that of [`ModeName`].
impl TryFrom<String> for FusionName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Fusion::named(&name, 1.0, 1.0).map(|fusion| Self::from(&fusion))
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Hybrid => Self::Hybrid,
            ModeName::Text => Self::Text,
            ModeName::Vector => Self::Vector,
        }
    }
}

impl From<Mode> for ModeName {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Hybrid => Self::Hybrid,
            Mode::Text => Self::Text,
            Mode::Vector => Self::Vector,
        }
    }
}

impl FusionName {
    /// As the engine calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rrf => "rrf",
            Self::Weighted => "weighted",
            Self::Normalised => "normalised",
        }
    }
}

impl From<&Fusion> for FusionName {
    fn from(fusion: &Fusion) -> Self {
        match fusion {
            Fusion::Rrf { .. } => Self::Rrf,
            Fusion::Weighted { .. } => Self::Weighted,
            Fusion::Normalised { .. } => Self::Normalised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_engines_own_and_come_back() {
        for name in MODES {
            let mode: Mode = name.parse().unwrap();
            assert_eq!(serde_json::to_value(ModeName::from(mode)).unwrap(), name);
            assert_eq!(Mode::from(ModeName::from(mode)), mode);
        }
        for name in FUSIONS {
            let fusion = FusionName::from(&Fusion::named(name, 1.0, 1.0).unwrap());
            assert_eq!((fusion.name(), serde_json::to_value(fusion).unwrap()), (name, name.into()));
        }
    }
}
