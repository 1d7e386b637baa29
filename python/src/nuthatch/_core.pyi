"""The extension module: glue for the package, with nothing in it for callers."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final

from .batch import Columns
from .records import RecordParts
from .results import AnswerParts
from .vectors import VectorColumn

__version__: str

class OpenArguments(TypedDict):
    memory_budget_bytes: int | None
    mapped: bool
    build_memory_bytes: int | None
    build_threads: int | None
    must_exist: bool
    program: str
    model_dirs: list[str]

class CollectionArguments(TypedDict):
    dim: int | None
    metric: str | None
    elements: str | None
    embedder: Embedder | str | None
    language: str | None

class Query(TypedDict):
    text: str | None
    vector: bytes | None
    like: str | None
    mode: str | None
    condition: str | None
    limit: int
    offset: int
    include_text: bool
    include_payload: bool
    include_vector: bool
    fusion: str
    text_weight: float
    vector_weight: float
    recall: float | None
    effort: int | None
    exact: bool
    timeout_seconds: float | None
    cancel: CancelFlag | None

class AddArguments(TypedDict):
    paths: list[str]
    prune: bool
    hidden: bool
    follow_links: bool
    respect_ignore: bool
    max_file_bytes: int | None
    target_chars: int | None
    overlap_chars: int | None
    on_progress: Callable[[dict[str, Any]], object] | None
    cancel: CancelFlag | None

def list_backups(place: str) -> list[dict[str, Any]]: ...
def verify_backups(
    place: str, ids: list[str], on_progress: Callable[..., object] | None
) -> tuple[int, int, int, list[tuple[Any, str, list[str]]]]: ...
def delete_backups(place: str, ids: list[str], keep: int | None) -> tuple[list[str], int, int]: ...
def restore(
    place: str,
    target: str,
    backup: str | None,
    collection: str | None,
    indexes: bool,
    on_progress: Callable[..., object] | None,
) -> dict[str, Any]: ...

@final
class CancelFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...

@final
class Embedder:
    """Makes vectors of texts. Made by the functions of ``nuthatch.embedders``."""

    @staticmethod
    def openai(
        base_url: str,
        model: str,
        api_key: str | None,
        dim: int | None,
        timeout_seconds: float,
        batch: int,
        retries: int,
        passage_prefix: str,
        query_prefix: str,
    ) -> Embedder: ...
    @staticmethod
    def function(function: Callable[[list[str]], Sequence[bytes]], name: str, dim: int) -> Embedder: ...
    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def embed(self, texts: list[str]) -> list[list[float]]: ...
    def embed_query(self, text: str) -> list[float]: ...

@final
class Database:
    def __init__(self, path: str | None, arguments: OpenArguments) -> None: ...
    def folder(self) -> Any: ...
    def collection(self, name: str, arguments: CollectionArguments) -> Collection: ...
    def existing_collection(self, name: str) -> Collection: ...
    def collection_names(self) -> list[str]: ...
    def drop_collection(self, name: str) -> bool: ...
    def stats(self) -> dict[str, Any]: ...
    def doctor(self) -> dict[str, Any]: ...
    def backup(
        self,
        place: str,
        indexes: bool,
        rate_bytes_per_second: int | None,
        on_progress: Callable[..., object] | None,
    ) -> dict[str, Any]: ...
    def export(
        self, folder: str, collection: str | None, on_progress: Callable[..., object] | None
    ) -> dict[str, Any]: ...
    def import_(
        self, folder: str, collection: str | None, merge: bool, on_progress: Callable[..., object] | None
    ) -> dict[str, Any]: ...
    def close(self) -> None: ...

@final
class Collection:
    @property
    def name(self) -> str: ...
    def info(self) -> dict[str, Any]: ...
    def upsert(self, columns: Columns) -> tuple[int, int]: ...
    def get_records(self, ids: list[str], vectors: bool) -> list[RecordParts | None]: ...
    def delete(self, ids: list[str]) -> int: ...
    def delete_where(self, condition: str) -> int: ...
    def count(self, condition: str | None) -> int: ...
    def search(self, query: Query) -> AnswerParts: ...
    def search_many(
        self, query: Query, count: int, texts: list[Any] | None, vectors: VectorColumn | None
    ) -> list[AnswerParts]: ...
    def scan(
        self, condition: str | None, limit: int, cursor: str | None, vectors: bool
    ) -> tuple[list[RecordParts], str | None]: ...
    def add(self, arguments: AddArguments) -> dict[str, Any]: ...
    def files(self, prefix: str) -> list[tuple[str, int, int, str, int]]: ...
    def remove_files(self, path: str) -> int: ...
    def wait_until_indexed(self, timeout_seconds: float | None) -> bool: ...
    def optimize(self, timeout_seconds: float | None) -> bool: ...
