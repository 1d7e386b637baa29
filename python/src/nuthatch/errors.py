"""Errors: one class per remedy that a caller has. Every message names the subject and the remedy."""

from __future__ import annotations

from pathlib import Path


class NuthatchError(Exception):
    """The base of all errors that this package raises on purpose.

    ``what`` and ``name`` identify the subject, if it has a name: ``what`` is its type (``"collection"``,
    ``"keyspace"``, ``"graph"``, ``"tree"``, ``"record"``, ``"key"``, ``"file"``, ``"tenant"``, ``"snapshot"``,
    ``"tree_snapshot"``, ``"backup"``, ``"receipt"``, ``"path"``, …). Decide by the class and by these two: the words
    of a message may change.
    """

    what: str | None = None
    name: str | None = None


class ConflictError(NuthatchError):
    """Another process or thread holds or changed the same thing: try again when it is done."""


class UnavailableError(NuthatchError):
    """Something required is missing now (a model, an endpoint, time): set it up, or try again
    later.
    """


class InvalidError(NuthatchError, ValueError):
    """The call is wrong: fix it. Nothing was changed."""


class NotFoundError(NuthatchError, LookupError):
    """No such collection, keyspace, file or folder."""


class MissingKeyError(NotFoundError, KeyError):
    """The keyspace has no such key. It is also a KeyError, as for any mapping."""

    def __str__(self) -> str:
        # KeyError would put the sentence into quotes.
        return Exception.__str__(self)


class CorruptError(NuthatchError):
    """A file of the data folder is damaged: restore or repair it. ``path`` names it."""

    path: Path | None

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


class ClosedError(NuthatchError):
    """The database is closed: connect again."""


class ExhaustedError(NuthatchError):
    """Out of a resource, such as disk space: make room, or ask for less."""


class ForbiddenError(NuthatchError):
    """A server does not know the key, or the key does not allow it: use another."""


class InternalError(NuthatchError):
    """A defect of Nuthatch, or a refusal by the operating system: please report it."""


_KINDS: dict[str, type[NuthatchError]] = {
    "conflict": ConflictError,
    "unavailable": UnavailableError,
    "invalid": InvalidError,
    "not_found": NotFoundError,
    "corrupt": CorruptError,
    "closed": ClosedError,
    "exhausted": ExhaustedError,
    "internal": InternalError,
}


def from_engine(
    kind: str, message: str, path: Path | None = None, what: str | None = None, name: str | None = None
) -> NuthatchError:
    """The error of the engine's kind; the extension module calls this."""
    error = CorruptError(message, path) if kind == "corrupt" else _KINDS[kind](message)
    error.what, error.name = what, name
    return error
