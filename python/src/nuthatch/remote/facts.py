"""Facts of a server, as they are or in a snapshot."""

from __future__ import annotations

from .caller import address
from .reads import Named

#: Calls that change nothing.
_READS = ("list", "why", "entities", "predicates", "stats", "trace", "failures", "paths", "rank", "groups")


class Facts(Named):
    """As the extension module's, over HTTP."""

    def ask(self, call: str, question: str) -> str:
        place = address("facts", self._name, call)
        return self._caller.ask("POST", place, question.encode(), is_read=call in _READS).body.decode()
