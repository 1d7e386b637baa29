"""Passages of 250 to 500 characters from documentation pages, with the heading that each stands under.

Blocks of prose (paragraphs, list items, definitions) of one section are packed one after the other, long ones split
between sentences. A passage is kept once: two that differ in digits, case or punctuation alone are the same. At most
`PER_PACKAGE` come from one package, so that no generated reference crowds out the rest. The order is that of a hash of
the text: shuffled, and the same every time.
"""

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from bench.data import packages

SHORTEST, LONGEST = 250, 500
PER_PACKAGE = 60_000
WHOLE, BETWEEN = (0,), (LONGEST // 3, 2 * LONGEST // 3)
"""How many characters of a section are left out before its first passage."""

HEADINGS = {"h1", "h2", "h3", "h4", "h5"}
BLOCKS = ", ".join([*sorted(HEADINGS), "p", "li", "dd", "blockquote", "div.block"])
NESTED = "p, li, dd, blockquote, div, table"
GENERATED = re.compile(
    r"^(Definition at line|Definition Classes|Referenced by|References |Reimplemented |Implements |This member is added)"
)
ENTRIES = 40
SPACE = re.compile(r"\s+")
SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
NOT_LETTERS = re.compile(r"[\W\d_]+")


def write(folder: Path) -> Path:
    """`passages.jsonl.gz` in `folder`: package, heading and text of distinct passages that do not overlap."""
    target = folder / "passages.jsonl.gz"
    if not target.exists():
        names = packages.download(folder / "packages", packages.NAMES)
        store(target, gather([(package, WHOLE) for package in names], set()))
    return target


def write_more(folder: Path) -> Path:
    """`passages-more.jsonl.gz`, for the large set: passages of other packages, and of all packages passages that begin a
    third and two thirds of a passage later, so that they overlap with others. None of those in `passages.jsonl.gz`."""
    target = folder / "passages-more.jsonl.gz"
    if not target.exists():
        known = {key_of(text) for _, _, text in read(write(folder))}
        first, others = (packages.download(folder / "packages", names) for names in (packages.NAMES, packages.MORE))
        sources = [*((package, WHOLE + BETWEEN) for package in others), *((package, BETWEEN) for package in first)]
        store(target, gather(sources, known))
    return target


def write_dictionaries(folder: Path) -> Path:
    """`passages-dictionaries.jsonl.gz`: what is still missing to a million, of dictionaries instead of documentation."""
    target = folder / "passages-dictionaries.jsonl.gz"
    if not target.exists():
        sources = packages.download(folder / "packages", packages.DICTIONARIES)
        store(target, gather([(package, WHOLE + BETWEEN) for package in sources], set()))
    return target


def gather(sources: list[tuple[Path, tuple[int, ...]]], known: set[bytes]) -> dict[bytes, str]:
    """The distinct passages of packages, each a line of JSON under its key; those of `known` are left out."""
    seen: dict[bytes, str] = {}
    for package, shifts in sources:
        name = package.name.partition("_")[0]
        before = len(seen)
        for heading, text in of_package(package, shifts):
            key = key_of(text)
            if key not in known:
                seen.setdefault(key, json.dumps([name, heading, text], ensure_ascii=False))
            if len(seen) - before >= PER_PACKAGE * len(shifts):
                break
        print(f"{name}: {len(seen) - before}, together {len(seen)}", file=sys.stderr, flush=True)
    return seen


def key_of(text: str) -> bytes:
    return hashlib.blake2b(NOT_LETTERS.sub(" ", text.lower()).encode(), digest_size=12).digest()


def store(target: Path, seen: dict[bytes, str]) -> None:
    part = target.with_suffix(".part")
    with gzip.open(part, "wt", compresslevel=3, encoding="utf-8") as file:
        for key in sorted(seen):
            file.write(seen[key] + "\n")
    part.rename(target)


def read(file: Path) -> Iterator[tuple[str, str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield tuple(json.loads(line))


def of_package(package: Path, shifts: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    for name, content in packages.pages(package):
        # Not `Path.suffix`: a page may be named `.html` and nothing else.
        kind = KINDS[name[name.rindex(".") :]]
        for heading, blocks in kind(content):
            for text in pack(blocks, shifts):
                if is_prose(text):
                    yield heading, text


def of_html(content: bytes) -> Iterator[tuple[str, list[str]]]:
    tree = LexborHTMLParser(content)
    if tree.body is None:
        return
    tree.strip_tags(["script", "style", "nav", "header", "footer", "pre", "form", "svg", "math"])
    heading, blocks, said = "", [], set()
    for node in tree.body.css(BLOCKS):
        is_heading = node.tag in HEADINGS
        # The blocks inside a node cover its text.
        if not is_heading and any(inner.mem_id != node.mem_id for inner in node.css(NESTED)):
            continue
        text = SPACE.sub(" ", node.text(separator="", strip=False)).strip(" \u00b6")
        if is_heading:
            yield heading, blocks
            heading, blocks = text, []
        elif text.count(" ") >= 4 and text not in said and not GENERATED.match(text):
            said.add(text)
            blocks.append(text)
    yield heading, blocks


def of_pod(content: bytes) -> Iterator[tuple[str, list[str]]]:
    heading, blocks = "", []
    for paragraph in content.decode("utf-8", "replace").split("\n\n"):
        paragraph = re.sub(r"[A-Z]<+\s*([^<>]*?)\s*>+", r"\1", paragraph)
        if paragraph.startswith("=head"):
            yield heading, blocks
            heading, blocks = SPACE.sub(" ", paragraph.partition(" ")[2]).strip(), []
        elif paragraph[:1] not in ("=", " ", "\t"):
            blocks.append(SPACE.sub(" ", paragraph).strip())
    yield heading, blocks


def of_dictionary(content: bytes) -> Iterator[tuple[str, list[str]]]:
    """Some entries at a time, without pronunciations and sources."""
    entries = re.split(r"\n(?=\S)", content.decode("utf-8", "replace"))
    plain = (SPACE.sub(" ", re.sub(r"\\[^\\]*\\|\[[^\]]*\]|[{}*]", "", entry)).strip() for entry in entries)
    blocks = []
    for entry in plain:
        blocks.append(entry if entry.endswith(".") else f"{entry}.")
        if len(blocks) == ENTRIES:
            yield "", blocks
            blocks = []
    yield "", blocks


KINDS = {".html": of_html, ".htm": of_html, ".pod": of_pod, ".dz": of_dictionary}


def pack(blocks: list[str], shifts: tuple[int, ...]) -> Iterator[str]:
    sentences = [sentence for block in blocks for sentence in SENTENCE.split(block)]
    for shift in shifts:
        first, left_out = 0, 0
        while left_out < shift and first < len(sentences):
            left_out += len(sentences[first])
            first += 1
        passage = ""
        for sentence in sentences[first:]:
            if passage and len(passage) + 1 + len(sentence) > LONGEST:
                if len(passage) >= SHORTEST:
                    yield passage
                passage = ""
            passage = f"{passage} {sentence}" if passage else sentence
            if len(passage) > LONGEST:
                passage = ""
        if len(passage) >= SHORTEST:
            yield passage


def is_prose(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    words = text.count(" ") + 1
    return (
        letters >= 0.7 * len(text) and words >= 30 and text.isprintable() and text.count(". ") + text.endswith(".") >= 1
    )
