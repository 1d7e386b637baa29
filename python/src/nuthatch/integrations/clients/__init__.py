"""Official clients of language models, answered from a cache: ``openai`` and ``anthropic``.

What it is: ``nuthatch.wrap`` gives a client of the same class whose requests go through a cache. It stands below the client, where
requests leave it, so the client parses an answer out of the cache as it parses any other, streams too.
What it is not: a proxy, or a client of its own.
Invariant: what a cache must not answer is asked unchanged; a stream is stored after its last event, and never a part of it.
"""

from ..dialects.dialect import Allowed
from ..questions import Questions
from .exchange import Rules
from .wrapping import through

__all__ = ["Allowed", "Questions", "Rules", "through"]
