"""Nuthatch for LiteLLM: its cache of completions. ``pip install 'nuthatch[litellm]'``.

What it is: ``NuthatchSemanticCache`` is a ``litellm.Cache`` on a cache of answers, ``NuthatchCache`` the backend alone, for a
``litellm.Cache`` of one's own.
"""

try:
    from .backend import NuthatchCache
    from .semantic import NuthatchSemanticCache
except ImportError as _error:
    from .. import missing

    raise missing.package("litellm", "litellm", _error) from _error

__all__ = ["NuthatchCache", "NuthatchSemanticCache"]
