"""Writes that wait for the end of a block: the common part of batches and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from . import arguments
from .arguments import Durability

if TYPE_CHECKING:
    from .cores import BatchCore

P = TypeVar("P", bound="Pending")


class Core(Protocol):
    """The object that is committed or rolled back."""

    def commit(self, durability: str | None) -> None: ...
    def rollback(self) -> None: ...


class Pending:
    """Committed at the end of a block; rolled back when the block raises."""

    __slots__ = ("_core", "_durability", "_is_over")

    _core: Core

    def __init__(self, core: Core, durability: Durability | None) -> None:
        self._core = core
        self._durability = arguments.durability(durability)
        self._is_over = False

    def commit(self) -> None:
        """Writes everything, or raises and writes nothing. The end of the block does it; nothing can be added then."""
        self._is_over = True
        self._core.commit(self._durability)

    def rollback(self) -> None:
        """Forgets everything; nothing can be added then."""
        self._is_over = True
        self._core.rollback()

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._is_over:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()


class BatchPart:
    """The writes of a batch to one keyspace, collection or graph."""

    __slots__ = ("_core", "_name")

    def __init__(self, core: BatchCore, name: str) -> None:
        self._core = core
        self._name = name

    @property
    def name(self) -> str:
        """The name of the keyspace, collection or graph."""
        return self._name
