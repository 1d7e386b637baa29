"""The package itself: quiet, quick, typed, documented."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import REPOSITORY

import nuthatch

PYTHON = REPOSITORY / "python"
EXAMPLES = REPOSITORY / "examples"
#: Modules of the package that are documented API; ``model`` is the installer and has its own tests.
MODULES = [
    f"nuthatch.{module.name}"
    for module in pkgutil.iter_modules(nuthatch.__path__)
    if module.name not in ("_core", "model")
]
MODULES += [f"nuthatch.remote.{module.name}" for module in pkgutil.iter_modules([f"{nuthatch.__path__[0]}/remote"])]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, cwd=PYTHON)


def test_importing_prints_nothing_and_loads_nothing_heavy():
    done = run("-c", "import sys, nuthatch; sys.stdout.flush(); sys.stderr.write(','.join(sys.modules))")
    assert done.returncode == 0
    assert done.stdout == ""
    loaded = set(done.stderr.split(","))
    heavy = {
        "numpy",
        "pandas",
        "pyarrow",
        "asyncio",
        "json",
        "difflib",
        "ssl",
        "socket",
        "http",
        "urllib.request",
        "urllib3",
        "subprocess",
    }
    assert loaded & heavy == set()


def test_nothing_optional_is_loaded_by_plain_use():
    script = """
import sys, nuthatch
with nuthatch.connect(":memory:") as db:
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a", "text": "x", "vector": [1, 2], "payload": {"n": 1}}])
    notes.search("x", vector=[1, 2])[0].to_dict(), list(notes), db.stats(), db.doctor()
assert not {"numpy", "pandas", "pyarrow", "asyncio"} & set(sys.modules)
"""
    done = run("-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_works_without_any_optional_package(tmp_path):
    """numpy, pyarrow and pandas are kept from being found at all."""
    script = """
import sys
for name in ("numpy", "pandas", "pyarrow"):
    sys.modules[name] = None
import nuthatch
with nuthatch.connect(":memory:") as db:
    notes = db.collection("notes", embedder="none")
    notes.upsert(ids=["a"], vectors=[[1, 2]], texts=["x"])
    results = notes.search("x", vector=[1, 2])
    try:
        results.to_arrow()
    except ImportError:
        print("ok")
"""
    assert run("-c", script).stdout == "ok\n"


def test_the_version_is_the_workspaces():
    assert f'version = "{nuthatch.__version__}"' in (REPOSITORY / "Cargo.toml").read_text()


def test_the_environment_has_the_packages_metadata():
    assert importlib.metadata.version("nuthatch") == nuthatch.__version__


@pytest.mark.parametrize("name", ["nuthatch", *MODULES])
def test_the_examples_in_docstrings_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0


def test_public_classes_functions_and_methods_are_documented():
    for name in nuthatch.__all__:
        thing = getattr(nuthatch, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert thing.__doc__, name
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{method}"


def test_everything_public_is_exported_and_there():
    assert sorted(nuthatch.__all__) == list(nuthatch.__all__) or set(nuthatch.__all__) <= set(dir(nuthatch))
    assert (Path(nuthatch.__file__).parent / "py.typed").exists()


def test_the_stub_of_the_extension_module_names_what_is_in_it():
    import ast

    from nuthatch import _core

    stub = ast.parse((Path(nuthatch.__file__).parent / "_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name, thing in vars(_core).items():
        if not inspect.isclass(thing):
            continue
        stated = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)} - {"__init__"}
        # Functions are what the package gives a class; the stub is of the module.
        of_module = {method for method, what in vars(thing).items() if not inspect.isfunction(what)}
        assert stated == {method for method in of_module if not method.startswith("_")}, name


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_types_are_strictly_right_over_a_use_of_the_whole_api():
    done = run("-m", "mypy", "--no-error-summary")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="needs ruff")
def test_sources_are_clean_and_formatted():
    for command in (("check",), ("format", "--check")):
        done = run("-m", "ruff", *command, ".", str(EXAMPLES))
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["first_search", "own_embedder", "folder_of_documents"])
def test_examples_run(name, request):
    if name == "folder_of_documents":
        request.getfixturevalue("default_model")
    done = run(str(EXAMPLES / f"{name}.py"))
    assert done.returncode == 0, done.stderr
    says = {
        "first_search": "pudding",
        "own_embedder": "nutthach -> Eurasian nuthatch",
        "folder_of_documents": "password-reset.md",
    }
    assert says[name] in done.stdout


def test_no_example_is_left_out_of_the_tests():
    tested = {"first_search", "own_embedder", "folder_of_documents"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested
