//! The scopes of a key.

use std::fmt;
use std::str::FromStr;

use nuthatch_link::{Error, Result};
use serde::{Deserialize, Serialize};

/// One permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading and searching.
    Read,
    /// Changing data.
    Write,
    /// All of that, and statistics, checks, backups, reclaiming and erasing.
    Admin,
}

/// Several of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// In order, each once.
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let mut scopes: Vec<Scope> = scopes.into_iter().collect();
        scopes.sort_unstable();
        scopes.dedup();
        Self(scopes)
    }

    /// Everything: the scope of administration has the others in it.
    pub fn all() -> Self {
        Self(vec![Scope::Admin])
    }

    /// Whether they suffice for what takes `wanted`.
    pub(crate) fn allow(&self, wanted: Scope) -> bool {
        self.0.iter().any(|scope| *scope == wanted || *scope == Scope::Admin)
    }

    /// Their names, in the order of the enum.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|scope| scope.name()).collect()
    }

    /// True when they allow nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Scope {
    /// `read`, `write` or `admin`, as keys are stored and asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.name()).collect();
        out.write_str(&names.join(","))
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Read, Self::Write, Self::Admin]
            .into_iter()
            .find(|scope| scope.name() == name)
            .ok_or_else(|| Error::invalid(format!("scope {name:?}; choose \"read\", \"write\" or \"admin\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_allows_everything_and_the_others_themselves() {
        assert!([Scope::Read, Scope::Write, Scope::Admin].into_iter().all(|scope| Scopes::all().allow(scope)));
        let writer = Scopes::new([Scope::Write, Scope::Write]);
        assert!(writer.allow(Scope::Write) && !writer.allow(Scope::Read) && !writer.allow(Scope::Admin));
        assert_eq!(Scopes::new([Scope::Write, Scope::Read]).to_string(), "read,write");
    }
}
