"""How right are definitions and calls that `nuthatch code` names, and how long does it take?

Question: of the definitions that ctags (or, for Python, `ast`) finds in a folder, how many does the code graph find, and how
many of its own do they know? Of the calls that it calls certain, how many go where Python itself goes? How large are the
facts, and how long does a question take?

Data: any folder of source code; every file of its languages counts. Seed: 7, for the samples.

    python -m bench.code_graph definitions FOLDER [--ctags PATH]
    python -m bench.code_graph python-calls FOLDER [N]  # the standard library of the running Python: N of its functions
    python -m bench.code_graph times FOLDER [NAME …]
    python -m bench.code_graph sample FOLDER [N]        # certain and unique calls with their lines, to be read by a person
    python -m bench.code_graph scip FOLDER INDEX        # against an index that an indexer with types has made of the folder

Python's truth: for a call in a module that can be imported, the interpreter is asked what the name is there (`f`, `module.f`,
`Class.f`, and `self.f` in its class), and where that is defined. Sites that it cannot tell of are not counted.

SCIP's truth: a call is a place that the graph calls one and that the index names; where it goes is where the index has a definition
of the same symbol. Only calls that lead to a definition in the folder count for recall, and only definitions that both know. A false
absence is a definition that the index knows calls of, and of which `callers` counts none, in whatever class.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nuthatch

SEED = 7
LANGUAGES = {
    ".rs": "Rust",
    ".py": "Python",
    ".js": "JavaScript",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".go": "Go",
    ".java": "Java",
    ".c": "C",
    ".h": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".hpp": "C++",
}
#: What ctags calls a thing, for the things that both name: not parameters, not local variables, not members of records.
CTAGS_KINDS = {
    "Rust": {"function", "method", "struct", "enum", "interface", "macro", "typedef", "enumerator"},
    "Go": {"func", "struct", "interface", "type", "talias", "methodSpec"},
    "Java": {"class", "interface", "enum", "method", "annotation"},
    "JavaScript": {"function", "class", "method", "generator"},
    "TypeScript": {"function", "class", "method", "interface", "enum", "alias", "generator", "namespace"},
    "C": {"function", "struct", "enum", "union", "typedef", "macro", "enumerator"},
    "C++": {"function", "class", "struct", "enum", "union", "typedef", "macro", "enumerator", "namespace"},
}
OURS = {
    "Rust": {"function", "method", "declaration", "struct", "enum", "interface", "macro", "type", "variant"},
    "Go": {"function", "method", "declaration", "struct", "interface", "type"},
    "Java": {"class", "interface", "enum", "method", "declaration"},
    "JavaScript": {"function", "class", "method"},
    "TypeScript": {"function", "class", "method", "interface", "enum", "type", "module", "declaration"},
    "C": {"function", "struct", "enum", "union", "type", "macro", "variant"},
    "C++": {"function", "method", "class", "struct", "enum", "union", "type", "macro", "variant", "module"},
    "Python": {"function", "method", "class"},
}


@contextlib.contextmanager
def opened(folder: Path):
    """The folder as a tree of a database of its own."""
    with tempfile.TemporaryDirectory() as home, nuthatch.connect(home) as db:
        tree = db.tree("code")
        files: dict[str, bytes] = {}
        for path in sources(folder):
            files[str(path.relative_to(folder))] = path.read_bytes()
            if len(files) == 1000:
                tree.put_many(files)
                files = {}
        tree.put_many(files)
        yield tree, Path(home)


def sources(folder: Path):
    for path in sorted(folder.rglob("*")):
        is_own = "site-packages" not in path.relative_to(folder).parts
        if path.suffix in LANGUAGES and is_own and path.is_file() and not path.is_symlink():
            yield path


def definitions(folder: Path, ctags: str | None) -> None:
    truth: dict[str, dict[str, set[tuple[str, int]]]] = defaultdict(dict)
    paths = [str(path.relative_to(folder)) for path in sources(folder)]
    for path in paths:
        if path.endswith(".py"):
            with contextlib.suppress(SyntaxError, ValueError):
                truth["Python"][path] = of_ast(folder / path)
    if ctags is not None:
        for path, found in of_ctags(folder, [path for path in paths if not path.endswith(".py")], ctags).items():
            truth[LANGUAGES[Path(path).suffix]][path] = found
    with opened(folder) as (tree, _):
        for language, files in truth.items():
            both = known = named = 0
            examples: dict[str, list[str]] = {"missed": [], "added": []}
            for path, known_here in files.items():
                answer = tree.code.outline(path)
                own = {
                    (one.name.rsplit(".", 1)[-1], one.line) for one in answer.definitions if one.kind in OURS[language]
                }
                both, known, named = both + len(own & known_here), known + len(known_here), named + len(own)
                examples["missed"] += [f"{path}:{line} {name}" for name, line in sorted(known_here - own)]
                examples["added"] += [f"{path}:{line} {name}" for name, line in sorted(own - known_here)]
            print(
                f"{language}: {len(files)} files, {known} definitions known, {named} found, "
                f"recall {both / max(known, 1):.4f}, precision {both / max(named, 1):.4f}"
            )
            for what, all_of_them in examples.items():
                some = random.Random(SEED).sample(all_of_them, min(12, len(all_of_them)))
                print(f"    {what} {len(all_of_them)}: " + "; ".join(some))


def of_ast(path: Path) -> set[tuple[str, int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = ast.parse(path.read_bytes())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {(node.name, node.lineno) for node in ast.walk(module) if isinstance(node, kinds)}


def of_ctags(folder: Path, paths: list[str], ctags: str) -> dict[str, set[tuple[str, int]]]:
    options = ["--output-format=json", "--fields=+n", "--sort=no", "-f", "-", "--kinds-Java=+m", "-L", "-"]
    options += ["--langmap=C:.c.h", "--extras=-{anonymous}"]
    printed = subprocess.run(
        [ctags, *options], cwd=folder, input="\n".join(paths), capture_output=True, text=True, check=True
    )
    found: dict[str, set[tuple[str, int]]] = {path: set() for path in paths}
    for line in printed.stdout.splitlines():
        tag = json.loads(line)
        language = LANGUAGES.get(Path(tag.get("path", "")).suffix)
        name = tag.get("name", "")
        if language and tag.get("kind") in CTAGS_KINDS[language] and not name.startswith("__anon"):
            found[tag["path"]].add((name.rsplit("::", 1)[-1], tag["line"]))
    return found


def python_calls(folder: Path, count: int) -> None:
    """Calls of some random functions against what the interpreter says."""
    right: Counter[str] = Counter()
    told: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    wrong: list[str] = []
    with opened(folder) as (tree, _):
        functions = []
        for path in sources(folder):
            name = module_name(path, folder)
            module = imported(name) if path.suffix == ".py" and name is not None else None
            if module is not None and Path(getattr(module, "__file__", None) or "").resolve() == path.resolve():
                inside = str(path.relative_to(folder))
                functions += [(inside, module, definition) for definition in top_callables(tree, inside)]
        for inside, module, definition in random.Random(SEED).sample(functions, min(count, len(functions))):
            for site in tree.code.callees(f"{inside}#{definition}", limit=10_000).sites:
                true = truth_of(module, site, folder) if site.within is not None else None
                if true is None:
                    continue
                classes[site.class_] += 1
                if site.class_ not in ("certain", "unique"):
                    continue
                told[site.class_] += 1
                if any(is_same(target, true) for target in site.targets):
                    right[site.class_] += 1
                else:
                    wrong.append(f"{inside}:{site.line} {site.name} is {true}, told {site.targets[:2]}")
    for class_, known in told.items():
        print(f"Python {class_}: {known} calls that the interpreter knows, precision {right[class_] / known:.4f}")
    print(f"classes of these calls: {dict(classes)}")
    in_tree = sum(classes.values())
    certain = right["certain"] / max(in_tree, 1)
    both = (right["certain"] + right["unique"]) / max(in_tree, 1)
    print(f"of {in_tree} calls that lead into the folder: certain and right {certain:.4f}, with unique {both:.4f}")
    for line in random.Random(SEED).sample(wrong, min(25, len(wrong))):
        print("   ", line)


def module_name(path: Path, folder: Path) -> str | None:
    home = folder
    for entry in sorted(map(Path, sys.path), key=lambda entry: len(str(entry)), reverse=True):
        if str(path).startswith(f"{entry}{os.sep}"):
            home = entry
            break
    parts = list(path.relative_to(home).with_suffix("").parts)
    if parts and parts[-1] == "__init__":
        parts.pop()
    skipped = {"test", "tests", "idlelib", "turtledemo", "lib2to3", "site-packages", "antigravity", "this", "__main__"}
    return None if not parts or skipped & set(parts) else ".".join(parts)


def imported(name: str) -> types.ModuleType | None:
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except BaseException:
        return None


def top_callables(tree: nuthatch.Tree, path: str):
    """Functions and methods that stand in no other function, each name once."""
    found = tree.code.outline(path).definitions
    functions = [one for one in found if one.kind in ("function", "method")]
    names = []
    for one in functions:
        inside = any(
            other is not one and other.line < one.line and one.line_end <= other.line_end for other in functions
        )
        if not inside:
            names.append(one.name)
    return dict.fromkeys(names)


def truth_of(module: types.ModuleType, site: nuthatch.CodeSite, folder: Path) -> tuple[str, int] | None:
    """Where the interpreter finds what a call names: path in the folder and line."""
    around, name = (site.within or "").split("."), site.name
    function, holder = walked(module, around), walked(module, around[:-1])
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if code is None or name.startswith("."):
        return None
    first, *rest = name.split(".")
    if first == "self":
        found = walked(holder, rest) if isinstance(holder, type) and len(rest) == 1 else None
    else:
        own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        found = None if first in own else walked(module, [first, *rest])
    return place_of(found, folder)


def walked(found: object, names: list[str]) -> object:
    for name in names:
        found = getattr(found, name, None)
    return found


def place_of(found: object, folder: Path) -> tuple[str, int] | None:
    found = getattr(found, "__func__", found)
    try:
        found = inspect.unwrap(found)  # type: ignore[arg-type]
        code = getattr(found, "__code__", None)
        if isinstance(code, types.CodeType):
            path, line = code.co_filename, code.co_firstlineno
        elif isinstance(found, type):
            path, line = inspect.getsourcefile(found) or "", inspect.getsourcelines(found)[1]
        else:
            return None
        return str(Path(path).resolve().relative_to(folder.resolve())), line
    except (OSError, TypeError, ValueError):
        return None


def is_same(target: nuthatch.CodeTarget, true: tuple[str, int]) -> bool:
    """A decorator stands above the line of the name."""
    return target.path == true[0] and 0 <= target.line - true[1] <= 12


def times(folder: Path, names: list[str]) -> None:
    """Prints processor time, because other programs may run, and wall time next to it."""
    with opened(folder) as (tree, home):
        before, asked = size_of(home), measured(lambda: tree.code.definitions("main"), 1)
        files = tree.code.definitions("main").files
        print(
            f"{files.read} files of source ({tree.info().bytes / 1e6:.1f} MB in the tree), {files.unparsed} not parsed, "
            f"{files.with_errors} with errors; first question {asked}; "
            f"folder {before / 1e6:.1f} MB, then {size_of(home) / 1e6:.1f} MB"
        )
        for name in names:
            for question in ("definitions", "callers", "references", "callees", "impact"):
                ask = getattr(tree.code, question)
                answer = ask(name)
                listed = len(answer.definitions if question == "definitions" else answer.sites or answer.reached)
                taken = measured(lambda ask=ask, name=name: ask(name), 5)
                print(f"    {question:<12} {name:<16} {taken}, {listed} listed, counts {tuple(answer.counts)}")
        print(f"    map, 2,048 tokens: {measured(lambda: tree.code.map(tokens=2048), 2)}")


def measured(ask: Callable[[], object], rounds: int) -> str:
    """The least of some rounds."""
    taken = []
    for _ in range(rounds):
        begun = (time.process_time(), time.perf_counter())
        ask()
        taken.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    processor, wall = (min(some) * 1e3 for some in zip(*taken, strict=True))
    return f"{processor:.0f} ms of processor, {wall:.0f} ms of wall"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sample(folder: Path, count: int) -> None:
    """Random calls that are certain or unique, with the lines at both ends."""
    chosen = random.Random(SEED)
    paths = [str(path.relative_to(folder)) for path in sources(folder)]
    chosen.shuffle(paths)
    with opened(folder) as (tree, _):
        found: dict[str, list[str]] = {"certain": [], "unique": []}
        for path in paths:
            outline = [one for one in tree.code.outline(path).definitions if one.kind in ("function", "method")]
            chosen.shuffle(outline)
            for one in outline[:2]:
                sites = [site for site in tree.code.callees(f"{path}#{one.name}").sites if site.class_ in found]
                if sites:
                    site = chosen.choice(sites)
                    target = site.targets[0]
                    found[site.class_].append(
                        f"{site.path}:{site.line}: {line_of(folder, site.path, site.line)}\n"
                        f"      {site.name} -> {target.path}:{target.line} {target.name}: "
                        f"{line_of(folder, target.path, target.line)}"
                    )
            if all(len(some) >= count for some in found.values()):
                break
        for class_, some in found.items():
            print(f"== {class_}", *some[:count], sep="\n")


def line_of(folder: Path, path: str, line: int) -> str:
    lines = (folder / path).read_text(errors="replace").splitlines()
    return lines[line - 1].strip()[:140] if line <= len(lines) else ""


def scip(folder: Path, index: Path) -> None:
    """Definitions and calls against an index of SCIP, without and with the index taken in."""
    documents = {
        document.path: document
        for document in scip_documents(index)
        if Path(document.path).suffix in LANGUAGES and (folder / document.path).is_file()
    }
    defined: dict[str, tuple[str, int]] = {}
    known: dict[str, set[tuple[str, int]]] = {}
    for path, document in documents.items():
        known[path] = set()
        for at, symbol, roles in document.names:
            if roles & 1 and not symbol.startswith("local "):
                defined.setdefault(symbol, (path, at[0]))
                if (name := scip_name(symbol)) is not None and symbol.endswith((").", "#")):
                    known[path].add((name, at[0]))
    with opened(folder) as (tree, _):
        both = named = all_known = 0
        missed: list[str] = []
        for path, true in known.items():
            kinds = OURS[LANGUAGES[Path(path).suffix]]
            outline = tree.code.outline(path).definitions
            own = {(one.name.rsplit(".", 1)[-1], one.line) for one in outline if one.kind in kinds}
            both, named, all_known = both + len(own & true), named + len(own), all_known + len(true)
            missed += [f"{path}:{line} {name}" for name, line in sorted(true - own)]
        print(
            f"definitions: {all_known} known, {named} found, recall {both / max(all_known, 1):.4f}, "
            f"precision {both / max(named, 1):.4f}"
        )
        print("    missed: " + "; ".join(random.Random(SEED).sample(missed, min(12, len(missed)))))
        scip_calls(tree, documents, defined, "without the index")
        report = tree.import_scip(index)
        print(f"taken in: {report.names} names of {report.files} files; {len(report.changed)} files have another text")
        scip_calls(tree, documents, defined, "with the index")


def scip_calls(
    tree: nuthatch.Tree,
    documents: dict[str, ScipDocument],
    defined: dict[str, tuple[str, int]],
    what: str,
) -> None:
    told: Counter[str] = Counter()
    right: Counter[str] = Counter()
    inside = absent = 0
    wrong: list[str] = []
    called: set[tuple[str, int]] = set()
    for path, document in documents.items():
        names: dict[tuple[int, str], set[str]] = defaultdict(set)
        for at, symbol, roles in document.names:
            if not roles & 1 and (name := scip_name(symbol)) is not None:
                names[at[0], name].add(symbol)
        for site in sites_of(tree, path):
            symbols = names.get((site.line, site.name.rsplit(".", 1)[-1]), set())
            if len(symbols) != 1:
                continue  # not named by the index, or twice in a line
            true = defined.get(next(iter(symbols)))
            inside += true is not None
            if true is not None:
                called.add(true)
            if site.class_ in ("certain", "unique"):
                told[site.class_] += 1
                if true is not None and any(is_same(target, true) for target in site.targets):
                    right[site.class_] += 1
                else:
                    wrong.append(f"{path}:{site.line} {site.name} is {true}, told {site.targets[:2]}")
    for path, line in called:
        outline = tree.code.outline(path).definitions
        for one in (one for one in outline if one.line == line):
            counts = tree.code.callers(f"{path}#{one.name}", limit=1).counts
            if counts.certain + counts.unique + counts.ambiguous + counts.elsewhere + counts.outside == 0:
                absent += 1
    print(
        f"calls {what}: {inside} lead into the folder; certain {told['certain']}, precision "
        f"{right['certain'] / max(told['certain'], 1):.4f}; unique {told['unique']}, precision "
        f"{right['unique'] / max(told['unique'], 1):.4f}; recall of certain {right['certain'] / max(inside, 1):.4f}, "
        f"with unique {right.total() / max(inside, 1):.4f}; false absence {absent} of {len(called)}"
    )
    for line in random.Random(SEED).sample(wrong, min(12, len(wrong))):
        print("   ", line)


def sites_of(tree: nuthatch.Tree, path: str):
    """All calls of a file that stand in a definition, each once."""
    seen = set()
    for one in tree.code.outline(path).definitions:
        if one.kind in ("function", "method"):
            for site in tree.code.callees(f"{path}#{one.name}", limit=10_000).sites:
                if site.path == path and (site.line, site.name) not in seen:
                    seen.add((site.line, site.name))
                    yield site


@dataclass
class ScipDocument:
    path: str
    #: Line from 1 and column, the symbol without its version, its roles.
    names: list[tuple[tuple[int, int], str, int]]


def scip_documents(index: Path) -> Iterator[ScipDocument]:
    for field, document in protobuf(index.read_bytes()):
        if field != 2 or isinstance(document, int):
            continue
        found = ScipDocument("", [])
        for part, value in protobuf(document):
            if part == 1 and isinstance(value, bytes):
                found.path = value.decode()
            elif part == 2 and isinstance(value, bytes):
                of = dict(protobuf(value))
                place = list(varints(of[1])) if isinstance(of.get(1), bytes) else []
                symbol = of.get(2, b"")
                if len(place) >= 3 and isinstance(symbol, bytes) and place[1] != place[2]:
                    parts = symbol.decode().split(" ", 4)
                    name = " ".join([*parts[:3], *parts[4:]]) if len(parts) == 5 else symbol.decode()
                    found.names.append(((place[0] + 1, place[1]), name, int(of.get(3, 0))))
        yield found


def scip_name(symbol: str) -> str | None:
    """The last name of a symbol."""
    found = re.search(r"([\w$]+)(?:\([^()]*\))?[.#!]$", symbol)
    return None if found is None or symbol.startswith("local ") else found[1]


def protobuf(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = varint(message, at)
        else:
            length, at = varint(message, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = message[at : at + length], at + length
        yield tag >> 3, value


def varints(message: bytes) -> Iterator[int]:
    at = 0
    while at < len(message):
        value, at = varint(message, at)
        yield value


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = message[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["definitions", "python-calls", "times", "sample", "scip"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--ctags", help="the command of Universal Ctags")
    given = parser.parse_args()
    if given.what == "definitions":
        definitions(given.folder, given.ctags)
    elif given.what == "python-calls":
        python_calls(given.folder, int(given.rest[0]) if given.rest else 2000)
    elif given.what == "times":
        times(given.folder, given.rest)
    elif given.what == "scip":
        scip(given.folder, Path(given.rest[0]))
    else:
        sample(given.folder, int(given.rest[0]) if given.rest else 100)


if __name__ == "__main__":
    main()
