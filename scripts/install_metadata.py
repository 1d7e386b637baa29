"""Write the package's metadata into the environment that runs this script.

    python scripts/install_metadata.py

The environment uses the package from its sources, through a `.pth` file: a packaging tool would compile the engine a
second time. This script records what such a tool records, so that `importlib.metadata.version("nuthatch")` works and
pip lists the package.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from hatchling.build import prepare_metadata_for_build_wheel

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    site = Path(sysconfig.get_path("purelib"))
    for old in site.glob("nuthatch-*.dist-info"):
        shutil.rmtree(old)
    # The build backend reads the project of the current folder.
    os.chdir(ROOT)
    folder = site / prepare_metadata_for_build_wheel(str(site))
    source = site / "nuthatch-source.pth"
    source.write_text(f"{ROOT / 'python' / 'src'}\n")
    (folder / "INSTALLER").write_text("make\n")
    installed = ["METADATA", "INSTALLER", "RECORD"]
    lines = [f"{folder.name}/{name},," for name in installed] + [f"{source.name},,"]
    (folder / "RECORD").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
