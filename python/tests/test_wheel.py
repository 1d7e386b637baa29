"""Packages: the wheel runs in a bare environment and leaves no traces; the sdist is complete."""

from __future__ import annotations

import email
import email.message
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import REPOSITORY

import nuthatch

RELEASE = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
SOURCES = REPOSITORY / "python" / "src" / "nuthatch"

USE = """
import sys, nuthatch
with nuthatch.connect(sys.argv[1]) as db:
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a1", "text": "how to reset a password", "payload": {"year": 2025}}])
    print([hit.id for hit in notes.search("password", where="year >= 2024")])
assert "numpy" not in sys.modules
"""


def distribution(kind: str, folder: Path, *more: Path) -> Path:
    """Builds the wheel or the sdist like `make wheel` and `make sdist`, in another folder."""
    command = [sys.executable, REPOSITORY / "scripts" / "distributions.py", kind, folder, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(RELEASE.glob("libnuthatch_core.*")):
        pytest.skip(f"needs what `make build` compiles, not found in {RELEASE}; run through make test")
    return distribution("wheel", tmp_path_factory.mktemp("wheel"), RELEASE)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked."""
    packed = distribution("sdist", tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


class Bare:
    """An environment without any package, of a user whose home is empty."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.home, self.work = folder / "venv", folder / "home", folder / "work"
        for path in (self.home, self.work):
            path.mkdir()
        kept = {
            name: value for name, value in os.environ.items() if name in ("PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE")
        }
        self.environment = {
            **kept,
            "PATH": f"{self.prefix / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.home),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        subprocess.run([sys.executable, "-m", "venv", self.prefix], check=True, timeout=120)

    def run(self, program: str, *arguments: object) -> str:
        command = [self.prefix / "bin" / program, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{program} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def tree(self) -> dict[str, int]:
        """Every path with its size, apart from what pip has compiled of itself by running."""
        found = {path.relative_to(self.prefix): path for path in self.prefix.rglob("*")}
        own = {path for path in found if "__pycache__" in path.parts and {"pip", "setuptools"} & set(path.parts)}
        return {str(path): found[path].lstat().st_size for path in found.keys() - own if found[path].is_file()} | {
            str(path): -1 for path in found.keys() - own if found[path].is_dir()
        }


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path)


def test_a_bare_environment_gets_an_answer_and_uninstalling_leaves_nothing(bare, wheel):
    before = bare.tree()
    bare.run("python", "-m", "pip", "install", "--no-index", wheel)
    assert "No broken requirements" in bare.run("python", "-m", "pip", "check")
    assert bare.run("nuthatch", "--version").startswith(f"nuthatch {nuthatch.__version__} ")

    (bare.work / "birds.md").write_text("# Birds\n\nThe nuthatch climbs down trees head first.\n")
    bare.run("nuthatch", "add", "birds.md", "--embedder", "none")
    answer = json.loads(bare.run("nuthatch", "search", "climbs trees", "--json"))
    assert ["head first" in hit["text"] for hit in answer["hits"]] == [True]
    assert bare.run("python", "-c", USE, bare.work / "memory") == "['a1']\n"

    bare.run("python", "-m", "pip", "uninstall", "--yes", "nuthatch")
    assert bare.tree() == before
    assert list(bare.home.iterdir()) == []


@pytest.mark.skipif("NUTHATCH_LONG" not in os.environ, reason="fetches a model; set NUTHATCH_LONG=1")
def test_the_command_installs_a_model_beside_itself_and_finds_it(bare, wheel):
    bare.run("python", "-m", "pip", "install", "--no-index", wheel)
    try:
        bare.run("nuthatch", "model", "install", "static")
    except AssertionError as error:
        if "pip could not get" not in str(error):
            raise
        pytest.skip(f"needs a package index: {error}")
    found = json.loads(bare.run("nuthatch", "model", "static", "--verify", "--json"))
    assert Path(found["path"]).is_relative_to(bare.prefix) and found["dim"] == 256
    (bare.work / "bread.md").write_text("# Bread\n\nKnead the dough and let it rise overnight.\n")
    bare.run("nuthatch", "add", "bread.md", "--embedder", "static", "--wait")
    answer = json.loads(bare.run("nuthatch", "search", "baking a loaf", "--embedder", "static", "--json"))
    assert ["Knead the dough" in hit["text"] for hit in answer["hits"]] == [True]


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, ends: str) -> str:
    (name,) = (name for name in names(wheel) if name.endswith(ends))
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name).decode()


def test_the_wheel_holds_the_module_the_command_the_types_and_no_more(wheel):
    listed = subprocess.check_output(["git", "ls-files", SOURCES], text=True, cwd=REPOSITORY) if git() else ""
    sources = {str(Path(line).relative_to("python/src")) for line in listed.splitlines()}
    found = names(wheel)
    assert sources <= found
    assert {"nuthatch/_core.abi3.so", "nuthatch/py.typed", "nuthatch/_core.pyi"} <= found
    assert f"nuthatch-{nuthatch.__version__}.data/scripts/nuthatch" in found
    assert {name for name in found if name.endswith(".so")} == {"nuthatch/_core.abi3.so"}
    assert not [name for name in found if "__pycache__" in name or name.startswith("nuthatch/tests")]


def git() -> bool:
    return (REPOSITORY / ".git").exists()


def test_the_wheel_says_what_it_is_and_requires_nothing(wheel):
    stated = metadata(wheel)
    assert (stated["Name"], stated["Version"]) == ("nuthatch", nuthatch.__version__)
    assert stated["License-Expression"] == "Apache-2.0"
    assert stated["Requires-Python"] == ">=3.10"
    assert stated.get_payload().startswith("# Nuthatch\n")
    assert [line for line in stated.get_all("Requires-Dist") if "extra ==" not in line] == []


@pytest.mark.skipif(sys.platform != "linux", reason="manylinux is Linux'")
def test_the_platform_tag_is_what_auditwheel_says_of_the_wheel(wheel):
    show = [sys.executable, "-m", "auditwheel", "show", "--json", wheel]
    said = json.loads(subprocess.run(show, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert said["external_libs"] == {}
    assert re.fullmatch(rf"nuthatch-[\d.]+-cp310-abi3-{said['overall_tag']}\.whl", wheel.name)
    assert f"Tag: cp310-abi3-{said['overall_tag']}\n" in read(wheel, ".dist-info/WHEEL")


def test_the_wheel_brings_the_licences_of_what_it_links(wheel):
    texts = read(wheel, "licenses/THIRD-PARTY-LICENSES.txt")
    for name in ("librocksdb-sys", "zstd-sys", "lz4-sys", "tantivy", "ring", "react"):
        assert re.search(rf"^{name} [\d.]+", texts, re.MULTILINE), name
    assert "LICENSE.leveldb" in texts
    # Of every crate that is listed, a text follows.
    section = texts.split("Crates: name, version, licence\n\n")[1].split("\n\n")[0]
    listed = {line.split(":")[0] for line in section.splitlines() if ":" in line}
    covered = set(re.findall(r"^(?:Covers: |        )([\w-]+ [\w.+-]+?)(?:,.*)?;?$", texts, re.MULTILINE))
    assert len(listed) > 300 and listed - covered == set()
    assert not re.search(r"^\s*GNU (AFFERO |LESSER )?GENERAL PUBLIC LICENSE", texts, re.MULTILINE)
    assert "MIT" in read(wheel, "licenses/THIRD-PARTY-RUST.html")


def test_the_bill_of_materials_names_every_part_and_how_they_hang_together(wheel):
    bill = json.loads(read(wheel, "sboms/nuthatch.cdx.json"))
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", nuthatch.__version__)
    parts = {part["bom-ref"]: part for part in bill["components"]}
    for begins in ("pkg:generic/rocksdb@", "pkg:generic/rust-std@", "pkg:cargo/tantivy@", "pkg:npm/react@"):
        assert sum(reference.startswith(begins) for reference in parts) == 1, begins
    # A part of the workspace, a test's or a build script's is not linked.
    assert not {"nuthatch-engine", "proptest", "bindgen", "serde_derive"} & {part["name"] for part in parts.values()}
    locked = (REPOSITORY / "Cargo.lock").read_text()
    for reference, part in parts.items():
        if reference.startswith("pkg:cargo/"):
            assert part["hashes"][0]["content"] in locked, reference
    used = {edge["ref"]: edge.get("dependsOn", []) for edge in bill["dependencies"]}
    reached, todo = set(), ["nuthatch"]
    while todo:
        if (part := todo.pop()) not in reached:
            reached.add(part)
            todo += used.get(part, [])
    assert reached == parts.keys() | {"nuthatch"}


def test_cargo_finds_everything_in_the_sdist_that_it_builds_from(sdist):
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    said = json.loads(
        subprocess.run(command, cwd=sdist, capture_output=True, text=True, check=True, timeout=120).stdout
    )
    ours = {Path(package["manifest_path"]) for package in said["packages"] if package["source"] is None}
    assert {path.parent.name for path in ours} >= {
        path.parent.name for path in (REPOSITORY / "crates").glob("*/Cargo.toml")
    }
    assert all(path.is_relative_to(sdist) for path in ours)
    # Files that sources include by a relative path.
    missing = []
    for source in (sdist / "crates").rglob("*.rs"):
        for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text(encoding="utf-8")):
            if not (source.parent / name).exists():
                missing.append((source, name))
    assert missing == []


def test_the_sdist_holds_sources_and_nothing_that_was_built_or_measured(sdist):
    found = {str(path.relative_to(sdist)) for path in sdist.rglob("*") if path.is_file()}
    written = {"PKG-INFO", "THIRD-PARTY-LICENSES.txt", "THIRD-PARTY-RUST.html"}
    assert written < found
    if git():
        # Not committed yet counts as a source, and what git ignores does not.
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        sources = set(subprocess.check_output(command, text=True, cwd=REPOSITORY).splitlines())
        assert found - written - sources == set()
    assert not [path for path in found if path.startswith(("bench/", "tests/compat/"))]
    assert os.access(sdist / "scripts" / "step.sh", os.X_OK)


def test_an_sdist_compiles_as_a_clone_does_and_installs_nothing_for_it(sdist):
    """Checks the commands of its build without running them: compiling takes minutes."""
    script = "import sys; sys.path.append('scripts'); import hatch_build, json, pathlib\n"
    script += "print(json.dumps(hatch_build.compile_settings(pathlib.Path.cwd())))"
    told = subprocess.check_output([sys.executable, "-c", script], cwd=sdist, text=True, timeout=60)
    settings = [f"{name}={value}" for name, value in json.loads(told).items()]
    assert any(Path(setting.split("=")[1], "libclang.so").exists() for setting in settings)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    run = subprocess.run(
        ["make", "--dry-run", "compile", *settings], cwd=sdist, env=bare, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert "scripts/rocksdb.py" in run.stdout
    assert "cargo build --release --workspace --locked" in run.stdout
    assert "pip install" not in run.stdout and "-m venv" not in run.stdout


def test_pip_learns_the_same_of_the_sdist_as_of_the_wheel(sdist, wheel, tmp_path):
    script = "import sys; from hatchling.build import prepare_metadata_for_build_wheel as p; print(p(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], cwd=sdist, capture_output=True, text=True, check=True, timeout=60
    )
    told = email.message_from_bytes((tmp_path / done.stdout.strip() / "METADATA").read_bytes())
    assert told.items() == metadata(wheel).items()
