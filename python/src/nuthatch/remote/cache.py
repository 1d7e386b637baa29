"""A cache of a server."""

from __future__ import annotations

from .caller import address
from .reads import Named

#: Calls that change nothing.
_READS = ("explain", "audits", "answers")


class Cache(Named):
    """As the extension module's, over HTTP."""

    def ask(self, call: str, question: str) -> str:
        place = address("caches", self._name, call)
        if call == "stats":
            answer = self._caller.ask("GET", place, is_read=True)
        else:
            answer = self._caller.ask("POST", place, question.encode(), is_read=call in _READS)
        return answer.body.decode()
