"""The programs, and the folders that they work on."""

import os
import shutil
from pathlib import Path

from bench import paths

PEBBLE = "2.1.7"
VERSIONS = {"nuthatch": "workspace", "pebble": PEBBLE, "rocksdb": "11.8.1", "truth": "workspace"}
TITLES = {"nuthatch": "ours", "pebble": "Pebble", "rocksdb": "RocksDB", "truth": "our store of record alone"}
COMPARED = ("nuthatch", "pebble", "rocksdb")
"""`truth` is what the engine stands on; it says where time goes, and is measured when asked for."""

WORK = paths.CACHE / "kv"
TABLES = {".sst"}
"""Files that are written once: a copy of a folder shares them."""


def program(engine: str) -> Path:
    if engine == "pebble":
        return WORK / "pebble-ycsb"
    target = Path(os.environ.get("CARGO_TARGET_DIR", paths.REPOSITORY / "target")) / "release" / "examples"
    return target / {"nuthatch": "kv", "rocksdb": "kv_rocksdb", "truth": "kv_store"}[engine]


def base(engine: str) -> Path:
    """The loaded folder that every cell begins from."""
    return WORK / "base" / engine


def fresh(engine: str) -> Path:
    """A copy of the loaded folder for one cell: what a cell writes, the next one does not find."""
    source, target = base(engine), WORK / "cell"
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        elif path.suffix in TABLES:
            copy.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, copy)
        elif path.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    return target
