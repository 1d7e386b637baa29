"""The fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import faces
import pytest
from support import REPOSITORY, write_static_model

import nuthatch


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "not_over(face, why): this test cannot hold over that face")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "face" in metafunc.fixturenames:
        metafunc.parametrize("face", faces.faces_of(metafunc.module.__name__))


@pytest.fixture(scope="session")
def held_folder() -> Iterator[str]:
    """A folder that another process holds for the whole session."""
    with faces.in_memory() as place, faces.held(place / "memory") as folder:
        yield folder


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server that runs for the whole session."""
    with (
        faces.in_memory() as place,
        faces.served(place / "memory", "--erasure-grace", "50ms", "--backup-dir", str(place / "backups")) as address,
    ):
        yield address


@pytest.fixture
def address(request: pytest.FixtureRequest, face: str) -> Iterator[str]:
    """The address of an empty database over this face, as ``connect`` takes it."""
    faces.skip_where_it_cannot_hold(request, face)
    if face == "embedded":
        yield ":memory:"
        return
    place = request.getfixturevalue("held_folder" if face == "socket" else "server")
    try:
        yield place
    finally:
        faces.empty(place)


@pytest.fixture
def db(address: str) -> Iterator[nuthatch.Database]:
    with nuthatch.connect(address) as db:
        yield db


@pytest.fixture
def notes(db: nuthatch.Database) -> nuthatch.Collection:
    """A collection without an embedder."""
    return db.collection("notes", embedder="none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a data folder may be."""
    return tmp_path / "memory"


def _skip_without(model: str) -> None:
    with nuthatch.connect(":memory:") as db:
        try:
            db.collection("probe", embedder=model)
        except nuthatch.UnavailableError as error:
            pytest.skip(f"needs the {model} embedding model: {error}")


@pytest.fixture(scope="session")
def default_model() -> None:
    """Skips where the default model is not installed."""
    _skip_without("default")


@pytest.fixture(scope="session")
def installed_static_model() -> None:
    """Skips where the static model is not installed."""
    _skip_without("static")


@pytest.fixture
def static_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A static model of six tokens, in place of the installed one."""
    folder = write_static_model(tmp_path / "static-model")
    monkeypatch.setenv("NUTHATCH_STATIC_MODEL_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    """The benchmark data, which lies outside of the repository."""
    path = Path(os.environ.get("NUTHATCH_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"needs the benchmark data, not found at {path}; set NUTHATCH_TEST_DATA")
    return path
