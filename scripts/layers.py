"""Hold the order of modules inside the large crates: an import may only point down.

`scripts/layers.toml` declares the order of each crate's modules, ground floor first. The exit status is 1 when an
import points up, and each is named.

A name that `lib.rs` gives out at the root counts as an import of the module that it comes from:
`crate::Error` is `error`.
"""

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DECLARED = ROOT / "scripts" / "layers.toml"
ROOT_NAMES = re.compile(r"^pub(?:\([^)]*\))? use (\w+)::([^;]+);", re.MULTILINE)
CRATE_PATH = re.compile(r"\bcrate::(\w+|\{[^;]*?\})", re.DOTALL)
TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\n\s*mod \w+ \{", re.MULTILINE)
NOT_MODULES = {"lib", "main"}


def main() -> None:
    declared = tomllib.loads(DECLARED.read_text(encoding="utf-8"))
    problems: list[str] = []
    for crate, rules in declared.items():
        for file, above in upward_imports(crate, rules["order"], problems).items():
            problems += [f"{crate}: {file} imports {name}, which stands above it" for name in sorted(above)]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(declared)} crates, {len(problems)} breaches of the order of their modules")
    sys.exit(bool(problems))


def upward_imports(crate: str, order: list[str], problems: list[str]) -> dict[str, set[str]]:
    """By file: the modules above its own that it names, outside of its tests."""
    source = ROOT / "crates" / crate / "src"
    modules = {path.stem for path in source.iterdir() if path.is_dir() or path.suffix == ".rs"} - NOT_MODULES
    problems += [f"{crate}: layers.toml does not say where {name} stands" for name in sorted(modules - set(order))]
    problems += [f"{crate}: layers.toml names {name}, which does not exist" for name in sorted(set(order) - modules)]
    floor = {name: number for number, name in enumerate(order)}
    home = root_names(source / "lib.rs", modules)
    found: dict[str, set[str]] = {}
    for file in sorted(source.rglob("*.rs")):
        own = file.relative_to(source).parts[0].removesuffix(".rs")
        if own not in floor or file.name == "tests.rs":
            continue
        text = file.read_text(encoding="utf-8")
        if tests := TESTS.search(text):
            text = text[: tests.start()]
        text = re.sub(r"//.*", "", text)
        named = {home.get(name, name) for path in CRATE_PATH.findall(text) for name in first_names(path)}
        if above := {name for name in named if floor.get(name, -1) > floor[own]}:
            found[str(file.relative_to(source))] = above
    return found


def root_names(lib: Path, modules: set[str]) -> dict[str, str]:
    """Which module each name comes from that the root of the crate gives out."""
    if not lib.exists():
        return {}
    home: dict[str, str] = {}
    for module, names in ROOT_NAMES.findall(re.sub(r"//.*", "", lib.read_text(encoding="utf-8"))):
        if module in modules:
            # `a::{B, c as D}`: the last word of each part is the name at the root.
            parts = re.sub(r"[{}]", ",", names).split(",")
            home |= {part.split()[-1].split("::")[-1]: module for part in parts if part.split()}
    return {name: module for name, module in home.items() if name not in modules}


def first_names(path: str) -> list[str]:
    """`{a::B, c::{D, E}}` begins in `a` and in `c`."""
    if not path.startswith("{"):
        return [path]
    depth, names, word = 0, [], ""
    for letter in path + ",":
        depth += (letter == "{") - (letter == "}")
        if (depth == 1 and letter == ",") or depth == 0:
            names += re.findall(r"^\s*(\w+)", word)
            word = ""
        elif not (depth == 1 and letter == "{"):
            word += letter
    return names


if __name__ == "__main__":
    main()
