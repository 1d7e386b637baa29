"""Contents of a wheel besides Python sources: compiled module, command, and their components.

Hatchling calls this. `NUTHATCH_RELEASE_DIR` names a folder with what cargo has compiled, as `make wheel` does. Without
it, as for `pip install` of an sdist, `make compile` compiles: the same profile and selection as everywhere.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = ("libnuthatch_core.so", "libnuthatch_core.dylib")
SBOM = "nuthatch.cdx.json"


class BinariesHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise SystemExit("error: an editable install is what `make setup` makes, in .venv; run that")
        root = Path(self.root)
        given = os.environ.get("NUTHATCH_RELEASE_DIR")
        release = Path(given or compiled(root))
        module = next((release / name for name in MODULES if (release / name).exists()), None)
        command = release / "nuthatch"
        if module is None or not command.exists():
            raise SystemExit(f"error: {release} has no module and no command; run `make build`")
        if given:
            build_data["sbom_files"].append(SBOM)
        elif not (root / "PKG-INFO").exists():
            # Neither `make wheel` has written them, nor are these the sources of an sdist, which brings them.
            subprocess.run([sys.executable, root / "scripts" / "third_party.py"], cwd=root, check=True)
        build_data["pure_python"] = False
        # The module calls nothing but the stable interface of Python 3.10 and later.
        build_data["tag"] = f"cp310-abi3-{os.environ.get('NUTHATCH_PLATFORM') or platform()}"
        build_data["force_include"][str(module)] = "nuthatch/_core.abi3.so"
        build_data["shared_scripts"][str(command)] = "nuthatch"


def platform() -> str:
    """This machine, for a wheel that stays on it."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def compiled(root: Path) -> Path:
    """Where `make compile` puts what it compiles, with the Python and the libclang of this build."""
    settings = compile_settings(root)
    subprocess.run(["make", "compile", *(f"{name}={value}" for name, value in settings.items())], cwd=root, check=True)
    return Path(settings["CARGO_TARGET_DIR"]) / "release"


def compile_settings(root: Path) -> dict[str, str]:
    clang = importlib.util.find_spec("clang")
    if clang is None or not clang.submodule_search_locations:
        raise SystemExit("error: the package libclang is not there; build with isolation, or install it")
    return {
        "PYO3_PYTHON": sys.executable,
        # No environment is made, and nothing is copied from one.
        "PACKAGES_STAMP": "",
        "LIBCLANG_STAMP": "",
        "LIBCLANG_PATH": str(Path(next(iter(clang.submodule_search_locations))) / "native"),
        "CARGO_TARGET_DIR": str(Path(os.environ.get("CARGO_TARGET_DIR") or root / "target").absolute()),
    }
