"""May everything that we build with be used under Apache-2.0? Reads what the packages say of themselves; needs no
network.

Crates: every one of Cargo.lock, also those that only tests or other platforms use. Python: what is installed in .venv.
npm: what the committed pages of the console are made of.
The licences that we accept are listed once, in deny.toml.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Licences that these state in their own words, read by a person. A new version is read again.
READ_BY_HAND = {
    ("libclang", "18.1.1"): "Apache-2.0 WITH LLVM-exception",
    # Its copy of construct is MIT's.
    ("pyelftools", "0.33"): "Unlicense AND MIT",
    ("types-pytz", "2026.6.0.20261031"): "Apache-2.0",
}
# Older packages name their licence by a trove classifier or by a nickname.
NICKNAMES = {
    "apache software license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "dual license": "Apache-2.0 OR BSD-3-Clause",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
# Used alongside our code, never linked into it or shipped with it.
TOOLS_ONLY = {"pathspec": {"MPL-2.0"}}


def main() -> int:
    allowed = allowed_licences()
    crates = [(p["name"], p["version"], crate_licence(p)) for p in workspace_packages()]
    packages = [(name, version, licence) for name, version, licence in python_packages()]
    refused = []
    pages = console_packages()
    for kind, items in (("crate", crates), ("Python package", packages), ("npm package", pages)):
        for name, version, licence in items:
            extra = TOOLS_ONLY.get(name, set()) if kind != "crate" else set()
            if not licence or not accepts(licence, allowed | extra):
                refused.append(f"{kind} {name} {version}: {licence or 'states no licence'}")
    for line in refused:
        print(
            f"error: {line}: not in the list of deny.toml; use another, or argue for its licence there", file=sys.stderr
        )
    print(f"{len(crates)} crates, {len(packages)} Python packages, {len(pages)} npm packages, {len(refused)} refused")
    return 1 if refused else 0


def console_packages() -> list[tuple[str, str, str]]:
    """The build of the console writes this list next to the pages."""
    listed = json.loads((ROOT / "crates/server/console/licences.json").read_text(encoding="utf-8"))
    return [(package["name"], package["version"], package["licence"] or "") for package in listed]


def allowed_licences() -> set[str]:
    text = (ROOT / "deny.toml").read_text(encoding="utf-8")
    section = re.search(r"^allow = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    if section is None:
        raise SystemExit("error: deny.toml has no list `allow`")
    return set(re.findall(r'"([^"]+)"', section[1]))


def workspace_packages() -> list[dict[str, str]]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: cargo metadata failed:\n{done.stderr}")
    packages: list[dict[str, str]] = json.loads(done.stdout)["packages"]
    return packages


def crate_licence(package: dict[str, str]) -> str:
    # "MIT/Apache-2.0" is how crates said OR before licence expressions.
    return (package["license"] or "").replace("/", " OR ")


def python_packages() -> list[tuple[str, str, str]]:
    found = {}
    for distribution in importlib.metadata.distributions():
        name, version = distribution.metadata["Name"].lower(), distribution.version
        found[name] = (name, version, READ_BY_HAND.get((name, version)) or python_licence(distribution))
    # pip and setuptools come with the interpreter's environment.
    return [item for name, item in sorted(found.items()) if name not in ("pip", "setuptools")]


def python_licence(distribution: importlib.metadata.Distribution) -> str:
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    for classifier in metadata.get_all("Classifier") or []:
        if classifier.startswith("License :: OSI Approved :: "):
            name = classifier.rsplit(" :: ", 1)[1]
            return NICKNAMES.get(name.lower(), name)
    # Some put the whole text there; its first line is the name.
    stated = (metadata.get("License") or "").strip().splitlines()
    return NICKNAMES.get(stated[0].lower(), stated[0]) if stated else ""


def accepts(expression: str, allowed: set[str]) -> bool:
    """An SPDX expression (annex D of the specification): OR needs one side, AND both, WITH belongs to its licence."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    result, rest = _or(tokens, allowed)
    return result and not rest


def _or(tokens: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    result, rest = _and(tokens, allowed)
    while rest and rest[0].upper() == "OR":
        other, rest = _and(rest[1:], allowed)
        result = result or other
    return result, rest


def _and(tokens: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    result, rest = _one(tokens, allowed)
    while rest and rest[0].upper() == "AND":
        other, rest = _one(rest[1:], allowed)
        result = result and other
    return result, rest


def _one(tokens: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    if not tokens:
        return False, []
    if tokens[0] == "(":
        result, rest = _or(tokens[1:], allowed)
        return result and rest[:1] == [")"], rest[1:]
    if len(tokens) > 2 and tokens[1].upper() == "WITH":
        return f"{tokens[0]} WITH {tokens[2]}" in allowed, tokens[3:]
    return tokens[0] in allowed, tokens[1:]


if __name__ == "__main__":
    sys.exit(main())
