"""LangGraph's conformance suite for checkpointers (langgraph-checkpoint-conformance) against ours; a test of it is one here."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from langgraph.checkpoint.conformance.capabilities import (
    Capability,
    DetectedCapabilities,
)

import nuthatch
from nuthatch.integrations.langgraph import NuthatchSaver

SPECIFICATION = "langgraph.checkpoint.conformance.spec.test_{0}"
TESTS = [
    pytest.param(test, id=f"{capability.value}-{test.__name__}")
    for capability in Capability
    for test in getattr(
        importlib.import_module(SPECIFICATION.format(capability.value)),
        f"ALL_{capability.name}_TESTS",
    )
]


@pytest.mark.parametrize("test", TESTS)
async def test_checkpointer(test: Any, db: nuthatch.Database) -> None:
    await test(NuthatchSaver(db))


def test_every_capability_is_there(db: nuthatch.Database) -> None:
    assert DetectedCapabilities.from_instance(NuthatchSaver(db)).missing == frozenset()
