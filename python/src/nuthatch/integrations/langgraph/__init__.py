"""Nuthatch for LangGraph: a checkpointer, a store and a cache of nodes. ``pip install 'nuthatch[langgraph]'``.

What it is: ``NuthatchSaver`` keeps what graphs have come to, ``NuthatchStore`` what agents remember beyond a thread,
``NuthatchNodeCache`` what nodes have returned.
"""

try:
    from .cache import NuthatchNodeCache
    from .checkpointer import NuthatchSaver
    from .store import NuthatchStore
except ImportError as _error:
    from .. import missing

    raise missing.package("langgraph", "langgraph", _error) from _error

__all__ = ["NuthatchNodeCache", "NuthatchSaver", "NuthatchStore"]
