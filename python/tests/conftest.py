"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import REPOSITORY

import nuthatch


@pytest.fixture
def db() -> Iterator[nuthatch.Database]:
    with nuthatch.connect(":memory:") as db:
        yield db


@pytest.fixture
def notes(db: nuthatch.Database) -> nuthatch.Collection:
    """A collection without an embedder."""
    return db.collection("notes", embedder="none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a data folder may be."""
    return tmp_path / "memory"


@pytest.fixture(scope="session")
def default_model() -> None:
    """Skips where the default model is not installed."""
    with nuthatch.connect(":memory:") as db:
        try:
            db.collection("probe", embedder="default")
        except nuthatch.UnavailableError as error:
            pytest.skip(f"needs the default embedding model: {error}")


@pytest.fixture(scope="session")
def data() -> Path:
    """The benchmark data, which lies outside of the repository."""
    path = Path(os.environ.get("NUTHATCH_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"needs the benchmark data, not found at {path}; set NUTHATCH_TEST_DATA")
    return path
