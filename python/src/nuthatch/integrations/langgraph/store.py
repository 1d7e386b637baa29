"""A keyspace, and a collection for meaning, as LangGraph's store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
)

from ...arguments import Durability
from ...collection import Collection
from ...database import Database
from ...errors import InvalidError
from ..conditions import Test, filtered
from ..given import waiting
from . import filters, items, namespaces
from .items import Namespace, Stored

#: Of one item's key, the operation that writes it.
Puts = dict[tuple[Namespace, str], PutOp]
Vectors = Sequence[Sequence[float]]

#: Hits that a search asks for at least: some may be of the same item.
_HITS_MIN = 20
#: Whether an item has expired its keyspace says, by the clock of who holds it. So far this one's clock may be behind.
_CLOCKS_APART_SECONDS = 60.0
#: Items that a search without a query reads at once.
_PAGE = 1000


class NuthatchStore(BaseStore):
    """Items in the keyspace ``name``; with ``index`` also searched by meaning, in the collection of that name.

    One ``batch`` of operations reads first and then writes, and what it writes is one atomic write, on disk when it returns.
    Items with a time to live expire. Reading an item restarts its time to live unless ``ttl`` says otherwise.
    """

    supports_ttl = True

    def __init__(
        self,
        database: Database,
        *,
        name: str = "store",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        durability: Durability | None = None,
    ) -> None:
        self._database = waiting("database", database, Database)
        self._name = name
        self._durability: Durability | None = durability
        self._kv = database.kv(name, durability=durability)
        self._fields: list[str] = []
        self._embeddings: Embeddings | None = None
        self._collection: Collection | None = None
        self.ttl_config = ttl
        if index is not None:
            self._fields = list(index.get("fields") or ["$"])
            self._embeddings = ensure_embeddings(index.get("embed"))
            self._collection = database.collection(name, dim=index["dims"], embedder="none")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations and returns their results in order."""
        asked = list(ops)
        queries, texts = self._queries(asked), self._texts(asked)
        if self._embeddings is None:
            return self._run(asked, {}, [])
        of_queries = {query: self._embeddings.embed_query(query) for query in queries}
        return self._run(asked, of_queries, self._embeddings.embed_documents(texts) if texts else [])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``."""
        asked = list(ops)
        queries, texts = self._queries(asked), self._texts(asked)
        if self._embeddings is None:
            return await asyncio.to_thread(self._run, asked, {}, [])
        found = await asyncio.gather(*(self._embeddings.aembed_query(query) for query in queries))
        of_texts = await self._embeddings.aembed_documents(texts) if texts else []
        return await asyncio.to_thread(self._run, asked, dict(zip(queries, found, strict=True)), of_texts)

    def sweep_ttl(self) -> int:
        """Removes the vectors of expired items and returns their number. Searches remove those that they encounter."""
        if self._collection is None:
            return 0
        collection, removed = self._collection, 0
        soon = datetime.now(timezone.utc).timestamp() + _CLOCKS_APART_SECONDS
        cursor: str | None = None
        while True:
            page = filtered(
                collection,
                Test(("expires",), "<", soon),
                lambda where: collection.scan(where=where, cursor=cursor, include=()),  # noqa: B023 (called at once)
            )
            ids = [record.id for record in page]
            stale = [id for id, item in zip(ids, self._items_of(ids)[1], strict=True) if item is None]
            removed += collection.delete(stale, durability=self._durability) if stale else 0
            cursor = page.cursor
            if cursor is None:
                return removed

    def _run(self, ops: list[Op], queries: dict[str, list[float]], vectors: Vectors) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        gets = [(at, op) for at, op in enumerate(ops) if isinstance(op, GetOp)]
        if gets:
            found = self._get([op for _, op in gets])
            for (at, _), item in zip(gets, found, strict=True):
                results[at] = item
        for at, op in enumerate(ops):
            if isinstance(op, SearchOp):
                results[at] = self._search(op, queries.get(op.query or ""))
            elif isinstance(op, ListNamespacesOp):
                results[at] = namespaces.listed(self._kv, op)
            elif not isinstance(op, (GetOp, PutOp)):
                raise InvalidError(
                    f"an operation is of type {type(op).__name__}; there are get, put, search and list_namespaces"
                )
        self._put(_puts(ops), vectors)
        return results

    def _get(self, ops: list[GetOp]) -> list[Item | None]:
        keys = [items.item_key(op.namespace, op.key) for op in ops]
        found: list[Item | None] = []
        for op, key, packed in zip(ops, keys, self._kv.get_many(keys), strict=True):
            item = None if packed is None else items.stored(packed)
            if item is not None and op.refresh_ttl:
                self._refresh(key, item)
            found.append(None if item is None else _item(op.namespace, op.key, item))
        return found

    def _search(self, op: SearchOp, vector: list[float] | None) -> list[SearchItem]:
        filters.checked(op.filter)
        if op.limit < 1:
            return []
        source = self._listed(op) if vector is None else self._nearest(op, vector)
        found: list[SearchItem] = []
        for at, (key, item, score) in enumerate(source):
            if at >= op.offset:
                if op.refresh_ttl:
                    self._refresh(key, item)
                namespace, name = items.named(key)
                found.append(_search_item(namespace, name, item, score))
            if len(found) == op.limit:
                break
        return found

    def _listed(self, op: SearchOp) -> Iterator[tuple[bytes, Stored, float | None]]:
        prefix, cursor = items.prefix(op.namespace_prefix), None
        # Without a filter no more is read than is asked for.
        limit = _PAGE if op.filter else min(op.offset + op.limit, _PAGE)
        while True:
            page = self._kv.scan(prefix=prefix, limit=limit, cursor=cursor)
            for key, packed in page:
                item = items.stored(packed)
                if filters.matches(item.value, op.filter):
                    yield key, item, None
            cursor = page.cursor
            if cursor is None:
                return

    def _nearest(self, op: SearchOp, vector: list[float]) -> Iterator[tuple[bytes, Stored, float | None]]:
        collection = self._collection
        assert collection is not None
        seen: set[bytes] = set()
        limit, offset = max(2 * (op.offset + op.limit), _HITS_MIN), 0
        while True:
            hits = filtered(
                collection,
                filters.condition(op.namespace_prefix, op.filter),
                lambda where: collection.search(
                    vector=vector,
                    mode="vector",
                    limit=limit,
                    offset=offset,  # noqa: B023 (called at once)
                    where=where,
                    include=(),
                ),
            )
            stale = []
            for hit, key, item in zip(hits, *self._items_of([hit.id for hit in hits]), strict=True):
                if item is None:
                    stale.append(hit.id)
                elif key not in seen and filters.matches(item.value, op.filter):
                    seen.add(key)
                    yield key, item, hit.score
            if stale:
                collection.delete(stale, durability=self._durability)
            if hits.cursor is None:
                return
            # Forgotten items no longer precede the next page.
            offset += len(hits) - len(stale)

    def _put(self, puts: Puts, vectors: Vectors) -> None:
        if not puts:
            return
        keys = {place: items.item_key(*place) for place in puts}
        old = dict(zip(puts, self._kv.get_many(list(keys.values())), strict=True))
        left = iter(vectors)
        with self._database.batch(durability=self._durability) as batch:
            kv = batch.kv(self._name)
            for (namespace, key), op in puts.items():
                packed = old[namespace, key]
                before = None if packed is None else items.stored(packed)
                count = len(self._texts_of(op))
                if op.value is None:
                    kv.delete([keys[namespace, key]])
                else:
                    item = items.renewed(dict(op.value), before, op.ttl, count)
                    kv.put(keys[namespace, key], item.packed(), ttl=None if op.ttl is None else op.ttl * 60)
                if self._collection is not None:
                    into = batch.collection(self._name)
                    if before is not None and before.vectors:
                        into.delete(items.record_ids(namespace, key, before))
                    if count:
                        ids = items.record_ids(namespace, key, item)
                        rows = [list(next(left)) for _ in ids]
                        into.upsert(ids=ids, vectors=rows, payloads=[items.payload(namespace, item)] * count)

    def _items_of(self, ids: list[str]) -> tuple[list[bytes], list[Stored | None]]:
        """Returns the item keys of records, and the items: None if the record belongs to an earlier revision."""
        places = [items.of_record(id) for id in ids]
        keys = [items.item_key(namespace, key) for namespace, key, _ in places]
        found: list[Stored | None] = []
        for (_, _, revision), packed in zip(places, self._kv.get_many(keys), strict=True):
            item = None if packed is None else items.stored(packed)
            found.append(item if item is not None and item.revision == revision else None)
        return keys, found

    def _refresh(self, key: bytes, item: Stored) -> None:
        if item.ttl is not None:
            self._kv.expire(key, item.ttl * 60)

    def _queries(self, ops: list[Op]) -> list[str]:
        asked = [op.query for op in ops if isinstance(op, SearchOp) and op.query]
        return list(dict.fromkeys(asked)) if self._embeddings is not None else []

    def _texts(self, ops: list[Op]) -> list[str]:
        return [text for op in _puts(ops).values() for text in self._texts_of(op)]

    def _texts_of(self, op: PutOp) -> list[str]:
        if self._embeddings is None or op.value is None or op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        return [text for path in paths for text in get_text_at_path(op.value, path) if text]


def _puts(ops: list[Op]) -> Puts:
    """Keeps the last of several writes to one item."""
    return {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}


def _item(namespace: Namespace, key: str, item: Stored) -> Item:
    created, updated = (datetime.fromisoformat(at) for at in (item.created_at, item.updated_at))
    return Item(value=item.value, key=key, namespace=namespace, created_at=created, updated_at=updated)


def _search_item(namespace: Namespace, key: str, item: Stored, score: float | None) -> SearchItem:
    created, updated = (datetime.fromisoformat(at) for at in (item.created_at, item.updated_at))
    return SearchItem(namespace, key, item.value, created, updated, score)
