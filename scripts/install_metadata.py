"""Write the package's metadata into the environment that runs this script.

    python scripts/install_metadata.py

The environment uses the package from its sources, through a `.pth` file: a packaging tool would compile the engine a
second time. This script records what such a tool records, so that `importlib.metadata.version("nuthatch")` works and
pip lists the package.
"""

import sysconfig
from pathlib import Path

from pyproject_metadata import StandardMetadata

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())
    metadata = StandardMetadata.from_pyproject(project, project_dir=ROOT / "python")
    # maturin, the build backend, takes the version from the same place.
    metadata.version = version
    metadata.dynamic = []

    site = Path(sysconfig.get_path("purelib"))
    for old in site.glob("nuthatch-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    folder = site / f"nuthatch-{version}.dist-info"
    folder.mkdir()
    source = site / "nuthatch-source.pth"
    source.write_text(f"{ROOT / 'python' / 'src'}\n")
    (folder / "METADATA").write_text(str(metadata.as_rfc822()))
    (folder / "INSTALLER").write_text("make\n")
    installed = ["METADATA", "INSTALLER", "RECORD"]
    lines = [f"{folder.name}/{name},," for name in installed] + [f"{source.name},,"]
    (folder / "RECORD").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
