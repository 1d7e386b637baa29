"""Rehearse a release: build everything that would be published, check that it belongs together, and publish nothing.

    python scripts/release.py OUTPUT-FOLDER RELEASE-FOLDER ENVIRONMENT-FOLDER

The output folder gets the wheel, the sdist, the bill of materials, the licences of what is linked, the packed npm
client, crates and chart, and `SHA256SUMS` with its signature. What stands in the way of a release is listed at the end,
and then the exit status is 1. A step that lacks a tool says `SKIPPED` and why.

`NUTHATCH_SIGNING_KEY` names an OpenSSH key. Without one the rehearsal signs with a key that it throws away, to show
that a signature of these files can be checked, and keeps no signature.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import distributions
import licences
import linked
import release_checks
import release_packages
import third_party
from linked import ROOT

SUMS = "SHA256SUMS"
#: Binds a signature to what it is for (`ssh-keygen -Y`).
NAMESPACE = "nuthatch-release"


def main() -> int:
    output, release, environment = (Path(argument).absolute() for argument in sys.argv[1:4])
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    version = linked.version()
    steps: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("The state of the repository", lambda: release_checks.repository(version)),
        ("Versions", lambda: release_checks.versions(version)),
        ("The changelog", lambda: release_checks.changelog(version)),
        ("Licences", lambda: refusals(licences.main() or third_party.main(), "a licence is refused")),
        ("The wheel and the sdist", lambda: built(output, release)),
        ("Their metadata, and the bill of materials", lambda: release_checks.distributions(output, environment)),
        ("Types of the Python module", lambda: release_checks.types(environment)),
        ("Changes of the Python module since the last release", lambda: release_checks.surface(version, environment)),
        ("Crates", lambda: release_packages.crates(output, version)),
        ("The npm client", lambda: release_packages.npm(output)),
        ("The chart and the image", lambda: release_packages.deployment(output)),
        ("Checksums and their signature", lambda: signed(output)),
    ]
    problems = []
    for title, step in steps:
        print(f"==> {title}", flush=True)
        for problem in step():
            print(f"    NOT YET: {problem}", flush=True)
            problems.append(f"{title}: {problem}")
    print(f"\nVersion {version} would be published as:")
    for line in release_packages.destinations(output, version):
        print(f"  {line}")
    print("\nNothing stands in the way." if not problems else "\nNot yet:")
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems else 0


def refusals(status: int, problem: str) -> Iterator[str]:
    if status != 0:
        yield problem


def built(output: Path, release: Path) -> Iterator[str]:
    for made in (distributions.wheel(output, release), distributions.sdist(output)):
        print(f"    {made.name}: {made.stat().st_size / (1 << 20):.1f} MiB")
    for part in (distributions.SBOM, third_party.TEXTS.name, third_party.RUST.name):
        shutil.copyfile(ROOT / part, output / part)
    yield from ()


def signed(output: Path) -> Iterator[str]:
    files = sorted(path for path in output.iterdir() if path.name not in (SUMS, f"{SUMS}.sig"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    sums = output / SUMS
    sums.write_text("".join(lines), encoding="utf-8")
    print(f"    {SUMS}: {len(files)} files")
    if shutil.which("ssh-keygen") is None:
        print("    SKIPPED: ssh-keygen is not installed; nothing was signed")
        return
    own = os.environ.get("NUTHATCH_SIGNING_KEY")
    with tempfile.TemporaryDirectory() as folder:
        key = Path(own) if own else Path(folder) / "key"
        if own is None:
            keygen("-q", "-t", "ed25519", "-N", "", "-C", "thrown away", "-f", str(key))
        signature = output / f"{SUMS}.sig"
        signature.unlink(missing_ok=True)
        keygen("-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums))
        signers = Path(folder) / "signers"
        public = keygen("-y", "-f", str(key)).stdout.strip()
        signers.write_text(f'release namespaces="{NAMESPACE}" {public}\n', encoding="utf-8")
        if not verifies(signers, signature, sums.read_text(encoding="utf-8")):
            yield f"{SUMS}.sig does not verify with the key that made it"
        if verifies(signers, signature, sums.read_text(encoding="utf-8").replace("a", "b")):
            yield f"{SUMS}.sig verifies other sums, too"
        if own is None:
            signature.unlink()
            print("    signed and verified with a key that is thrown away; for a release set NUTHATCH_SIGNING_KEY")


def keygen(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ssh-keygen", *arguments], capture_output=True, text=True, check=True)


def verifies(signers: Path, signature: Path, text: str) -> bool:
    command = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "release", "-n", NAMESPACE, "-s", signature]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
