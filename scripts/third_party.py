"""Collect the licences of everything that the command and the Python module link, in two files of this folder.

    python scripts/third_party.py

`THIRD-PARTY-LICENSES.txt` has the crates, the C and C++ libraries that they bring, and the npm packages of the console:
each text once, under the names of those that it covers. `THIRD-PARTY-RUST.html` is what the compiler's authors say of
Rust's standard library. A crate whose package has no licence file gets the common text of what it states, with its
authors. A licence that deny.toml does not list is an error.
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import licences
import linked
from linked import ROOT, Crate

TEXTS = ROOT / "THIRD-PARTY-LICENSES.txt"
RUST = ROOT / "THIRD-PARTY-RUST.html"
FILE = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense|patents)([-_. ].*)?", re.IGNORECASE)
RANGE_TREE = "rocksdb/utilities/transactions/lock/range/range_tree/lib"
#: Sources and scripts may have such names, too.
NOT_TEXT = {".rs", ".c", ".cc", ".h", ".py", ".sh", ".toml", ".json", ".yml", ".yaml", ".js", ".go"}
#: Folders of a crate that nothing is linked from.
NOT_LINKED = {"tests", "test", "benches", "examples", "fuzz", "docs", "doc", "contrib", "programs", "target", ".github"}
#: Offered in addition to a permissive licence, which is the one that we take; or of code that is left out.
NOT_TAKEN = {
    ("librocksdb-sys", "rocksdb/COPYING"),
    ("librocksdb-sys", f"{RANGE_TREE}/COPYING.AGPLv3"),
    ("librocksdb-sys", f"{RANGE_TREE}/COPYING.GPLv2"),
    ("librocksdb-sys", "snappy/COPYING"),
    ("zstd-sys", "zstd/COPYING"),
}
COPYLEFT = re.compile(r"\s*GNU (AFFERO |LESSER )?GENERAL PUBLIC LICENSE")
RULE = "=" * 100


def main() -> int:
    crates = linked.crates()
    allowed = licences.allowed_licences()
    refused = [crate for crate in crates if not licences.accepts(crate.licence, allowed)]
    for crate in refused:
        print(f"error: {crate.name} {crate.version}: {crate.licence or 'states no licence'}", file=sys.stderr)
    if refused:
        return 1
    version, documents = linked.rust()
    if not (documents / "COPYRIGHT-library.html").exists():
        print(f"error: {documents} has no COPYRIGHT-library.html; run: rustup component add rustc", file=sys.stderr)
        return 1
    shutil.copyfile(documents / "COPYRIGHT-library.html", RUST)
    TEXTS.write_text(document(crates, version, documents / "licenses"), encoding="utf-8")
    print(f"    {TEXTS.name}: {len(crates)} crates; {RUST.name}: the standard library of Rust {version}")
    return 0


def document(crates: list[Crate], rust: str, common: Path) -> str:
    covered: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        name = f"{crate.name} {crate.version}"
        for path, text in texts(crate) or stated(crate, common):
            covered[text].append(name if "/" not in path else f"{name}, {path}")
    parts = [
        "Nuthatch contains the software that is listed here. Each licence names what it covers.\n"
        f"THIRD-PARTY-RUST.html covers the standard library of Rust {rust}.\n",
        "Crates: name, version, licence\n\n" + "".join(f"{c.name} {c.version}: {c.licence}\n" for c in crates),
    ]
    parts += [f"{wrapped(names)}\n\n{text}\n" for text, names in sorted(covered.items(), key=lambda one: one[1])]
    parts.append("The console in the browser is made of these packages of npm.\n\n" + console())
    return f"\n{RULE}\n".join(parts)


def texts(crate: Crate) -> list[tuple[str, str]]:
    """The licence files of a crate and of what it bundles, by their paths in it."""
    found = []
    for path in sorted(crate.folder.rglob("*")):
        inside = path.relative_to(crate.folder)
        if (
            FILE.fullmatch(path.name)
            and path.suffix.lower() not in NOT_TEXT
            and not NOT_LINKED & set(inside.parts[:-1])
            and (crate.name, inside.as_posix()) not in NOT_TAKEN
            and path.is_file()
        ):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            if COPYLEFT.match(text):
                if inside == Path(path.name):
                    # Of the licences that the crate states, deny.toml has another one.
                    continue
                raise SystemExit(f"error: {path}: deny.toml does not list it; say in NOT_TAKEN why it does not hold")
            found.append((inside.as_posix(), text))
    return found


def stated(crate: Crate, common: Path) -> list[tuple[str, str]]:
    """The common text of the first licence that a crate states, of those that Rust's own documents have."""
    for name in re.findall(r"[\w.-]+", crate.licence):
        if (common / f"{name}.txt").exists():
            text = (common / f"{name}.txt").read_text(encoding="utf-8").strip()
            authors = ", ".join(crate.authors) or f"the authors of {crate.name}"
            # Where a licence names its holder, the common text has a blank.
            text = re.sub(r"^Copyright \(c\) <year> <[^>]+>\s*", "", text, flags=re.MULTILINE)
            return [("", f"Copyright (c) {authors}\n\n{text}")]
    raise SystemExit(f"error: {crate.name} {crate.version} has no licence file, and no common text of {crate.licence}")


def console() -> str:
    return gzip.decompress((ROOT / "crates/server/console/licences.txt.gz").read_bytes()).decode()


def wrapped(names: list[str]) -> str:
    return "Covers: " + ";\n        ".join(sorted(set(names)))


if __name__ == "__main__":
    sys.exit(main())
