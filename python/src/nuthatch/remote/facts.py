"""Facts of a server, as they are or in a snapshot."""

from __future__ import annotations

import json

from .. import _core
from .caller import address
from .reads import Named

#: Calls that change nothing.
_READS = ("list", "why", "entities", "predicates", "stats", "trace", "failures", "paths", "rank", "groups")


def recorded(facts: str, question: str) -> bytes:
    """Facts to record as a write of a batch or a transaction; refuses those that nothing could record."""
    _core.check_facts(question)
    new = question[question.index("[") : question.rindex("]") + 1]
    return b'{"facts":{"facts":' + json.dumps(facts).encode() + b',"record":' + new.encode() + b"}}"


class Facts(Named):
    """As the extension module's, over HTTP."""

    def ask(self, call: str, question: str) -> str:
        place = address("facts", self._name, call)
        return self._caller.ask("POST", place, question.encode(), is_read=call in _READS).body.decode()
