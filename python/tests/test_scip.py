"""An index of source code that knows types is taken in, and wins."""

from __future__ import annotations

import asyncio

import pytest

import nuthatch
from nuthatch import InvalidError

STORE = "class Store:\n    def get(self):\n        pass\n\nclass Other:\n    def get(self):\n        pass\n"
USE = "def use(one):\n    one.get()\n"
SYMBOL = "scip-python python p 1 `store`/Store#get()."
OTHER = "scip-python python p 1 `store`/Other#get()."


def field(tag: int, data: bytes) -> bytes:
    length, out = len(data), bytes([tag << 3 | 2])
    while length >= 128:
        out, length = out + bytes([length & 127 | 128]), length >> 7
    return out + bytes([length]) + data


def document(path: str, *names: tuple[list[int], str, int]) -> bytes:
    body = field(1, path.encode())
    for place, symbol, roles in names:
        body += field(2, field(1, bytes(place)) + field(2, symbol.encode()) + bytes([3 << 3, roles]))
    return field(2, body)


INDEX = document("store.py", ([1, 8, 11], SYMBOL, 1), ([5, 8, 11], OTHER, 1)) + document(
    "use.py", ([1, 8, 11], SYMBOL, 8)
)


def test_an_index_with_types_wins_and_is_of_a_text(db, tmp_path):
    tree = db.tree("code")
    tree.put_many({"lib/store.py": STORE, "lib/use.py": USE})
    assert tree.code.callers("Store.get").counts.certain == 0
    path = tmp_path / "index.scip"
    path.write_bytes(INDEX)
    assert tree.import_scip(path) == (0, 0, ("store.py", "use.py"), ())
    assert tree.import_scip(path, below="lib") == (2, 3, (), ())
    callers = tree.code.callers("Store.get")
    assert [(site.path, site.class_) for site in callers.sites] == [("lib/use.py", "certain")]
    tree.put("lib/use.py", "\n" + USE)
    assert tree.code.callers("Store.get").counts.certain == 0
    assert tree.import_scip(INDEX, "lib").changed == ("lib/use.py",)
    with pytest.raises(InvalidError, match="SCIP"):
        tree.import_scip(b"{}")


def test_an_index_is_taken_in_by_awaiting():
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            tree = await db.tree("code")
            await tree.put_many({"store.py": STORE, "use.py": USE})
            await tree.import_scip(INDEX)
            return (await tree.code.callers("Store.get")).counts.certain

    assert asyncio.run(main()) == 1
