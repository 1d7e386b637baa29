"""Compile RocksDB from the sources of the `librocksdb-sys` crate, a dozen large files in place of 343 small ones.

    rocksdb.py TARGET-FOLDER

Nearly all of the time that g++ needs for one of RocksDB's files goes into the headers, which all of them share. Files of
one folder are therefore compiled together ("unity build"), and what a database never calls is left out. The flags are
those of the crate's own build script, which links the result when `ROCKSDB_LIB_DIR` names its folder. Without this script
the crate compiles RocksDB by itself: slower, the same code.

The library is rebuilt when the crate's version, the compiler, or this file changes.
"""

import concurrent.futures
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

# What nothing that the C interface offers us leads to. The linker would name a symbol that is missing.
UNUSED = (
    "test_util/transaction_test_util.cc",
    "tools/dump/",
    "utilities/agg_merge/",
    "utilities/cache_dump_load",
    "utilities/cassandra/",
    "utilities/convenience/",
    "utilities/debug.cc",
    "utilities/env_mirror.cc",
    "utilities/fault_injection_",
    "utilities/leveldb_options/",
    "utilities/option_change_migration/",
    "utilities/persistent_cache/",
    "utilities/secondary_index/",
    "utilities/simulator_cache/",
    "utilities/sorted_run_builder/",
)

# How many of RocksDB's files one process compiles together. Twice as many save little more and leave a processor idle at
# the end.
UNIT_FILES = 22

FLAGS = (
    "-O2 -ffunction-sections -fdata-sections -fPIC -std=c++20 -w -include cstdint"
    " -Wno-invalid-offsetof -fno-strict-aliasing"
).split()
DEFINES = "NDEBUG HAVE_ALIGNED_NEW HAVE_UINT128_EXTENSION LZ4=1 ZSTD=1 ROCKSDB_PLATFORM_POSIX ROCKSDB_LIB_IO_POSIX".split()
DEFINES_LINUX = (
    "OS_LINUX ROCKSDB_SCHED_GETCPU_PRESENT ROCKSDB_AUXV_GETAUXVAL_PRESENT"
    " ROCKSDB_FALLOCATE_PRESENT ROCKSDB_RANGESYNC_PRESENT"
).split()


def main() -> None:
    target = Path(sys.argv[1]).resolve() / "rocksdb"
    crates = crate_folders("librocksdb-sys", "lz4-sys", "zstd-sys")
    sys_crate = crates["librocksdb-sys"]
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        sys.exit("error: no C++ compiler; install g++ (Debian: apt-get install g++) or set CXX")
    flags = [*FLAGS, *(f"-D{name}" for name in defines())]
    flags += [f"-I{sys_crate}", f"-I{sys_crate}/rocksdb", f"-I{sys_crate}/rocksdb/include"]
    flags += [f"-I{crates['lz4-sys']}/liblz4/lib", f"-I{crates['zstd-sys']}/zstd/lib"]

    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    stamp = hashlib.sha256("\n".join([version, *flags, Path(__file__).read_text()]).encode()).hexdigest()
    if (target / "librocksdb.a").exists() and (target / "stamp").exists() and (target / "stamp").read_text() == stamp:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)

    objects = compile_all(compiler, flags, units(sys_crate, target))
    library = target / "librocksdb.a"
    subprocess.run(["ar", "crs", f"{library}.new", *map(str, objects)], check=True)
    os.replace(f"{library}.new", library)
    for made in [*objects, *target.glob("*.cc")]:
        made.unlink()
    (target / "stamp").write_text(stamp)


def crate_folders(*names: str) -> dict[str, Path]:
    """Where cargo keeps the sources of these crates, in the versions of Cargo.lock."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["packages"]
    return {p["name"]: Path(p["manifest_path"]).parent for p in found if p["name"] in names}


def defines() -> list[str]:
    return DEFINES + (DEFINES_LINUX if platform.system() == "Linux" else ["OS_MACOSX"])


def units(sys_crate: Path, target: Path) -> list[Path]:
    """Files that include a run of RocksDB's files each, neighbours together."""
    listed = (sys_crate / "rocksdb_lib_sources.txt").read_text().split()
    # The crate brings its own build_version.cc, beside RocksDB's folder.
    sources = ["build_version.cc"] + [s for s in listed if s != "util/build_version.cc" and not s.startswith(UNUSED)]
    made = []
    for start in range(0, len(sources), UNIT_FILES):
        unit = target / f"unit_{start:03}.cc"
        unit.write_text("".join(f'#include "{source}"\n' for source in sources[start : start + UNIT_FILES]))
        made.append(unit)
    return made


def compile_all(compiler: str, flags: list[str], made: list[Path]) -> list[Path]:
    objects = [unit.with_suffix(".o") for unit in made]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CARGO_BUILD_JOBS", os.cpu_count() or 1))) as pool:

        def compile_one(unit: Path) -> int:
            return subprocess.run([compiler, *flags, "-c", str(unit), "-o", str(unit.with_suffix(".o"))]).returncode

        if any(pool.map(compile_one, made)):
            sys.exit("error: RocksDB does not compile; the compiler's messages stand above")
    return objects


if __name__ == "__main__":
    main()
