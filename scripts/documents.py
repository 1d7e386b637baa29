"""Do the documents hold? Links lead somewhere, Python examples run, and what can drift agrees with the code.

An example that cannot run here says so in a comment above it: ``<!-- not run: why -->``. ``documents_code.py`` compares
facts with the code, ``documents_prose.py`` measures the prose, ``documents_tutorials.py`` types what tutorials say.
``--quick`` leaves the examples and tutorials out; names of pages run the examples of those alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import documents_code
import documents_prose
import documents_tutorials

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"(<!-- not run: [^\n]*-->\n)?^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)", re.DOTALL | re.MULTILINE)


def main() -> int:
    documents = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    wrong = [line for document in documents for line in broken_links(document)]
    wrong += documents_code.drifted(ROOT)
    wrong += documents_prose.hard_to_read(ROOT)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    named = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    failed = 0
    counted = "examples were not run"
    if "--quick" not in sys.argv[1:]:
        pages = [page for page in documents if not named or str(page.relative_to(ROOT)) in named]
        failed, counted = run_examples(pages)
    print(f"{len(documents)} documents, {len(wrong)} errors in links, facts and prose, {counted}")
    return 1 if wrong or failed else 0


def run_examples(documents: list[Path]) -> tuple[int, str]:
    ran = failed = skipped = 0
    for document in (page for page in documents if page.parent != TUTORIALS):
        for number, (reason, code) in enumerate(BLOCK.findall(document.read_text(encoding="utf-8")), 1):
            name = f"{document.relative_to(ROOT)}, example {number}"
            if reason:
                skipped += 1
            elif said := run(code):
                failed += 1
                print(f"error: {name} fails:\n{textwrap.indent(said, '    ')}", file=sys.stderr)
            else:
                ran += 1
    worked = 0
    for tutorial in (page for page in documents if page.parent == TUTORIALS):
        try:
            said = documents_tutorials.run(tutorial)
        except documents_tutorials.MissingProgram as missing:
            print(f"{tutorial.relative_to(ROOT)} was not run: the program {missing} is not there")
            continue
        worked += not said
        failed += bool(said)
        if said:
            print(f"error: {tutorial.relative_to(ROOT)} fails:\n{textwrap.indent(said, '    ')}", file=sys.stderr)
    return failed, f"{ran} examples ran, {worked} tutorials worked, {failed} failed, {skipped} not run"


def broken_links(document: Path) -> list[str]:
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    found = []
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        place = (document.parent / path) if path else document
        if not place.exists():
            found.append(f"{document.relative_to(ROOT)} links to {target}, which is not there")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            found.append(f"{document.relative_to(ROOT)} links to {target}, where there is no such heading")
    return found


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def run(code: str, python: str = sys.executable) -> str:
    """The error of a failed example. Each runs in an empty folder with a link to the docs."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "docs").symlink_to(ROOT / "docs")
        done = subprocess.run(
            [python, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
