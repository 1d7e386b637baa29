"""SQLite databases of other programs, read as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CorruptError, InvalidError


@contextmanager
def opened(file: Path, what: str) -> Iterator[sqlite3.Connection]:
    """The database, to be read alone: nothing of it changes. ``what`` is who wrote it.

    The program that writes it may go on: one transaction shows one moment.
    """
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.execute("begin")
        yield connection
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise InvalidError(f"{file} is locked by {what}; close it there, or give a copy") from error
        raise CorruptError(
            f"{file} cannot be read as a database of {what}: {error}; give a whole copy", file
        ) from error
    finally:
        connection.close()


def tables(connection: sqlite3.Connection) -> dict[str, str]:
    """The tables with the statements that made them."""
    found = connection.execute(
        "select name, sql from sqlite_master where type = 'table' and sql is not null order by name"
    )
    return dict(found.fetchall())


def quoted(name: str) -> str:
    """A name in a statement.

    >>> quoted('a "b"')
    '"a ""b""\"'
    """
    return '"' + name.replace('"', '""') + '"'
