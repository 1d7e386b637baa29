//! Which format a file is in: by its content where that is certain, else by its name.

mod mail;
mod packed;

use std::path::Path;

use crate::package::Package;
use crate::{ExtractError, Kind};

pub(crate) use mail::begins_with_headers;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) kind: Kind,
    pub(crate) lang: Option<&'static str>,
    pub(crate) mime: &'static str,
}

/// The format, and the file as the archive that it is, if it is a document in one.
pub(crate) fn detect<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Format, Option<Package<'a>>), ExtractError> {
    // Readers accept a PDF header that follows some leading junk, so PDFs in the wild have it.
    if memchr::memmem::find(&bytes[..bytes.len().min(1024)], b"%PDF-").is_some() && !looks_like_text(bytes)
        || bytes.starts_with(b"%PDF-")
    {
        return Ok((PDF, None));
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if let Some((format, package)) = packed::detect(path, &extension, bytes)? {
        return Ok((format, Some(package)));
    }
    if bytes.starts_with(b"{\\rtf") {
        return Ok((RTF, None));
    }
    let by_name = by_extension(&extension).or_else(|| by_name(path));
    // Before anything is asked of its bytes: a mail may be in many encodings.
    if let Some(format) = mail::detect(&extension, by_name.is_some() || extension == "pdf", bytes) {
        return Ok((format, None));
    }
    refuse_binary(path, bytes)?;
    if extension == "pdf" {
        let what = "it has no %PDF header; it is not a PDF, or its beginning is lost".to_owned();
        return Err(ExtractError::Broken { path: path.to_owned(), what });
    }
    if extension == "h"
        && ["class ", "namespace ", "template"].iter().any(|w| memchr::memmem::find(bytes, w.as_bytes()).is_some())
    {
        return Ok((Format { kind: Kind::Code, lang: Some("cpp"), mime: "text/x-c++" }, None));
    }
    Ok((by_name.unwrap_or_else(|| by_content(bytes)), None))
}

/// The part of a path that decides, together with the bytes, how a file is read: a file name that stands for all names
/// like it.
pub(crate) fn form_of(path: &Path) -> String {
    let plain = |extension: &str| extension.len() <= 16 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) if plain(extension) => format!("file.{}", extension.to_ascii_lowercase()),
        _ => match (by_name(path), path.file_name().and_then(|name| name.to_str())) {
            (Some(_), Some(name)) => name.to_owned(),
            _ => "file".to_owned(),
        },
    }
}

pub(crate) const RTF: Format = Format { kind: Kind::Document, lang: Some("rtf"), mime: "application/rtf" };
const PDF: Format = Format { kind: Kind::Pdf, lang: Some("pdf"), mime: "application/pdf" };
const HTML: Format = Format { kind: Kind::Html, lang: Some("html"), mime: "text/html" };
const PLAIN: Format = Format { kind: Kind::Text, lang: None, mime: "text/plain" };

fn looks_like_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok()
}

/// Text never holds a NUL, except in UTF-16, which announces itself by a mark; almost every binary format holds one
/// early.
fn refuse_binary(path: &Path, bytes: &[u8]) -> Result<(), ExtractError> {
    let marked = encoding_rs::Encoding::for_bom(bytes).is_some_and(|(e, _)| e != encoding_rs::UTF_8);
    let nul = if marked { None } else { memchr::memchr(0, bytes) };
    let known = infer::get(bytes).filter(|t| !t.mime_type().starts_with("text/") && t.mime_type() != "application/xml");
    let path = path.to_owned();
    match (known, nul) {
        // A magic number of a few letters can also begin a text ("BM", "GIF8 is a format …"), so it counts only in what
        // is not text.
        (Some(known), nul) if nul.is_some() || std::str::from_utf8(bytes).is_err() && !marked => {
            Err(ExtractError::Binary { path, why: known.mime_type().to_owned() })
        }
        (None, None)
            if !marked && std::str::from_utf8(bytes).is_err() && bytes.iter().take(8192).any(|&b| is_control(b)) =>
        {
            Err(ExtractError::Binary { path, why: "control bytes that no text holds".to_owned() })
        }
        (None, Some(offset)) => Err(ExtractError::Binary { path, why: format!("a NUL byte at {offset}") }),
        _ => Ok(()),
    }
}

/// Below the space, and neither blank, line end, form feed, bell, backspace nor escape.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=6 | 0x0E..=0x1A | 0x1C..=0x1F)
}

fn by_name(path: &Path) -> Option<Format> {
    let (lang, kind) = match path.file_name()?.to_str()? {
        "Makefile" | "makefile" | "GNUmakefile" => ("make", Kind::Code),
        "Dockerfile" | "Containerfile" => ("dockerfile", Kind::Code),
        "CMakeLists.txt" => ("cmake", Kind::Code),
        "README" | "LICENSE" | "LICENCE" | "COPYING" | "NOTICE" | "CHANGELOG" | "AUTHORS" => ("text", Kind::Text),
        _ => return None,
    };
    Some(Format { kind, lang: Some(lang), mime: "text/plain" })
}

fn by_content(bytes: &[u8]) -> Format {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let starts = |prefix: &[u8]| text.len() >= prefix.len() && text[..prefix.len()].eq_ignore_ascii_case(prefix);
    if starts(b"<!doctype html") || starts(b"<html") {
        return HTML;
    }
    let first_line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    if !first_line.starts_with(b"#!") {
        return PLAIN;
    }
    let has = |word: &[u8]| memchr::memmem::find(first_line, word).is_some();
    let lang = match () {
        () if has(b"python") => "python",
        () if has(b"node") => "javascript",
        () if has(b"perl") => "perl",
        () if has(b"ruby") => "ruby",
        () if has(b"sh") => "shell",
        () => return PLAIN,
    };
    Format { kind: Kind::Code, lang: Some(lang), mime: "text/plain" }
}

fn by_extension(extension: &str) -> Option<Format> {
    let code = |lang: &'static str, mime: &'static str| Some(Format { kind: Kind::Code, lang: Some(lang), mime });
    let data = |lang: &'static str, mime: &'static str| Some(Format { kind: Kind::Text, lang: Some(lang), mime });
    match extension {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => {
            Some(Format { kind: Kind::Markdown, lang: Some("markdown"), mime: "text/markdown" })
        }
        "html" | "htm" | "xhtml" => Some(HTML),
        "txt" | "text" | "rst" | "adoc" | "org" | "tex" | "srt" | "vtt" | "eml" => data("text", "text/plain"),
        "log" => data("log", "text/plain"),
        "json" | "geojson" | "webmanifest" => data("json", "application/json"),
        "ipynb" => Some(Format { kind: Kind::Notebook, lang: Some("ipynb"), mime: "application/x-ipynb+json" }),
        "jsonl" | "ndjson" => data("jsonl", "application/x-ndjson"),
        "csv" => data("csv", "text/csv"),
        "tsv" => data("tsv", "text/tab-separated-values"),
        "toml" => data("toml", "application/toml"),
        "yaml" | "yml" => data("yaml", "application/yaml"),
        "ini" | "cfg" | "conf" | "properties" => data("ini", "text/plain"),
        "xml" | "svg" | "rss" | "atom" | "xsd" | "plist" => data("xml", "application/xml"),
        "rs" => code("rust", "text/x-rust"),
        "py" | "pyi" | "pyw" => code("python", "text/x-python"),
        "js" | "mjs" | "cjs" | "jsx" => code("javascript", "text/javascript"),
        "ts" | "mts" | "cts" => code("typescript", "text/x-typescript"),
        "tsx" => code("tsx", "text/x-typescript"),
        "go" => code("go", "text/x-go"),
        "java" => code("java", "text/x-java"),
        "c" => code("c", "text/x-c"),
        "h" => code("c", "text/x-c"),
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "ino" | "cu" => code("cpp", "text/x-c++"),
        "cs" => code("csharp", "text/x-csharp"),
        "rb" => code("ruby", "text/x-ruby"),
        "php" => code("php", "text/x-php"),
        "swift" => code("swift", "text/x-swift"),
        "kt" | "kts" => code("kotlin", "text/x-kotlin"),
        "scala" => code("scala", "text/x-scala"),
        "lua" => code("lua", "text/x-lua"),
        "pl" | "pm" => code("perl", "text/x-perl"),
        "r" => code("r", "text/x-r"),
        "jl" => code("julia", "text/x-julia"),
        "hs" => code("haskell", "text/x-haskell"),
        "ex" | "exs" => code("elixir", "text/x-elixir"),
        "erl" => code("erlang", "text/x-erlang"),
        "clj" | "cljs" => code("clojure", "text/x-clojure"),
        "zig" => code("zig", "text/x-zig"),
        "dart" => code("dart", "text/x-dart"),
        "sh" | "bash" | "zsh" | "fish" => code("shell", "text/x-shellscript"),
        "ps1" => code("powershell", "text/plain"),
        "sql" => code("sql", "application/sql"),
        "proto" => code("protobuf", "text/plain"),
        "graphql" | "gql" => code("graphql", "application/graphql"),
        "css" | "scss" | "sass" | "less" => code("css", "text/css"),
        "vue" | "svelte" => code("component", "text/plain"),
        "tf" | "hcl" => code("hcl", "text/plain"),
        "cmake" => code("cmake", "text/plain"),
        "mk" => code("make", "text/x-makefile"),
        "dockerfile" => code("dockerfile", "text/plain"),
        _ => None,
    }
}
