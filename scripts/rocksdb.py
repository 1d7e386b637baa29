"""Compile RocksDB from the sources of the `librocksdb-sys` crate, fifteen large files in place of 343 small ones.

    rocksdb.py TARGET-FOLDER

g++ spends most of its time on RocksDB's headers, which all of its files share. This script compiles some twenty
neighbours together (a "unity build"), leaves out what nothing reaches, and optimises less what a store seldom runs.
The remaining flags are those of the crate's own build script. `ROCKSDB_LIB_DIR` tells that script to link the result.
Without it, the crate compiles the same sources by itself, in three times the time.

The library is compiled again when the crate's version, the compiler, the flags or this file change.
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

# What runs when a store is opened or described, or never: the second level of optimisation costs a third of the time.
COLD = (
    "db/blob/",
    "db/wide/",
    "logging/",
    "options/",
    "table/adaptive/",
    "table/cuckoo/",
    "table/plain/",
    "test_util/",
    "trace_replay/",
    "utilities/",
)

# How many files one process compiles together. More would leave a processor idle at the end.
UNIT_FILES = 22

FLAGS = ["-ffunction-sections", "-fdata-sections", "-fPIC", "-std=c++20", "-w", "-include", "cstdint"]
FLAGS_ARM_MACOS = ["-march=armv8-a+crc+aes+crypto"]
DEFINES = [
    "NDEBUG",
    "HAVE_ALIGNED_NEW",
    "HAVE_UINT128_EXTENSION",
    "LZ4=1",
    "ZSTD=1",
    "ROCKSDB_PLATFORM_POSIX",
    "ROCKSDB_LIB_IO_POSIX",
]
DEFINES_LINUX = [
    "OS_LINUX",
    "ROCKSDB_SCHED_GETCPU_PRESENT",
    "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "ROCKSDB_FALLOCATE_PRESENT",
    "ROCKSDB_RANGESYNC_PRESENT",
]


def main() -> None:
    target = Path(sys.argv[1]).resolve() / "rocksdb"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target.parent)}
    crates = crate_folders("librocksdb-sys", "lz4-sys", "zstd-sys")
    sys_crate = crates["librocksdb-sys"]
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        sys.exit("error: no C++ compiler; install g++ (Debian: apt-get install g++) or set CXX")
    flags = platform_flags()
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
    # cargo does not look at the library, of which the crate's own library holds a copy.
    subprocess.run(
        ["cargo", "clean", "--release", "--quiet", "--package", "librocksdb-sys"], check=True, env=environment
    )
    (target / "stamp").write_text(stamp)


def crate_folders(*names: str) -> dict[str, Path]:
    """Where cargo keeps the sources of these crates, in the versions of Cargo.lock."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["packages"]
    return {p["name"]: Path(p["manifest_path"]).parent for p in found if p["name"] in names}


def platform_flags() -> list[str]:
    """What the crate's build script passes for this system, without asking more of an x86-64 than every one has."""
    if platform.system() == "Linux":
        return FLAGS + [f"-D{name}" for name in DEFINES + DEFINES_LINUX]
    arm = FLAGS_ARM_MACOS if platform.machine() == "arm64" else []
    return FLAGS + arm + [f"-D{name}" for name in [*DEFINES, "OS_MACOSX"]]


def units(sys_crate: Path, target: Path) -> list[tuple[Path, str]]:
    """Files that include a run of RocksDB's files each, and how far to optimise them."""
    listed = (sys_crate / "rocksdb_lib_sources.txt").read_text().split()
    # The crate brings its own build_version.cc, outside RocksDB's folder.
    sources = ["build_version.cc"] + [s for s in listed if s != "util/build_version.cc" and not s.startswith(UNUSED)]
    made = []
    for level, group in (
        ("-O2", [source for source in sources if not source.startswith(COLD)]),
        ("-O1", [source for source in sources if source.startswith(COLD)]),
    ):
        for start in range(0, len(group), UNIT_FILES):
            unit = target / f"unit{level}_{start:03}.cc"
            unit.write_text("".join(f'#include "{source}"\n' for source in group[start : start + UNIT_FILES]))
            made.append((unit, level))
    return made


def compile_all(compiler: str, flags: list[str], made: list[tuple[Path, str]]) -> list[Path]:
    def compile_one(job: tuple[Path, str]) -> int:
        unit, level = job
        command = [compiler, level, *flags, "-c", str(unit), "-o", str(unit.with_suffix(".o"))]
        return subprocess.run(command).returncode

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CARGO_BUILD_JOBS", os.cpu_count() or 1))) as pool:
        if any(list(pool.map(compile_one, made))):
            sys.exit("error: RocksDB does not compile; the compiler's messages stand above")
    return [unit.with_suffix(".o") for unit, _ in made]


if __name__ == "__main__":
    main()
