"""Does the built site hold? Nothing comes from elsewhere, links lead somewhere, and every name of the code is there."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import reference_command
import reference_http

#: Attributes that make a browser ask for something when it shows the page.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
LOADED |= {
    ("audio", "src"),
    ("object", "data"),
    ("embed", "src"),
    ("img", "srcset"),
    ("source", "srcset"),
    ("use", "href"),
}
#: Links of the head that are addresses for people and robots.
TOLD = {"canonical", "search", "next", "prev", "index", "author", "license"}
STYLES = re.compile(r"""@import\s+(?:url\()?["']?([^"')\s;]+)|url\(\s*["']?([^"')\s]+)""")


class Page(HTMLParser):
    """The resources that a page loads, its links, and its link targets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += styles(given.get("style", ""))
        if tag == "link" and given.get("rel") in TOLD:
            return
        self.loads += [value for name, value in given.items() if (tag, name) in LOADED]

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loads += styles(data)


def styles(text: str) -> list[str]:
    return [one or other for one, other in STYLES.findall(text)]


def foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme not in ("", "data")


def faults(site: Path) -> list[str]:
    """The faults in the pages of a site, whatever is on them."""
    read = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [] if read else [f"{site} has no pages"]
    for path, page in read.items():
        name = path.relative_to(site)
        found += [f"{name} loads {address}" for address in page.loads if foreign(address)]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name} links to {link}, which is not there")
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].ids:
                found.append(f"{name} links to {link}, where there is no such place")
    for path in sorted(site.rglob("*.css")):
        loads = styles(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(site)} loads {address}" for address in loads if foreign(address)]
    return found


def missing(site: Path, root: Path, programs: list[Path]) -> list[str]:
    """Names that the code has and the reference in the site lacks."""
    kinds = ("python", "http", *(program.name for program in programs))
    ids = {kind: page_ids(site / "docs" / "reference" / kind) for kind in kinds}
    found = [
        f"the Python reference lacks nuthatch.{name}"
        for name in exported(root)
        if not {f"nuthatch.{name}", f"module-nuthatch.{name}"} & ids["python"]
    ]
    description = json.loads((root / "docs" / "openapi.json").read_text(encoding="utf-8"))
    for path, method, operation in reference_http.operations(description):
        if slug(operation["operationId"]) not in ids["http"]:
            found.append(f"the HTTP reference lacks {method.upper()} {path}")
    for name in description["components"]["schemas"]:
        if reference_http.anchor(name) not in ids["http"]:
            found.append(f"the HTTP reference lacks the type {name}")
    for program in programs:
        for words, _ in reference_command.walk(program):
            if reference_command.anchor(program, words) not in ids[program.name]:
                found.append(f"the reference of commands lacks {' '.join((program.name, *words))}")
    return found


def slug(label: str) -> str:
    """The id that Sphinx makes of a label."""
    return label.replace("_", "-")


def page_ids(folder: Path) -> set[str]:
    return {one for path in folder.rglob("*.html") for one in Page(path.read_text(encoding="utf-8")).ids}


def exported(root: Path) -> list[str]:
    """The names that the package exports, from its source."""
    tree = ast.parse((root / "python" / "src" / "nuthatch" / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            names = ast.literal_eval(node.value)
            return [name for name in names if name not in ("__version__",)]
    raise ValueError("nuthatch has no __all__; mend scripts/website/check.py")
