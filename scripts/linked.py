"""Components of the command and Python module from elsewhere: crates, C and C++ libraries, pages.

`third_party.py` collects its licences and `sbom.py` describes it. Crates are those that cargo resolves for this
platform along normal dependencies of the two crates that are shipped, with the features of the workspace. What only
builds, tests or runs macros is not linked.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("nuthatch-cli", "nuthatch-python")
#: Libraries in C and C++ that a crate brings and compiles. The crate's version ends with theirs.
BUNDLED = {"librocksdb-sys": "rocksdb", "lz4-sys": "lz4", "zstd-sys": "zstd"}


@dataclass(frozen=True)
class Crate:
    """A crate from the registry."""

    name: str
    version: str
    #: As the crate states it, with OR for the older "/".
    licence: str
    authors: tuple[str, ...]
    folder: Path
    #: SHA-256 of the published file, from Cargo.lock.
    sha256: str
    #: Names and versions of the crates that it uses, of those that are linked.
    uses: tuple[tuple[str, str], ...] = field(default=())

    @property
    def bundles(self) -> tuple[str, str] | None:
        """Name and version of the library that it brings along."""
        name = BUNDLED.get(self.name)
        found = re.search(r"\+\D*([\d.]+)$", self.version)
        return (name, found[1]) if name and found else None


def version() -> str:
    found = re.search(r'(?m)^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("error: Cargo.toml states no version of the workspace")
    return found[1]


def crates() -> list[Crate]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: cargo metadata failed:\n{done.stderr}")
    graph = json.loads(done.stdout)
    packages = {package["id"]: package for package in graph["packages"]}
    uses = {
        node["id"]: [edge["pkg"] for edge in node["deps"] if any(kind["kind"] is None for kind in edge["dep_kinds"])]
        for node in graph["resolve"]["nodes"]
    }
    reached = reach([key for key, package in packages.items() if package["name"] in SHIPPED], packages, uses)
    checksums = locked_checksums()
    return sorted(
        (
            Crate(
                name=package["name"],
                version=package["version"],
                licence=(package["license"] or "").replace(" / ", " OR ").replace("/", " OR "),
                authors=tuple(package["authors"]),
                folder=Path(package["manifest_path"]).parent,
                sha256=checksums[package["name"], package["version"]],
                uses=tuple(
                    (packages[used]["name"], packages[used]["version"]) for used in uses[key] if used in reached
                ),
            )
            for key in reached
            if (package := packages[key])["source"]
        ),
        key=lambda crate: (crate.name, crate.version),
    )


def reach(roots: list[str], packages: dict[str, Any], uses: dict[str, list[str]]) -> set[str]:
    """Everything that is linked with the roots. A macro runs while compiling, and so does what it uses."""
    reached: set[str] = set()
    todo = list(roots)
    while todo:
        key = todo.pop()
        macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key not in reached and not macro:
            reached.add(key)
            todo += uses[key]
    return reached


def pages() -> list[dict[str, str]]:
    """The npm packages in the console's pages. Their build writes this list."""
    listed: list[dict[str, str]] = json.loads(
        (ROOT / "crates/server/console/licences.json").read_text(encoding="utf-8")
    )
    return listed


def rust() -> tuple[str, Path]:
    """The compiler's version, whose standard library is linked, and the folder with its documents."""
    said = subprocess.check_output(["rustc", "--version"], text=True)
    sysroot = subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip()
    return said.split()[1], Path(sysroot) / "share" / "doc" / "rust"


def host() -> str:
    said = subprocess.check_output(["rustc", "-vV"], text=True)
    return said.split("host: ")[1].split()[0]


def locked_checksums() -> dict[tuple[str, str], str]:
    text = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    pattern = r'\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "(\w+)"'
    return {(name, version): checksum for name, version, checksum in re.findall(pattern, text)}
