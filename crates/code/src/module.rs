//! Whether a file may be the module that an import names, by its path alone.
//!
//! This reads no manifest: it guesses from the path where a package begins. A file that does not fit never counts as a
//! match.

use crate::Family;

/// How well a file fits the name of a module; the greatest fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It lies below the module, which may give its names out.
    Below,
    /// It is the module, with so few folders before it (inverted, so that fewer are greater).
    Exact(usize),
}

/// The parts of a path that say which module it is: without its ending, and without names such as `mod` and `index`.
fn parts_of(family: Family, path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
    let is_folder = match family {
        Family::Rust => matches!(stem, "mod" | "lib" | "main"),
        Family::Python => stem == "__init__",
        Family::Script => stem == "index",
        Family::Go => true,
        Family::Java | Family::C => false,
    };
    if !is_folder {
        parts.push(stem);
    }
    parts
}

/// Whether the file at `path` may be the module that an import in the file at `from` names.
pub fn may_be_module(family: Family, module: &str, from: &str, path: &str) -> bool {
    matches!(fit(family, module, from, path, &[]), Some(Fit::Exact(_)))
}

/// How the file at `path` fits `module`, as it is spelt in the file at `from`. `inner` are the modules inside the file.
pub(crate) fn fit(family: Family, module: &str, from: &str, path: &str, inner: &[&str]) -> Option<Fit> {
    let mut parts = parts_of(family, path);
    parts.extend(inner);
    match family {
        Family::Python => python(module, from, &parts),
        Family::Script => script(module, from, &parts),
        Family::Rust => rust(module, from, path, &parts),
        Family::Go => go(module, &parts),
        Family::Java => suffix(&module.split('.').collect::<Vec<_>>(), &parts[..parts.len().saturating_sub(1)])
            .or_else(|| suffix(&module.split('.').collect::<Vec<_>>(), &parts)),
        Family::C => {
            let module = module.split_once(".h").map_or(module, |(stem, _)| stem);
            suffix(&module.split('/').filter(|part| !matches!(*part, "." | "..")).collect::<Vec<_>>(), &parts)
        }
    }
}

fn suffix(wanted: &[&str], parts: &[&str]) -> Option<Fit> {
    (!wanted.is_empty() && parts.ends_with(wanted)).then(|| exact(parts.len() - wanted.len()))
}

fn exact(before: usize) -> Fit {
    Fit::Exact(usize::MAX - before)
}

fn from_root(wanted: &[&str], parts: &[&str]) -> Option<Fit> {
    match parts.strip_prefix(wanted)? {
        [] => Some(exact(0)),
        _ => Some(Fit::Below),
    }
}

/// At the end of the parts, or anywhere before others.
fn anywhere(wanted: &[&str], parts: &[&str]) -> Option<Fit> {
    suffix(wanted, parts).or_else(|| {
        (!wanted.is_empty() && parts.windows(wanted.len()).any(|window| window == wanted)).then_some(Fit::Below)
    })
}

fn python(module: &str, from: &str, parts: &[&str]) -> Option<Fit> {
    let dots = module.bytes().take_while(|byte| *byte == b'.').count();
    let names: Vec<&str> = module[dots..].split('.').filter(|name| !name.is_empty()).collect();
    if dots == 0 {
        return anywhere(&names, parts);
    }
    let mut base: Vec<&str> = from.split('/').collect();
    base.truncate(base.len().checked_sub(dots)?);
    base.extend(names);
    from_root(&base, parts)
}

fn script<'p>(module: &'p str, from: &'p str, parts: &[&'p str]) -> Option<Fit> {
    let is_relative = module.starts_with('.');
    let mut base: Vec<&str> = if is_relative { from.split('/').collect() } else { Vec::new() };
    base.pop();
    for part in module.split('/') {
        match part {
            "." | "" | "@" | "~" => {}
            ".." => drop(base.pop()),
            part => base.push(part),
        }
    }
    if let Some(last) = base.last_mut() {
        let known = [".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"];
        *last = known.iter().find_map(|ending| last.strip_suffix(ending)).unwrap_or(last);
    }
    if base.last() == Some(&"index") {
        base.pop();
    }
    if is_relative {
        // `./a.b` may be the file `a.b.ts`.
        let stems: Vec<&str> = base.iter().map(|part| part.split_once('.').map_or(*part, |(stem, _)| stem)).collect();
        return from_root(&base, parts).or_else(|| from_root(&stems, parts));
    }
    let package = base.iter().position(|part| !part.starts_with('@'))?;
    anywhere(&base, parts).or_else(|| {
        let (name, rest) = base[package..].split_first()?;
        let at = parts.iter().position(|part| part == name)?;
        let below = &parts[at + 1..];
        (rest.is_empty() || below.windows(rest.len()).any(|window| window == rest)).then_some(Fit::Below)
    })
}

/// The crate of a file: how many parts of its path lie before its modules.
fn crate_of(path: &str) -> (Vec<&str>, Vec<&str>) {
    let parts = parts_of(Family::Rust, path);
    match parts.iter().rposition(|part| *part == "src") {
        Some(at) => (parts[..at].to_vec(), parts[at + 1..].to_vec()),
        // A test, an example or a bench is a crate of its own.
        None => (parts.clone(), Vec::new()),
    }
}

fn rust(module: &str, from: &str, path: &str, parts: &[&str]) -> Option<Fit> {
    let (home, own) = crate_of(from);
    let (root, _) = crate_of(path);
    let modules = match parts.iter().rposition(|part| *part == "src") {
        Some(at) => &parts[at + 1..],
        None => parts.get(root.len()..).unwrap_or_default(),
    };
    let names: Vec<&str> = module.split("::").filter(|name| !name.is_empty()).collect();
    let (first, mut rest) = names.split_first()?;
    let mut base = own;
    match *first {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            // Also what stands in a module inside of the file.
            while let Some((&"super", after)) = rest.split_first() {
                base.pop();
                rest = after;
            }
            let within: Vec<&str> = base.iter().chain(rest).copied().collect();
            base.pop();
            let above: Vec<&str> = base.iter().chain(rest).copied().collect();
            let is_home = home == root;
            return is_home
                .then(|| from_root(&within, modules).filter(|fit| *fit != Fit::Below))?
                .or_else(|| from_root(&above, modules));
        }
        name => {
            let is_crate = root.last().is_some_and(|folder| {
                let folder = folder.replace('-', "_");
                folder == name || name.strip_suffix(folder.as_str()).is_some_and(|before| before.ends_with('_'))
            });
            if is_crate && home != root {
                return from_root(rest, modules);
            }
            base.push(name);
        }
    }
    base.extend(rest);
    if home == root { from_root(&base, modules) } else { None }
}

fn go(module: &str, parts: &[&str]) -> Option<Fit> {
    let wanted: Vec<&str> = module.split('/').filter(|part| !matches!(*part, "." | "..")).collect();
    let same = wanted.iter().rev().zip(parts.iter().rev()).take_while(|(one, other)| one == other).count();
    let is_own = wanted.first().is_some_and(|first| first.contains('.')) || module.starts_with('.');
    match same {
        0 => None,
        _ if same == wanted.len() => Some(exact(parts.len() - same)),
        // The tree begins inside of the module.
        _ if same == parts.len() && is_own => Some(exact(wanted.len() - same)),
        _ if same >= 2 && is_own => Some(Fit::Below),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(family: Family, module: &str, from: &str, path: &str) -> Option<bool> {
        fit(family, module, from, path, &[]).map(|fit| fit != Fit::Below)
    }

    #[test]
    fn modules_are_found_by_their_paths() {
        let python = |module, from, path| fits(Family::Python, module, from, path);
        assert_eq!(python("os.path", "x.py", "Lib/os/path.py"), Some(true));
        assert_eq!(python("json", "x.py", "Lib/json/__init__.py"), Some(true));
        assert_eq!(python("json", "x.py", "Lib/json/decoder.py"), Some(false));
        assert_eq!(python(".decoder", "Lib/json/__init__.py", "Lib/json/decoder.py"), Some(true));
        assert_eq!(python("..a", "p/q/r.py", "p/a.py"), Some(true));
        assert_eq!(python(".a", "p/q/r.py", "p/a.py"), None);
        let script = |module, from, path| fits(Family::Script, module, from, path);
        assert_eq!(script("./util", "src/a.ts", "src/util/index.ts"), Some(true));
        assert_eq!(script("../b.js", "src/x/a.ts", "src/b.ts"), Some(true));
        assert_eq!(script("@acme/core", "app/a.ts", "packages/core/src/index.ts"), Some(false));
        assert_eq!(script("react", "app/a.ts", "app/b.ts"), None);
        let rust = |module, from, path| fits(Family::Rust, module, from, path);
        assert_eq!(rust("crate::tree", "crates/engine/src/ops/x.rs", "crates/engine/src/tree/mod.rs"), Some(true));
        assert_eq!(rust("crate::tree", "crates/engine/src/lib.rs", "crates/engine/src/tree/put.rs"), Some(false));
        assert_eq!(rust("crate::tree", "crates/link/src/lib.rs", "crates/engine/src/tree/mod.rs"), None);
        assert_eq!(rust("nuthatch_engine::tree", "crates/link/src/a.rs", "crates/engine/src/tree/mod.rs"), Some(true));
        assert_eq!(rust("super::b", "src/a/c.rs", "src/a/b.rs"), Some(true));
        assert_eq!(rust("super", "src/a/c.rs", "src/a/c.rs"), Some(true), "of a module of tests");
        assert_eq!(rust("serde", "src/a.rs", "src/b.rs"), None);
        let go = |module, path| fits(Family::Go, module, "x.go", path);
        assert_eq!(go("example.com/app/pkg/store", "pkg/store/a.go"), Some(true));
        assert_eq!(go("fmt", "src/fmt/print.go"), Some(true));
        assert_eq!(go("fmt", "pkg/other/print.go"), None);
        assert_eq!(fits(Family::Java, "a.b", "X.java", "src/a/b/C.java"), Some(true));
        assert_eq!(fits(Family::Java, "a.b.C", "X.java", "src/a/b/C.java"), Some(true));
        assert_eq!(fits(Family::C, "linux/list.h", "x.c", "include/linux/list.h"), Some(true));
    }
}
