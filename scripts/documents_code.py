"""Do the documents say what the code does? Each check reads a fact from the sources and looks for it in the pages.

Only facts that a program can read reliably are here: names of tables, methods of traits, fields of `LOCK`, crates with
`unsafe`, locks, crates, RFCs and their headings, paths. A check that finds nothing to compare is an error, too: it has
lost its source.
"""

from __future__ import annotations

import re
from pathlib import Path

STORE_RFC = "docs/rfcs/0002-store.md"
DATA_FOLDER = "docs/internals/data-folder.md"
LOCKS = "docs/internals/locks.md"
UNSAFE_PAGES = ("SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md")
PATH_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "README.md")


def drifted(root: Path) -> list[str]:
    checks = (traits, tables, lock_file, unsafe_crates, locks, rfcs, paths, crates, fuzz_targets)
    return [line for check in checks for line in check(root)]


def read(root: Path, *paths: str) -> str:
    return "\n".join((root / path).read_text(encoding="utf-8") for path in paths)


def sources(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.rs")))


def compare(page: str, about: str, code: set[str], written: set[str]) -> list[str]:
    if not code:
        return [f"{page}: nothing in the sources to compare {about} with; mend scripts/documents_code.py"]
    missing = [f"{page} does not name {about} `{name}`" for name in sorted(code - written)]
    return missing + [
        f"{page} names {about} `{name}`, which the sources do not have" for name in sorted(written - code)
    ]


def traits(root: Path) -> list[str]:
    """The RFC of the store draws its public traits whole: the same traits, the same methods."""
    text = sources(root / "crates/store/src")
    code = {name: methods(body) for name, body in re.findall(r"^pub trait (\w+)[^{]*\{(.*?)^\}", text, re.M | re.S)}
    drawn = "\n".join(re.findall(r"^```rust\n(.*?)^```", read(root, STORE_RFC), re.M | re.S))
    page = {
        name: methods(body) for name, body in re.findall(r"^(?:pub )?trait (\w+)[^{]*\{(.*?)\}", drawn, re.M | re.S)
    }
    found = compare(STORE_RFC, "the trait", set(code), set(page))
    for name in sorted(code.keys() & page.keys()):
        found += compare(STORE_RFC, f"a method of `{name}`,", code[name], page[name])
    return found


def methods(body: str) -> set[str]:
    return set(re.findall(r"\bfn (\w+)", re.sub(r"//.*", "", body)))


def tables(root: Path) -> list[str]:
    """Every table of the store is a row in the data folder's page, and is named in the RFC of the store."""
    enum = re.search(r"pub enum Table \{(.*?)\n\}", read(root, "crates/store/src/key.rs"), re.S)
    code = {name.lower() for name in re.findall(r"^\s+(\w+),", enum[1], re.M)} if enum else set()
    section = read(root, DATA_FOLDER).partition("| table | key after the shard")[2].partition("\n\n")[0]
    rows = set(re.findall(r"^\| `(\w+)` \|", section, re.M))
    listed = re.search(r"The tables are ([^.]*)\.", read(root, STORE_RFC))
    named = set(re.findall(r"`(\w+)`", listed[1])) if listed else set()
    return compare(DATA_FOLDER, "the table", code, rows) + compare(STORE_RFC, "the table", code, named)


def lock_file(root: Path) -> list[str]:
    """`LOCK` is drawn with all of its fields."""
    struct = re.search(r"struct Holder \{(.*?)\n\}", sources(root / "crates"), re.S)
    code = set(re.findall(r"^\s+pub (\w+):", struct[1], re.M)) if struct else set()
    drawn = re.search(r"\*\*`LOCK`\*\*.*?```json\n(.*?)```", read(root, DATA_FOLDER), re.S)
    outer = re.sub(r"(?<=.)\{.*?\}", "", drawn[1].strip(), flags=re.S) if drawn else ""
    return compare(DATA_FOLDER, "a field of `LOCK`,", code, set(re.findall(r'"(\w+)":', outer)))


def unsafe_crates(root: Path) -> list[str]:
    """Pages that say where `unsafe` is name exactly the crates that have a block of it."""
    blocks = re.compile(r"^(?!\s*//).*\bunsafe (?:\{|fn|impl|extern)", re.M)
    code = {path.name for path in (root / "crates").iterdir() if blocks.search(sources(path / "src"))}
    found = []
    for page in UNSAFE_PAGES:
        for sentence in re.findall(r"`unsafe`[^.]*? (?:lives|live) in [^.]*\.", read(root, page)):
            named = set(re.findall(r"`(?:crates/)?(\w+)`", sentence)) - {"unsafe"}
            found += compare(page, "as a home of `unsafe`", code, named)
            break
        else:
            found.append(f"{page} does not say in which crates `unsafe` lives")
    return found


def locks(root: Path) -> list[str]:
    """Each lock in the table of locks is a field of the engine that is one."""
    text = sources(root / "crates")
    table = read(root, LOCKS).partition("| lock | guards")[2].partition("\n\n")[0]
    named = {name for cell in re.findall(r"^\| (`[^|]*`) \|", table, re.M) for name in re.findall(r"`(\w+)`", cell)}
    have = {name for name in named if re.search(rf"\b{name}: .*\b(?:Mutex|RwLock)<", text)}
    if not named:
        return [f"{LOCKS}: its table of locks is not there"]
    return [f"{LOCKS} names the lock `{name}`, which the sources do not have" for name in sorted(named - have)]


def rfcs(root: Path) -> list[str]:
    """Every RFC has a status and a date at its top, and is in the index."""
    index = read(root, "docs/rfcs/README.md")
    found = []
    for path in sorted((root / "docs/rfcs").glob("0*.md")):
        top = "\n".join(path.read_text(encoding="utf-8").splitlines()[:12])
        name = path.relative_to(root)
        if not re.search(r"\bStatus\W+\w", top):
            found.append(f"{name} says no `Status:` at its top")
        if not re.search(r"\bDate\W+\d{4}-\d{2}-\d{2}", top):
            found.append(f"{name} says no `Date:` at its top")
        if f"({path.name})" not in index:
            found.append(f"docs/rfcs/README.md does not list {path.name}")
    return found


def paths(root: Path) -> list[str]:
    """Paths in backquotes lead somewhere."""
    pattern = re.compile(r"`((?:crates|docs|fuzz|python|scripts|tests|bench|deploy|clients)/[\w./-]+)`")
    found = []
    for page in (*PATH_PAGES, *(str(path.relative_to(root)) for path in (root / "docs/internals").glob("*.md"))):
        for path in pattern.findall(read(root, page)):
            if not (root / path).exists():
                found.append(f"{page} names `{path}`, which is not there")
    return found


def crates(root: Path) -> list[str]:
    """The map lists every crate."""
    have = {path.name for path in (root / "crates").iterdir() if (path / "Cargo.toml").exists()}
    listed = set(re.findall(r"\]\(crates/(\w+)/src/(?:lib|main)\.rs\)", read(root, "ARCHITECTURE.md")))
    return compare("ARCHITECTURE.md", "the crate", have, listed)


def fuzz_targets(root: Path) -> list[str]:
    """Every fuzz target is in the list of them, and pages that count them count right."""
    text = read(root, "fuzz/src/lib.rs").partition("pub const TARGETS")[2].partition("\n];")[0]
    names = re.findall(r'\bof\(\s*"(\w+)"', text)
    listed = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\|[^|]*\|", read(root, "fuzz/README.md"), re.M))))
    found = compare("fuzz/README.md", "the target", set(names), listed)
    for page in ("README.md", "SECURITY.md"):
        for count in re.findall(r"(\d+) fuzz targets", read(root, page)):
            if int(count) != len(names):
                found.append(f"{page} counts {count} fuzz targets; fuzz/src/lib.rs has {len(names)}")
    return found
