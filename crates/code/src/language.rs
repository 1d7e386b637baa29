//! The languages whose grammars are built in, and which files are written in them.

use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "their names say everything")]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    C,
    Cpp,
}

/// Languages that call each other by name: a definition of one is a candidate for a reference in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "their names say everything")]
pub enum Family {
    Rust,
    Python,
    Script,
    Go,
    Java,
    C,
}

const NAMES: [(&str, Language); 9] = [
    ("rust", Language::Rust),
    ("python", Language::Python),
    ("javascript", Language::JavaScript),
    ("typescript", Language::TypeScript),
    ("tsx", Language::Tsx),
    ("go", Language::Go),
    ("java", Language::Java),
    ("c", Language::C),
    ("cpp", Language::Cpp),
];

impl Language {
    /// That of a name such as `rust` or `cpp`.
    pub fn of_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, language)| *language)
    }

    /// Returns the language of a file with this path, by the ending of its name.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending {
            "rs" => Self::Rust,
            "py" | "pyi" | "pyw" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" => Self::Cpp,
            _ => return None,
        })
    }

    /// For example `rust`.
    pub fn name(self) -> &'static str {
        NAMES[self.number() as usize].0
    }

    /// As it is stored.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// That of a stored number.
    pub fn of_number(number: u8) -> Option<Self> {
        NAMES.get(usize::from(number)).map(|(_, language)| *language)
    }

    /// Which languages it shares names with.
    pub fn family(self) -> Family {
        match self {
            Self::Rust => Family::Rust,
            Self::Python => Family::Python,
            Self::JavaScript | Self::TypeScript | Self::Tsx => Family::Script,
            Self::Go => Family::Go,
            Self::Java => Family::Java,
            Self::C | Self::Cpp => Family::C,
        }
    }

    /// Its grammar.
    pub fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_endings_agree() {
        for (number, (name, language)) in NAMES.iter().enumerate() {
            assert_eq!(Language::of_name(name), Some(*language));
            assert_eq!(Language::of_number(number as u8), Some(*language));
            assert_eq!((language.name(), usize::from(language.number())), (*name, number));
        }
        assert_eq!(Language::of_path("a.rs/lib.tsx"), Some(Language::Tsx));
        assert_eq!(Language::of_path("a.rs/README"), None);
        assert_eq!(Language::of_number(9), None);
    }
}
