"""Is the prose plain? Lines fit a terminal, and sentences are short on average.

Tables and code cannot be wrapped and are left out. A page joins the list when it has been rewritten, and stays in it.
"""

from __future__ import annotations

import re
from pathlib import Path

COLUMNS_MAX = 100
WORDS_AVERAGE_MAX = 25
# Words that these pages once used in a sense that no dictionary of the field has.
AVOIDED = ("anew", "whoever", "lets go", "reckon", "reckoned", "reckons")
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "NON_GOALS.md",
    "docs/README.md",
    "docs/reference/cli.md",
    "docs/reference/where.md",
    "docs/start.md",
    "docs/glossary.md",
    "docs/rfcs/README.md",
    "docs/internals/background.md",
    "docs/internals/backup-folder.md",
    "docs/internals/frameworks.md",
    "docs/internals/data-folder.md",
    "docs/internals/locks.md",
    "docs/internals/memory.md",
)

FENCE = re.compile(r"^ *(?:```|~~~).*?^ *(?:```|~~~)", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r" *(?:[-*]|\d+\.) ")


def hard_to_read(root: Path) -> list[str]:
    folders = ("docs/guides", "docs/tutorials")
    pages = sorted(str(path.relative_to(root)) for folder in folders for path in (root / folder).glob("*.md"))
    return [line for page in (*PAGES, *pages) for line in faults(page, (root / page).read_text(encoding="utf-8"))]


def faults(page: str, text: str) -> list[str]:
    found = []
    prose = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for number, line in enumerate(prose.splitlines(), 1):
        if len(line) > COLUMNS_MAX and not line.lstrip().startswith("|") and " " in line.strip():
            found.append(f"{page}:{number} has {len(line)} columns; wrap it at {COLUMNS_MAX}")
        found += [
            f"{page}:{number} says `{word}`; say it plainly" for word in AVOIDED if re.search(rf"\b{word}\b", line)
        ]
    words = [len(sentence.split()) for sentence in sentences(prose)]
    average = sum(words) / len(words) if words else 0
    if average > WORDS_AVERAGE_MAX:
        found.append(f"{page} has {average:.0f} words a sentence on average; {WORDS_AVERAGE_MAX} are plenty")
    return found


def sentences(prose: str) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for line in prose.splitlines():
        if not line.strip() or line.lstrip().startswith(("#", "|", "<!--")):
            paragraphs.append([])
        elif ITEM.match(line):
            paragraphs.append([ITEM.sub("", line, count=1)])
        else:
            paragraphs[-1].append(line.strip())
    text = "\n".join(" ".join(paragraph) for paragraph in paragraphs)
    text = re.sub(r"`[^`\n]*`", "code", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    return [found for found in re.split(r"(?<=[.!?])\s+|\n", text) if len(found.split()) > 1]
