//! Where a setting's value comes from: a flag, else the environment, else the file, else the default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use nuthatch_link::{Error, Result};
use toml::{Spanned, Value};

use super::settings::{SETTINGS, Setting};

/// The values given on each layer, as text.
#[derive(Debug, Default)]
pub struct Layers {
    flags: BTreeMap<&'static str, String>,
    environment: BTreeMap<&'static str, String>,
    file: BTreeMap<&'static str, (String, Origin)>,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This flag, with its dashes.
    Flag(String),
    /// This variable of the environment.
    Environment(&'static str),
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
    /// Nobody: the setting's default.
    Default,
}

/// A value with the one who said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The setting's name in the file.
    pub setting: &'static str,
    /// The value, as it was written.
    pub text: String,
    /// The source of the value.
    pub origin: Origin,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(out, "flag {flag}"),
            Self::Environment(variable) => write!(out, "environment {variable}"),
            Self::File { path, line } => write!(out, "{}:{line}", path.display()),
            Self::Default => out.write_str("default"),
        }
    }
}

impl Layers {
    /// Sets a flag; the last one of a name counts.
    pub fn flag(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.flags.insert(key, value.into());
        self
    }

    /// Asks `lookup` for every variable; an empty one is as good as none.
    pub fn environment(mut self, lookup: impl Fn(&str) -> Option<String>) -> Self {
        for setting in SETTINGS {
            if let Some(text) = lookup(setting.variable).filter(|text| !text.is_empty()) {
                self.environment.insert(setting.key, text);
            }
        }
        self
    }

    /// Reads a TOML file of settings.
    ///
    /// # Errors
    /// `NotFound` without the file; `Invalid` for what is not TOML, an unknown key, or a value that is no string, number or
    /// boolean, each with the file, the line and the key.
    pub fn file(mut self, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, &error))?;
        let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let table: BTreeMap<String, Spanned<Value>> = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            Error::invalid(format!("{}:{line}: {}", path.display(), error.message()))
        })?;
        for (key, value) in table {
            let line = line_of(value.span().start);
            let refuse = |why: String| Error::invalid(format!("{}:{line}: {why}", path.display()));
            let setting = Setting::of(&key).ok_or_else(|| {
                let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
                refuse(format!("unknown key {key:?}; valid keys: {}", known.join(", ")))
            })?;
            let text = match value.into_inner() {
                Value::String(text) => text,
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Boolean(is) => is.to_string(),
                other => {
                    return Err(refuse(format!(
                        "{key} is {}; give a string, a number, true or false",
                        kind_name(&other)
                    )));
                }
            };
            self.file.insert(setting.key, (text, Origin::File { path: path.to_path_buf(), line }));
        }
        Ok(self)
    }

    /// The value that holds.
    pub fn say(&self, setting: &'static Setting) -> Said {
        let key = setting.key;
        let flag = || Some((self.flags.get(key)?.clone(), Origin::Flag(setting.flag())));
        let variable = || Some((self.environment.get(key)?.clone(), Origin::Environment(setting.variable)));
        let (text, origin) = flag()
            .or_else(variable)
            .or_else(|| self.file.get(key).cloned())
            .unwrap_or_else(|| (setting.default.to_string(), Origin::Default));
        Said { setting: key, text, origin }
    }
}

fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Table(_) => "a table",
        _ => "a date",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(layers: &Layers) -> Said {
        layers.say(Setting::of("listen").unwrap())
    }

    fn in_file(text: &str) -> (tempfile::NamedTempFile, Result<Layers>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let layers = Layers::default().file(file.path());
        (file, layers)
    }

    #[test]
    fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
        assert_eq!(listen(&Layers::default()).origin, Origin::Default);
        let (file, layers) = in_file("# where\n\nlisten = '1.1.1.1:1'\n");
        let layers = layers.unwrap();
        let said = listen(&layers);
        assert_eq!(said.text, "1.1.1.1:1");
        assert_eq!(said.origin, Origin::File { path: file.path().into(), line: 3 });
        let layers = layers.environment(|name| (name == "NUTHATCH_LISTEN").then(|| "2.2.2.2:2".into()));
        assert_eq!(listen(&layers).origin.to_string(), "environment NUTHATCH_LISTEN");
        let said = listen(&layers.flag("listen", "3.3.3.3:3"));
        assert_eq!((said.text.as_str(), said.origin.to_string().as_str()), ("3.3.3.3:3", "flag --listen"));
    }

    #[test]
    fn a_mangled_file_is_settings_or_an_error_and_no_end_of_the_process() {
        let whole = "listen = '127.0.0.1:7700' # here\nworkers = 64\nbody_max = \"64MiB\"\nexclusive = true\nbody_timeout = 1.5\n";
        let mut dice = fastrand::Rng::with_seed(5);
        let rounds = if std::env::var_os("NUTHATCH_LONG").is_some() { 200_000 } else { 3_000 };
        let (mut well, mut refused) = (0, 0);
        let file = tempfile::NamedTempFile::new().unwrap();
        for _ in 0..rounds {
            let mut bytes = whole.as_bytes().to_vec();
            for _ in 0..dice.usize(..4) {
                let at = dice.usize(..bytes.len());
                match dice.u8(..3) {
                    0 => bytes[at] = dice.u8(..),
                    1 => drop(bytes.drain(at..(at + dice.usize(..9)).min(bytes.len()))),
                    _ => drop(bytes.splice(at..at, b"[[\"'''=\n".iter().copied().take(dice.usize(..8)))),
                }
                bytes.push(b'\n');
            }
            std::fs::write(file.path(), &bytes).unwrap();
            match Layers::default().file(file.path()).and_then(|layers| crate::Config::resolve(&layers)) {
                Ok(_) => well += 1,
                Err(error) => refused += usize::from(!error.message.is_empty()),
            }
        }
        assert!(well > 0 && refused > 0 && well + refused == rounds, "{well}, {refused}");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_line_and_key() {
        for (text, line, said) in [
            ("workers = 3\nlissten = 'x'\n", 2, "unknown key \"lissten\""),
            ("\nlisten = ['a']\n", 2, "listen is an array"),
            ("workers = 3\nlisten = \n", 2, ""),
        ] {
            let (file, layers) = in_file(text);
            let message = layers.unwrap_err().message;
            assert!(message.starts_with(&format!("{}:{line}: ", file.path().display())), "{message}");
            assert!(message.contains(said), "{message}");
        }
    }
}
