"""A collection as Haystack's document store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils import Secret, deserialize_secrets_inplace

import nuthatch

from ...collection import Collection
from ...database import Database, Metric
from ...errors import InvalidError
from ...records import Record
from ...results import Hit
from ..conditions import Condition, filtered, text
from ..given import waiting
from . import fields
from .awaited import Awaited
from .documents import document, record
from .filters import condition

Filters = dict[str, Any]

#: The environment variable that is read if no key is given. It may be unset: servers without keys need none.
_KEY = Secret.from_env_var("NUTHATCH_API_KEY", strict=False)


class NuthatchDocumentStore(Awaited):
    """Documents in a collection of the folder or the server ``path``, or of an open ``database``.

    Opened when it is first used; ``options`` are further arguments of ``nuthatch.connect``. ``api_key`` is a server's: what is
    written down of it is where it comes from, never the key, and so a ``Secret.from_token`` cannot be written down. ``dim``,
    ``metric`` and ``language`` are those of ``Database.collection``. Each call that writes is one atomic write.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        collection: str = "documents",
        dim: int | None = None,
        metric: Metric | None = None,
        language: str | None = None,
        options: dict[str, Any] | None = None,
        database: Database | None = None,
        api_key: Secret | None = _KEY,
    ) -> None:
        if (path is None) is (database is None):
            raise InvalidError("NuthatchDocumentStore needs either path or database")
        if api_key is not None and not isinstance(api_key, Secret):
            raise InvalidError(f"api_key is a {type(api_key).__name__}; give Secret.from_env_var or Secret.from_token")
        if "api_key" in (options or {}):
            raise InvalidError("options are saved in plain text; give the key as api_key=Secret.from_env_var(…)")
        self.path: str = str(path) if database is None else waiting("database", database, Database).path
        is_server = self.path.startswith(("http://", "https://"))
        if api_key not in (None, _KEY) and (database is not None or not is_server):
            raise InvalidError("api_key needs the address of a server as path; leave it out")
        self.api_key: Secret | None = api_key if is_server else None
        self.collection_name = collection
        self.dim = dim
        self.metric: Metric | None = metric
        self.language = language
        self.options = options
        self._given = database
        self._opened: Database | None = None
        self._made: Collection | None = None
        self._lock = threading.Lock()

    def to_dict(self) -> dict[str, Any]:
        """The store as a dict, for pipelines in YAML."""
        return default_to_dict(
            self,
            path=self.path,
            collection=self.collection_name,
            dim=self.dim,
            metric=self.metric,
            language=self.language,
            options=self.options,
            api_key=None if self.api_key is None else self.api_key.to_dict(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> NuthatchDocumentStore:
        """The store from its dict."""
        parameters = dict(data.get("init_parameters", {}))
        deserialize_secrets_inplace(parameters, keys=["api_key"])
        made: NuthatchDocumentStore = default_from_dict(cls, {**data, "init_parameters": parameters})
        return made

    @property
    def collection(self) -> Collection:
        """The collection."""
        with self._lock:
            if self._made is None:
                self._made = self._database().collection(
                    self.collection_name, dim=self.dim, metric=self.metric, language=self.language, embedder="none"
                )
            return self._made

    def close(self) -> None:
        """Closes the folder if this store opened it. The next use opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._made = None

    def _database(self) -> Database:
        if self._given is not None:
            return self._given
        if self._opened is None:
            key = None if self.api_key is None else self.api_key.resolve_value()
            self._opened = nuthatch.connect(self.path, api_key=key, **(self.options or {}))
        return self._opened

    # The methods of every store.

    def count_documents(self) -> int:
        """Returns the number of documents."""
        return self.collection.count()

    def filter_documents(self, filters: Filters | None = None) -> list[Document]:
        """Returns the documents that match the filters, in the order of their last write."""
        return [document(found) for found in self._scan(filters)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Writes documents atomically, returns their number. Existing ids are errors unless ``policy`` is SKIP or OVERWRITE."""
        if not isinstance(documents, Sequence) or isinstance(documents, str):
            raise ValueError(f"documents is of type {type(documents).__name__}; give a list of Document")
        records: dict[str, dict[str, Any]] = {}
        for made in map(record, documents):
            if made["id"] in records and policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
                raise DuplicateDocumentError(f"document {made['id']!r} is given twice")
            if made["id"] not in records or policy is not DuplicatePolicy.SKIP:
                records[made["id"]] = made
        if not records:
            return 0
        if policy is DuplicatePolicy.OVERWRITE:
            self.collection.upsert(list(records.values()))
            return len(documents)
        name = self.collection.name

        def write(now: Any) -> int:
            there = [found.id for found in now.collection(name).get(list(records), include=()) if found is not None]
            if there and policy is not DuplicatePolicy.SKIP:
                raise DuplicateDocumentError(f"document {there[0]!r} exists already; give a policy, SKIP or OVERWRITE")
            new = [made for id, made in records.items() if id not in set(there)]
            if new:
                now.collection(name).upsert(new)
            return len(new)

        return self._database().transact(write)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Deletes documents by id; unknown ids are ignored."""
        self.collection.delete(document_ids)

    def delete_all_documents(self) -> None:
        """Deletes all documents."""
        self.collection.delete(where="true")

    def delete_by_filter(self, filters: Filters) -> int:
        """Deletes the documents that match the filters and returns their number."""
        return self._asked(_needed(filters), lambda where: self.collection.delete(where=where))

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Sets meta fields of the documents that match the filters and returns their number."""
        where = text(_needed(filters), self.collection.info().fields)
        name = self.collection.name

        def update(now: Any) -> int:
            found = list(_pages(now.collection(name), where))
            if found:
                now.collection(name).upsert([{**one.to_dict(), "payload": {**one.payload, **meta}} for one in found])
            return len(found)

        return self._database().transact(update)

    # Searching.

    def bm25_retrieval(
        self, query: str, filters: Filters | None = None, top_k: int = 10, scale_score: bool = False
    ) -> list[Document]:
        """Returns the documents whose words match best. ``scale_score`` maps scores to 0..1."""
        if not query:
            raise ValueError("query is empty; give at least one word")
        scale = (lambda score: score / (1.0 + score)) if scale_score else None
        return self._found(filters, top_k, scale, text=query, mode="text", include=("text", "payload"))

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: Filters | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool = False,
    ) -> list[Document]:
        """Returns the documents nearest to an embedding. ``scale_score`` maps scores of the metric to 0..1."""
        if not query_embedding or not isinstance(query_embedding[0], (int, float)):
            raise ValueError("query_embedding is not a list of numbers; give the embedding of one query")
        scale = self._nearness() if scale_score else None
        include = ("text", "payload", "vector") if return_embedding else ("text", "payload")
        return self._found(filters, top_k, scale, vector=query_embedding, mode="vector", include=include)

    def hybrid_retrieval(
        self,
        query: str,
        query_embedding: list[float],
        filters: Filters | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        **options: Any,
    ) -> list[Document]:
        """The best by words and embedding together. ``options`` are ``Collection.search``'s, such as ``fusion`` and ``weights``."""
        include = ("text", "payload", "vector") if return_embedding else ("text", "payload")
        return self._found(filters, top_k, None, text=query, vector=query_embedding, include=include, **options)

    def _found(self, filters: Filters | None, top_k: int, scale: Any, **asked: Any) -> list[Document]:
        if top_k < 1:
            return []

        def search(where: str | None) -> Sequence[Hit]:
            return self.collection.search(**asked, limit=top_k, where=where)

        hits = self._asked(condition(filters), search)
        return [document(hit, score=hit.score if scale is None else scale(hit.score)) for hit in hits]

    def _nearness(self) -> Any:
        if self.collection.info().metric in ("l2", "hamming"):
            return lambda distance: 1.0 / (1.0 + distance)
        return lambda cosine: (1.0 + cosine) / 2.0

    # About the meta of documents.

    def count_documents_by_filter(self, filters: Filters) -> int:
        """How many documents pass."""
        return self._asked(condition(filters), lambda where: self.collection.count(where))

    def count_unique_metadata_by_filter(self, filters: Filters, metadata_fields: list[str]) -> dict[str, int]:
        """How many different values the fields have among the documents that pass."""
        found = list(self._scan(filters))
        return {
            fields.name(field): len(fields.different(fields.value(one.payload, field) for one in found))
            for field in metadata_fields
        }

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The fields that documents have, with their types: boolean, int, float or keyword."""
        known = self.collection.info().fields
        return {
            name: {"type": fields.type_of(kinds)}
            for name, kinds in known.items()
            if kinds and not name.startswith("_") and "." not in name and self._is_there(name)
        }

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field."""
        return fields.bounds(fields.value(one.payload, metadata_field) for one in self._scan(None))

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """A page of a field's different values, and how many there are; ``search_term`` is a part of them in any case."""
        found = fields.different(fields.value(one.payload, metadata_field) for one in self._scan(filters))
        if search_term:
            found = [value for value in found if search_term.lower() in str(value).lower()]
        return found[from_ : from_ + size], len(found)

    def _is_there(self, name: str) -> bool:
        return self._asked(condition({"field": name, "operator": "!=", "value": None}), self.collection.count) > 0

    def _scan(self, filters: Filters | None) -> list[Record]:
        return self._asked(condition(filters), lambda where: list(_pages(self.collection, where)))

    def _asked(self, wanted: Condition | None, ask: Any) -> Any:
        """``filtered``, with what is wrong about a filter said in the framework's words."""
        try:
            return filtered(self.collection, wanted, ask)
        except InvalidError as error:
            if wanted is None:
                raise
            raise FilterError(str(error)) from error


def _needed(filters: Filters) -> Condition:
    wanted = condition(filters)
    if wanted is None:
        raise FilterError(
            "the filter is empty and matches every document; to delete everything, call delete_all_documents"
        )
    return wanted


def _pages(collection: Any, where: str | None) -> Iterator[Record]:
    cursor: str | None = None
    while True:
        page = collection.scan(where=where, cursor=cursor, include=("text", "payload", "vector"))
        yield from page
        cursor = page.cursor
        if cursor is None:
            return
