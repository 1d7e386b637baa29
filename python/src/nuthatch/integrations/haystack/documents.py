"""Haystack's documents as records, and back: meta is the payload, the content the text."""

from __future__ import annotations

import base64
from typing import Any

from haystack.dataclasses import ByteStream, Document

from ...errors import InvalidError
from ...records import Record
from ...results import Hit

#: A document's bytes among its payload.
BLOB = "_blob"
#: Says that a document has nothing at all, which a record may not.
EMPTY = "_empty"


def record(document: object) -> dict[str, Any]:
    """A document as a record."""
    if not isinstance(document, Document):
        raise ValueError(f"a document is of type {type(document).__name__}; give a list of Document")
    if document.sparse_embedding is not None:
        raise InvalidError(
            f"document {document.id!r} has a sparse embedding, which Nuthatch does not support;"
            " words are found by BM25 without one"
        )
    payload = dict(document.meta)
    for name in (BLOB, EMPTY):
        if name in payload:
            raise InvalidError(f"document {document.id!r} has a meta field {name!r}, which the store needs; rename it")
    if (blob := document.blob) is not None:
        payload[BLOB] = {
            "data": base64.b64encode(blob.data).decode(),
            "meta": blob.meta,
            "mime_type": blob.mime_type,
        }
    made: dict[str, Any] = {"id": document.id, "text": document.content, "payload": payload}
    if document.embedding is not None:
        made["vector"] = document.embedding
    elif document.content is None and not payload:
        payload[EMPTY] = True
    return made


def document(found: Record | Hit, *, score: float | None = None, embedding: bool = True) -> Document:
    """A record or a hit as a document."""
    meta = dict(found.payload)
    meta.pop(EMPTY, None)
    blob = meta.pop(BLOB, None)
    stream = None
    if blob is not None:
        stream = ByteStream(base64.b64decode(blob["data"]), meta=blob["meta"], mime_type=blob["mime_type"])
    return Document(
        id=found.id,
        content=found.text,
        meta=meta,
        blob=stream,
        score=score,
        embedding=found.vector if embedding else None,
    )
