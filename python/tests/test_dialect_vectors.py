"""The dialects make of shared requests, answers and streams what the Rust crate `llm` makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dialect_vectors import outcome
from support import REPOSITORY

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (REPOSITORY / "tests" / "llm" / "vectors.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("kind", sorted(VECTORS))
def test_shared_vectors_come_out_as_in_rust(kind: str) -> None:
    assert len(VECTORS[kind]) > 20
    for case in VECTORS[kind]:
        assert outcome(kind, case) == case["outcome"], case
