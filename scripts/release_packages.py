"""The packages of a release that are not Python's, packed and not published: crates, npm client, chart and image."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from linked import ROOT

#: Members of the workspace that crates.io does not get: tools of ours, and what a wheel brings.
NOT_CRATES = ("nuthatch-fuzz", "nuthatch-python")
CLIENT = ROOT / "clients" / "typescript"
CHART = ROOT / "deploy" / "helm" / "nuthatch"


def crates(output: Path, version: str) -> Iterator[str]:
    """cargo packs a copy of the committed files: `publish = false` guards them against an accident until a release."""
    with tempfile.TemporaryDirectory() as folder:
        committed = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
        with tarfile.open(fileobj=io.BytesIO(committed)) as archive:
            archive.extractall(folder, filter="data")
        manifest = Path(folder) / "Cargo.toml"
        manifest.write_text(re.sub(r"(?m)^publish = false$", "publish = true", manifest.read_text(encoding="utf-8")))
        command = ["cargo", "package", "--workspace", "--no-verify", "--locked", "--allow-dirty"]
        command += [word for name in NOT_CRATES for word in ("--exclude", name)]
        target = Path(folder) / "target"
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "CARGO_TARGET_DIR": str(target)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            yield f"cargo package failed: {done.stderr.strip()[-600:]}"
            return
        packed = sorted((target / "package").glob("*.crate"))
        for path in packed:
            shutil.copyfile(path, output / path.name)
    for path in packed:
        if not path.name.endswith(f"-{version}.crate"):
            yield f"{path.name} is of another version than {version}"
    print(f"    {len(packed)} crates")


def npm(output: Path) -> Iterator[str]:
    if shutil.which("npm") is None:
        print("    SKIPPED: npm is not installed; the client was not packed")
        return
    for command in (
        ["npm", "ci", "--no-audit", "--no-fund", "--silent"],
        ["npm", "run", "build", "--silent"],
        ["npm", "pack", "--silent", "--pack-destination", str(output)],
    ):
        done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            yield f"{' '.join(command[:3])} failed: {(done.stdout + done.stderr).strip()[-400:]}"
            return
    (packed,) = output.glob("*.tgz")
    with tarfile.open(packed) as archive:
        names = archive.getnames()
    for needed in ("package/dist/src/index.js", "package/dist/src/index.d.ts", "package/README.md"):
        if needed not in names:
            yield f"{packed.name} has no {needed}"
    print(f"    {packed.name}: {len(names)} files")


def deployment(output: Path) -> Iterator[str]:
    if shutil.which("helm") is None:
        print("    SKIPPED: helm is not installed; the chart was not packed (python/tests/test_deploy.py looks at it)")
    else:
        command = ["helm", "package", str(CHART), "--destination", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            yield f"helm package failed: {done.stderr.strip()[-400:]}"
    said = None
    if shutil.which("docker") is not None:
        said = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    if said is None or said.returncode != 0:
        print("    SKIPPED: no docker that answers; the image was not built")
        return
    tag = ["docker", "build", "-f", "deploy/docker/Dockerfile", "-t", "nuthatch:rehearsal", "."]
    done = subprocess.run(tag, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"the image does not build: {done.stderr.strip()[-400:]}"


def destinations(output: Path, version: str) -> Iterator[str]:
    """Each artifact and its destination, in the order of publication."""
    yield f"the tag v{version}"
    crates = sorted(path.name for path in output.glob("*.crate"))
    yield f"crates.io: {len(crates)} crates, each after those that it needs (cargo publish --workspace)"
    for path in [*sorted(output.glob("*.whl")), *sorted(output.glob("nuthatch-*.tar.gz"))]:
        yield f"PyPI: {path.name}"
    for path in sorted(output.glob("*.tgz")):
        kind = "npm" if "client" in path.name else "the chart's repository"
        yield f"{kind}: {path.name}"
    yield f"the image's registry: nuthatch:{version}"
    yield "beside the tag: SHA256SUMS, its signature, and every file that it names"
