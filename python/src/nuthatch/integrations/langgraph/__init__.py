"""Nuthatch for LangGraph: a checkpointer and a store. ``pip install 'nuthatch[langgraph]'``.

What it is: ``NuthatchSaver`` keeps what graphs have come to, ``NuthatchStore`` what agents remember beyond a thread.
"""

try:
    from .checkpointer import NuthatchSaver
    from .store import NuthatchStore
except ImportError as error:
    from .. import missing

    raise missing.package("langgraph", "langgraph", error) from error

__all__ = ["NuthatchSaver", "NuthatchStore"]
