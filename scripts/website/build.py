"""Builds the site from the documents: build.py ROOT OUT PROGRAM…

The pages are the Markdown of the repository, in the order of `docs/README.md`, and the reference, which is made from
the package, the description of the server and the help of the programs. All is collected in OUT/source, which Sphinx
makes into OUT/html. A broken link, a page that `docs/README.md` does not list, and a page that loads something from
another host are errors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check
import reference_command
import reference_http
import reference_python

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~))", re.DOTALL | re.MULTILINE)
SECTION = re.compile(r"^(?:\*\*(.+?)[:,]?\*\*|- (.+?):)", re.MULTILINE)


def main() -> int:
    root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    programs = [Path(program).resolve() for program in sys.argv[3:]]
    source, site = out / "source", out / "html"
    for folder in (source, site):
        shutil.rmtree(folder, ignore_errors=True)
    collect(root, source, programs)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto", "--doctree-dir", str(out / "doctrees")]
    config = ["--conf-dir", str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, *config, "--builder", "html", str(source), str(site)],
        env=environment,
    )
    if done.returncode != 0:
        return done.returncode
    wrong = check.faults(site) + check.missing(site, root, programs)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    pages = len(list(site.rglob("*.html")))
    print(f"    {pages} pages in {site}, {len(wrong)} errors")
    return 1 if wrong else 0


def collect(root: Path, source: Path, programs: list[Path]) -> None:
    """Puts all pages, and the files that they link to, where Sphinx reads them."""
    pages = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])
    for page in pages:
        put(source / page.relative_to(root), rewritten(page, root, source))
    reference = source / "docs" / "reference"
    made = {"python": reference_python.pages(), "http": reference_http.pages(root / "docs" / "openapi.json")}
    made |= {program.name: reference_command.pages(program) for program in programs}
    for kind, texts in made.items():
        others = sorted(name for name in texts if name != "index")
        # The pages of a program's commands are reached from its own, for the same reason as RFCs from their list.
        texts["index"] += listing(others) if kind not in ("python", "http") else toctree(None, others)
        for name, text in texts.items():
            put(reference / kind / f"{name}.md", text)
    (source / "README.md").rename(source / "index.md")
    with (source / "index.md").open("a", encoding="utf-8") as index:
        for caption, listed in sections(root).items():
            if caption == "Reference":
                listed += [f"docs/reference/{kind}/index" for kind in made]
            index.write(toctree(caption, listed))
    # The list of RFCs links to each. In the tree of all pages, which every page carries, they would be half of it.
    for path in (source / "docs" / "rfcs").glob("0*.md"):
        put(path, "---\norphan: true\n---\n\n" + path.read_text(encoding="utf-8"))


def listing(names: list[str]) -> str:
    return "".join(f"- [`{name}`]({name}.md)\n" for name in names)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def toctree(caption: str | None, pages: list[str]) -> str:
    title = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n:maxdepth: 1\n" + title + "\n" + "\n".join(pages) + "\n```\n"


def sections(root: Path) -> dict[str, list[str]]:
    """The pages that `docs/README.md` lists, by section."""
    home = root / "docs" / "README.md"
    found: dict[str, list[str]] = {"": ["docs/README"]}
    for paragraph in re.split(r"\n\n|\n(?=- )", home.read_text(encoding="utf-8")):
        named = SECTION.match(paragraph)
        caption = (named[1] or named[2]) if named else ""
        for _, _, target in LINK.findall(paragraph):
            if target.endswith(".md"):
                path = (home.parent / target).resolve().relative_to(root).with_suffix("")
                found.setdefault(caption, []).append(str(path))
    return {caption: pages for caption, pages in found.items() if pages}


def rewritten(page: Path, root: Path, source: Path) -> str:
    """A page for the site: its links to the README lead to the first page, those to files bring the files along."""

    def of(link: re.Match[str]) -> str:
        image, text, target = link.groups()
        path, hash, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link[0]
        at = (page.parent / path).resolve()
        if at == root / "README.md":
            return f"{image}[{text}]({path.removesuffix('README.md')}index.md{hash}{anchor})"
        if at.is_dir():
            return text
        if at.suffix != ".md" and at.is_file():
            copy = source / at.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(at, copy)
        elif at.suffix == ".md" and at.is_file() and not listed(at, root):
            return text
        return link[0]

    parts = FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(part if number % 2 else LINK.sub(of, part) for number, part in enumerate(parts))


def listed(page: Path, root: Path) -> bool:
    return page.parent == root or root / "docs" in page.parents


if __name__ == "__main__":
    sys.exit(main())
