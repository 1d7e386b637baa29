"""Uses the client that openapi-python-client made of docs/openapi.json: generated_client.py DOCUMENT URL

scripts/generated_client.sh makes the package ``generated`` and runs this with it. The server has no keys and no data.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

#: The generator knows no bodies of lines of JSON, and says so.
NOT_GENERATED = {"post_collections_collection_ingest"}


def main() -> int:
    document, url = Path(sys.argv[1]), sys.argv[2]
    described = operations(json.loads(document.read_text(encoding="utf-8")))
    missing = {name for name, tag in described.items() if module(tag, name) is None}
    if missing != NOT_GENERATED:
        raise SystemExit(
            f"error: the generator made no function of {sorted(missing)}, expected {sorted(NOT_GENERATED)}"
        )
    client = importlib.import_module("generated").Client(base_url=url)
    records_and_search(client)
    keys_of_any_bytes(client)
    problems(client)
    print(f"{len(described) - len(missing)} functions generated; records, search, keys and problems work")
    return 0


def operations(document: dict[str, Any]) -> dict[str, str]:
    """The tags of all operations, by their names."""
    found = [operation for path in document["paths"].values() for operation in path.values()]
    return {operation["operationId"]: operation["tags"][0] for operation in found if "operationId" in operation}


def module(tag: str, name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"generated.api.{tag}.{name}")
    except ModuleNotFoundError:
        return None


def call(client: Any, tag: str, name: str, *path: str, **arguments: Any) -> Any:
    """The answer, as the generated function reads it."""
    return importlib.import_module(f"generated.api.{tag}.{name}").sync(*path, client=client, **arguments)


def made(name: str, parts: dict[str, Any]) -> Any:
    """A generated type, from its JSON."""
    return getattr(importlib.import_module("generated.models"), name).from_dict(parts)


def records_and_search(client: Any) -> None:
    call(client, "collections", "put_collections_collection", "notes", body=made("NewCollection", {"embedder": "none"}))
    records = [
        {"id": "a", "text": "the osprey fishes", "vector": [0.5, 1.0], "payload": {"year": 2024}},
        {"id": "b", "text": "the heron waits", "vector": [3.0, 4.0], "payload": {"year": 2025}},
    ]
    asked = made("Upsert", {"records": records})
    written = call(client, "records", "post_collections_collection_records", "notes", body=asked)
    check("upserted", written.to_dict(), {"inserted": 2, "replaced": 0})
    search = made("Search", {"text": "osprey", "vector": [0.5, 1.0], "where": "year < 2025"})
    answer = call(client, "search", "post_collections_collection_search", "notes", body=search)
    check("found", [(hit.id, hit.payload.to_dict()) for hit in answer.hits], [("a", {"year": 2024})])
    record = call(client, "records", "get_collections_collection_records_id", "notes", "b")
    check("read", (record.id, record.text), ("b", "the heron waits"))


def keys_of_any_bytes(client: Any) -> None:
    value = bytes(range(256))
    body = importlib.import_module("generated.types").File(payload=io.BytesIO(value))
    call(client, "keyspaces", "put_keyspaces_keyspace_keys_key", "seen", "a b/ü", body=body)
    stored = call(client, "keyspaces", "get_keyspaces_keyspace_keys_key", "seen", "a b/ü")
    check("value", stored.payload.read(), value)


def problems(client: Any) -> None:
    problem = call(client, "keyspaces", "get_keyspaces_keyspace_keys_key", "seen", "none")
    check("problem", (problem.status, problem.kind), (404, "not_found"))
    check("subject", problem.subject.to_dict(), {"what": "key", "name": "none"})


def check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise SystemExit(f"error: {what}: {found!r}, expected {expected!r}")


if __name__ == "__main__":
    sys.exit(main())
