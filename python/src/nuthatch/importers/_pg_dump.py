"""The output of ``pg_dump``: the statements that make tables, and the rows of ``COPY``.

A plain dump is read as it is; ``pg_restore`` turns the other formats (custom, directory, tar) into one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..errors import CorruptError, InvalidError, UnavailableError

_NAME = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_TABLE = rf"(?P<schema>{_NAME})\.(?P<table>{_NAME})"
_CREATE = re.compile(rf"CREATE (?:UNLOGGED |FOREIGN )?TABLE {_TABLE} \(")
_COLUMN = re.compile(rf"    (?P<name>{_NAME}) (?P<type>.+?),?")
_KEY = re.compile(rf"ALTER TABLE ONLY {_TABLE}\s+ADD CONSTRAINT {_NAME} PRIMARY KEY \((?P<columns>.+)\);")
_INDEX = re.compile(rf"CREATE (?:UNIQUE )?INDEX {_NAME} ON (?:ONLY )?{_TABLE} USING \w+ \((?P<columns>.+)\)")
_OPCLASS = re.compile(rf"(?P<column>{_NAME}) (?:{_NAME}\.)?(?P<kind>vector|halfvec|bit|sparsevec)_(?P<metric>\w+)_ops")
_COPY = re.compile(rf"COPY {_TABLE} \((?P<columns>.+)\) FROM stdin;")
_INSERT = re.compile(rf"INSERT INTO {_TABLE} ")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.S)


@dataclass
class Table:
    """A table of a dump."""

    schema: str
    name: str
    #: Types by column, as the dump spells them.
    columns: dict[str, str] = field(default_factory=dict)
    key: list[str] = field(default_factory=list)
    #: How an index compares a column: "cosine", "l2", "ip", "l1", "hamming", "jaccard".
    metrics: dict[str, str] = field(default_factory=dict)
    rows: int = 0

    @property
    def title(self) -> str:
        """The name, with a schema that is not the usual one."""
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"


def tables(file: Path) -> list[Table]:
    """The tables with their columns, keys, metrics and numbers of rows."""
    found: dict[tuple[str, str], Table] = {}
    with _lines(file) as lines:
        for line in lines:
            if match := _CREATE.match(line):
                table = found.setdefault(_of(match), Table(*_of(match)))
                table.columns = _columns(lines)
            elif line.startswith("ALTER TABLE ONLY "):
                if match := _KEY.match(line.rstrip("\n") + " " + next(lines, "").strip()):
                    found[_of(match)].key = [_bare(name) for name in match["columns"].split(", ")]
            elif match := _INDEX.match(line):
                for one in _OPCLASS.finditer(match["columns"]):
                    found[_of(match)].metrics.setdefault(_bare(one["column"]), one["metric"])
            elif match := _COPY.match(line):
                found[_of(match)].rows += sum(1 for _ in _rows(lines, file))
            elif match := _INSERT.match(line):
                raise InvalidError(f"{file} has rows as INSERT statements; dump again without --inserts")
    if not found:
        raise InvalidError(f"{file} has no tables; give a dump of pg_dump with schema and data")
    return list(found.values())


def rows(file: Path, table: Table) -> Iterator[dict[str, str | None]]:
    """The rows of a table, as texts by column."""
    with _lines(file) as lines:
        for line in lines:
            if not (match := _COPY.match(line)):
                continue
            if _of(match) != (table.schema, table.name):
                for _ in _rows(lines, file):
                    pass
                continue
            names = [_bare(name) for name in match["columns"].split(", ")]
            for row in _rows(lines, file):
                values = row.split("\t")
                if len(values) != len(names):
                    raise CorruptError(
                        f"{file}: a row of {table.title} has {len(values)} values and not {len(names)}", file
                    )
                yield {name: unescaped(value) for name, value in zip(names, values, strict=True)}


def unescaped(value: str) -> str | None:
    r"""A value of COPY's text format.

    >>> unescaped(r"a\tb\\"), unescaped(r"\N"), unescaped("plain")
    ('a\tb\\', None, 'plain')
    """
    if value == r"\N":
        return None
    if "\\" not in value:
        return value

    def one(match: re.Match[str]) -> str:
        sign = match[1]
        if sign[0] in "01234567":
            return chr(int(sign, 8))
        if sign[0] == "x" and len(sign) > 1:
            return chr(int(sign[1:], 16))
        return _ESCAPES.get(sign, sign)

    return _ESCAPED.sub(one, value)


def array(text: str) -> list[object]:
    """An array as PostgreSQL writes it; elements stay texts.

    >>> array('{a,"b, c",NULL,{d}}')
    ['a', 'b, c', None, ['d']]
    """
    found, end = _array(text, 1)
    if end != len(text):
        raise InvalidError(f"not an array of PostgreSQL: {text!r}")
    return found


def _array(text: str, at: int) -> tuple[list[object], int]:
    elements: list[object] = []
    while at < len(text):
        sign = text[at]
        if sign == "}":
            return elements, at + 1
        if sign == ",":
            at += 1
        elif sign == "{":
            inner, at = _array(text, at + 1)
            elements.append(inner)
        elif sign == '"':
            match = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S).match(text, at)
            if match is None:
                break
            elements.append(re.sub(r"\\(.)", r"\1", match[1], flags=re.S))
            at = match.end()
        else:
            bare = re.compile(r"[^,{}]+").match(text, at)
            assert bare is not None
            elements.append(None if bare[0] == "NULL" else bare[0])
            at = bare.end()
    raise InvalidError(f"not an array of PostgreSQL: {text!r}")


def _columns(lines: Iterator[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for line in lines:
        text = line.rstrip("\n")
        if text.startswith(")"):
            return columns
        # A line that is no column begins with a word that a column's name would have in quotes.
        if (match := _COLUMN.fullmatch(text)) and match["name"] not in ("CONSTRAINT", "PRIMARY", "CHECK"):
            columns[_bare(match["name"])] = re.split(
                r" (?:DEFAULT|NOT NULL|COLLATE|GENERATED|CONSTRAINT)\b", match["type"]
            )[0]
    return columns


def _rows(lines: Iterator[str], file: Path) -> Iterator[str]:
    for line in lines:
        row = line.removesuffix("\n")
        if row == r"\.":
            return
        yield row
    raise CorruptError(f"{file} ends among the rows of a table; give a whole dump", file)


def _of(match: re.Match[str]) -> tuple[str, str]:
    return _bare(match["schema"]), _bare(match["table"])


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[str]]:
    """The lines of a plain dump, or of what ``pg_restore`` makes of another."""
    if not _is_archive(file):
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield _decoded(lines, file)
        return
    program = shutil.which("pg_restore")
    if program is None:
        raise UnavailableError(
            f"{file} is no plain dump, and pg_restore, which turns it into one, is not on the PATH; install PostgreSQL's"
            " clients, or dump with --format=plain"
        )
    process = subprocess.Popen([program, "--file=-", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    ended = False
    try:
        import io

        with io.TextIOWrapper(process.stdout, encoding="utf-8", newline="\n") as lines:
            yield _to_the_end(_decoded(lines, file), lambda: _check(process, file))
        ended = True
    finally:
        if not ended:
            process.kill()
        process.stderr.close()
        process.wait()


def _to_the_end(lines: Iterator[str], check: Callable[[], None]) -> Iterator[str]:
    yield from lines
    check()


def _check(process: subprocess.Popen[bytes], file: Path) -> None:
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace").strip()
    if process.wait() != 0:
        raise CorruptError(f"pg_restore cannot read {file}: {said}", file)


def _decoded(lines: IO[str], file: Path) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        raise InvalidError(f"{file} is not in UTF-8 ({error}); dump again with --encoding=UTF8") from None


def _is_archive(file: Path) -> bool:
    """Whether it is in the custom, directory or tar format."""
    if file.is_dir():
        if (file / "toc.dat").exists():
            return True
        raise InvalidError(f"{file} is a folder without toc.dat, so not a dump of pg_dump --format=directory")
    with file.open("rb") as opened:
        head = opened.read(512)
    return head.startswith(b"PGDMP") or head[257:262] == b"ustar"
