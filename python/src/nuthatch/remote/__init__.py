"""A server as the engine: the methods of the extension module's classes, asked over HTTP.

What it is: the cores that ``connect("http://…")`` puts behind ``Database``, ``Collection`` and ``Keyspace``. The
extension module makes the checks that need no server, so that they are the same, with the same messages.
What it is not: for callers, which use the classes of the package.
Invariant: a request that may have been carried out is sent again only when doing it twice is as good as doing it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .caller import Caller
from .database import Database
from .wire import Wire

if TYPE_CHECKING:
    from .wire import ServerArguments

__all__ = ["Caller", "Database", "Wire", "connect"]


def connect(url: str, arguments: ServerArguments) -> Database:
    """Asks the server whose data is seen and how much it takes, and so whether it is there."""
    caller = Caller(Wire(url, arguments), arguments["tenant"])
    try:
        return Database(caller.introduced())
    except BaseException:
        caller.wire.close()
        raise
