"""Answers of a cache one after the other: listed, in a file of JSON lines, and with other vectors.

What it is: the loops behind ``Cache.answers``, ``export_to``, ``import_from`` and ``reembed``.
What it is not: a backup. The settings and the ledger stay with the cache; what was given was given.
Invariant: a file has its name once all of it is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .errors import InvalidError

#: Answers of one call.
_AT_ONCE = 200
_FORMAT = "nuthatch cache answers 1"

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


def listed(ask: Ask, **wanted: Any) -> Iterator[dict[str, Any]]:
    """All answers, by their numbers."""
    for page in pages(ask, **wanted):
        yield from page["answers"]


def pages(ask: Ask, **wanted: Any) -> Iterator[dict[str, Any]]:
    """The same, page by page."""
    question = {name: value for name, value in wanted.items() if value is not None}
    after: int | None = None
    while True:
        page = ask("answers", {**question, "limit": _AT_ONCE, **({} if after is None else {"after": after})})
        yield page
        after = page["next"]
        if after is None:
            return


def exported(ask: Ask, path: Path, *, vectors: bool) -> int:
    """Writes all answers, and returns how many."""
    import json

    count, beside = 0, path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            for at, page in enumerate(pages(ask, vectors=vectors)):
                if at == 0:
                    head = {"format": _FORMAT, "vectors": page["vectors"] if vectors else None}
                    file.write(json.dumps(head) + "\n")
                for answer in page["answers"]:
                    file.write(json.dumps(answer, ensure_ascii=False) + "\n")
                    count += 1
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return count


def imported(ask: Ask, path: Path) -> int:
    """Keeps the answers of a file, and returns how many."""
    with path.open(encoding="utf-8") as file:
        head = _line(path, 1, file.readline())
        if head.get("format") != _FORMAT:
            raise InvalidError(f"{path} is no export of a cache: its first line does not say {_FORMAT!r}")
        kept, some = 0, []
        for at, line in enumerate(file, start=2):
            some.append(_line(path, at, line))
            if len(some) == _AT_ONCE:
                kept += _import(ask, some, head)
                some = []
        return kept + (_import(ask, some, head) if some else 0)


def reembedded(ask: Ask, embed: Callable[[str], Sequence[float]] | None, *, restart: bool) -> int:
    """Gives answers other vectors, and returns how many got one."""
    count = 0
    if embed is None:
        more = True
        while more:
            done = ask("reembed", {"restart": restart})
            count, more, restart = count + done["embedded"], done["more"], False
        return count
    for page in pages(ask):
        vectors = {str(one["entry"]): [float(x) for x in embed(one["prompt"])] for one in page["answers"]}
        count += ask("reembed", {"restart": restart, "vectors": vectors})["embedded"]
        restart = False
    return count


def _import(ask: Ask, answers: list[dict[str, Any]], head: dict[str, Any]) -> int:
    kept: int = ask("import", {"answers": answers, "vectors": head.get("vectors")})["kept"]
    return kept


def _line(path: Path, at: int, line: str) -> dict[str, Any]:
    import json

    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidError(f"{path}:{at}: {error}") from None
    if not isinstance(found, dict):
        raise InvalidError(f"{path}:{at}: not a JSON object")
    return found
