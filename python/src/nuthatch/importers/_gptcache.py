"""Caches of GPTCache: its SQLite store, which also has the vectors that its FAISS index finds."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..arguments import StrPath, optional_text, text
from ..database import Database
from ..errors import InvalidError
from . import _records, _sqlite
from ._importing import Imported, Importing, OnProgress

_FILE = "sqlite.db"
_TEXT = 0


def gptcache(
    path: StrPath,
    db: Database,
    *,
    name: str = "gptcache",
    table: str = "gptcache",
    scope: str | None = None,
    budget: float | None = None,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the SQLite store of a cache of GPTCache into the cache ``name``: the file, or the folder with ``sqlite.db``.

    Questions, answers that are texts, and vectors. A question's dependencies become its scope; ``scope`` names one more part
    that all answers get, as "model=gpt-4". ``budget`` is that of the cache, which then answers by meaning, for prompts whose
    vectors come from the embedder that GPTCache had. ``table`` is the prefix of the tables.

    A question that was stored twice has the later answer. Further answers, images, sessions, reports and the times of questions
    are left out and counted.
    """
    place, name, table = _records.existing(path), text("name", name), text("table", table)
    file = place / _FILE if place.is_dir() else place
    if not file.is_file():
        raise InvalidError(f"{place} has no {_FILE}; give the file of GPTCache's SQLite store")
    part = _scope_part(optional_text("scope", scope))
    with _sqlite.opened(file, "GPTCache") as connection, Importing(db, file, on_progress) as importing:
        if not {f"{table}_question", f"{table}_answer"} <= _sqlite.tables(connection).keys():
            raise InvalidError(
                f"{file} is no store of GPTCache: it has no table {table}_question; say table= for another prefix"
            )
        left_out: Counter[str] = Counter()
        for what, of in (("sessions", f"{table}_session"), ("reports", f"{table}_report")):
            if (count := _count(connection, of)) > 0:
                left_out[what] = count
        answers = _answers(connection, table, part, left_out)
        total = _count(connection, f"{table}_question")
        return [importing.cache(name, answers, budget=budget, left_out=left_out, total=total)]


def _answers(
    connection: sqlite3.Connection, table: str, part: dict[str, str], left_out: Counter[str]
) -> Iterator[dict[str, Any]]:
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    has_deps = f"{table}_question_dep" in _sqlite.tables(connection)
    questions = connection.execute(
        # The newest first: what was stored again later counts.
        f"select id, question, embedding_data, deleted from {_sqlite.quoted(f'{table}_question')} order by id desc"
    )
    for id, question, packed, deleted in questions:
        if deleted:
            left_out["deleted questions"] += 1
            continue
        scope = part | (_dependencies(connection, table, id) if has_deps else {})
        key = (question, tuple(sorted(scope.items())))
        if key in seen:
            left_out["earlier answers to the same question"] += 1
            continue
        found = connection.execute(
            f"select answer, answer_type from {_sqlite.quoted(f'{table}_answer')} where question_id = ? order by id",
            (id,),
        ).fetchall()
        texts = [answer for answer, kind in found if kind == _TEXT]
        left_out["answers that are images"] += len(found) - len(texts)
        if not texts:
            left_out["questions without a text as answer"] += 1
            continue
        left_out["further answers to a question"] += len(texts) - 1
        seen.add(key)
        answer: dict[str, Any] = {"prompt": question, "response": texts[0]}
        if scope:
            answer["scope"] = scope
        if packed and any(vector := array("f", packed)):
            answer["vector"] = vector.tolist()
        yield answer


def _dependencies(connection: sqlite3.Connection, table: str, id: int) -> dict[str, str]:
    query = f"select dep_name, dep_data from {_sqlite.quoted(f'{table}_question_dep')} where question_id = ?"
    return dict(connection.execute(query, (id,)).fetchall())


def _scope_part(scope: str | None) -> dict[str, str]:
    if scope is None:
        return {}
    name, sign, value = scope.partition("=")
    if not sign or not name:
        raise InvalidError(f"scope={scope!r} is no part of a scope; give a name and a value, such as model=gpt-4")
    return {name: value}


def _count(connection: sqlite3.Connection, table: str) -> int:
    if table not in _sqlite.tables(connection):
        return 0
    found: int = connection.execute(f"select count(*) from {_sqlite.quoted(table)}").fetchone()[0]
    return found
