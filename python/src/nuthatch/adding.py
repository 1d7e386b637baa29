"""How files are added: the options that a database and a batch have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypedDict

from . import arguments, changes, reports
from .arguments import Durability, StrPath
from .reports import Progress

if TYPE_CHECKING:
    from . import _core


class AddOptions(TypedDict, total=False):
    """The keywords of ``Database.add``, as ``Batch.add_files`` takes them too."""

    prune: bool
    on_progress: Callable[[Progress], object] | None
    hidden: bool
    follow_links: bool
    respect_ignore: bool
    max_file_bytes: int | str | None
    passage_chars: int | None
    overlap_chars: int | None
    wait: bool
    tags: str | Iterable[str]
    payload: changes.Fields | None


def as_given(
    paths: StrPath | Iterable[StrPath],
    options: AddOptions,
    cancel: _core.CancelFlag | None,
    durability: Durability | None = None,
) -> _core.AddArguments:
    """The options in the engine's form."""
    tell = options.get("on_progress")
    return {
        "paths": arguments.paths(paths),
        "prune": bool(options.get("prune", False)),
        "hidden": bool(options.get("hidden", False)),
        "follow_links": bool(options.get("follow_links", False)),
        "respect_ignore": bool(options.get("respect_ignore", True)),
        "max_file_bytes": arguments.optional_size_bytes("max_file_bytes", options.get("max_file_bytes")),
        "target_chars": arguments.optional_whole("passage_chars", options.get("passage_chars")),
        "overlap_chars": arguments.optional_whole("overlap_chars", options.get("overlap_chars")),
        "wait": bool(options.get("wait", False)),
        "fields": changes.of_file(options.get("tags", ()), options.get("payload")),
        "durability": arguments.durability(durability),
        "on_progress": None if tell is None else lambda parts: tell(reports.progress(parts)),
        "cancel": cancel,
    }
