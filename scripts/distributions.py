"""Build what pip installs, into a folder.

    python scripts/distributions.py wheel OUTPUT-FOLDER RELEASE-FOLDER
    python scripts/distributions.py sdist OUTPUT-FOLDER

The wheel is made of what `make build` has compiled. auditwheel reads which versions of the system's libraries the
module and the command need, and names the widest platform tag that the wheel deserves: `manylinux_2_35_x86_64` is for
Linux with glibc 2.35 or newer. A library that manylinux does not allow is an error. On other systems than Linux the tag
is what Python says of the platform. The sdist has the sources; pip compiles the wheel from it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import linked
import sbom
import third_party
from hatch_build import MODULES, SBOM, platform
from linked import ROOT


def main() -> int:
    kind, output, *release = sys.argv[1:]
    if third_party.main() != 0:
        return 1
    made = wheel(Path(output), Path(release[0])) if kind == "wheel" else sdist(Path(output))
    print(f"    {made}: {made.stat().st_size / (1 << 20):.1f} MiB")
    return 0


def wheel(output: Path, release: Path) -> Path:
    sbom.write(ROOT / SBOM)
    tag = manylinux(release) if sys.platform == "linux" else platform()
    # A previous build may have had another version or deserved another tag.
    for old in output.glob("nuthatch-*.whl"):
        old.unlink()
    build("wheel", output, {"NUTHATCH_RELEASE_DIR": str(release.absolute()), "NUTHATCH_PLATFORM": tag})
    return output / f"nuthatch-{linked.version()}-cp310-abi3-{tag}.whl"


def sdist(output: Path) -> Path:
    for old in output.glob("nuthatch-*.tar.gz"):
        old.unlink()
    build("sdist", output, {})
    return output / f"nuthatch-{linked.version()}.tar.gz"


def build(kind: str, output: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(output.absolute())]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"error: hatchling could not build the {kind}:\n{done.stderr}")


def manylinux(release: Path) -> str:
    """auditwheel's verdict on a wheel with these programs, uncompressed and with nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / f"nuthatch-0-cp310-abi3-{platform()}.whl"
        programs = {
            "nuthatch/_core.abi3.so": release / MODULES[0],
            "nuthatch-0.data/scripts/nuthatch": release / "nuthatch",
        }
        with zipfile.ZipFile(probe, "w") as archive:
            for name, program in programs.items():
                archive.write(program, name)
            archive.writestr("nuthatch-0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
            archive.writestr("nuthatch-0.dist-info/RECORD", "".join(f"{name},,\n" for name in programs))
        show = [sys.executable, "-m", "auditwheel", "show", "--json", str(probe)]
        said = subprocess.run(show, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise SystemExit(f"error: auditwheel cannot read what is in {release}:\n{said.stderr}")
    found: str = json.loads(said.stdout)["overall_tag"]
    if not found.startswith("manylinux"):
        raise SystemExit(f"error: these programs need what manylinux does not allow:\n{said.stdout}")
    return found


if __name__ == "__main__":
    sys.exit(main())
