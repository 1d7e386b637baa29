"""Compile RocksDB from the sources of the `librocksdb-sys` crate, seven large files in place of 343 small ones.

    rocksdb.py TARGET-FOLDER

g++ spends most of its time on RocksDB's headers, which all of its files share. This script compiles dozens of
neighbours together (a "unity build"), leaves out what nothing reaches, and optimises less what a store seldom runs.
The remaining flags are those of the crate's own build script. `ROCKSDB_LIB_DIR` tells that script to link the result.
Without it, the crate compiles the same sources by itself, in three times the time.

The library is compiled again when the crate's version, the compiler, the flags or this file change.
"""

import concurrent.futures
import hashlib
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

# Files our calls never reach. Linkers name missing symbols. Functions of db/c.cc name some of these
# files; no program of ours contains those functions. Linkers discard them (`--gc-sections`, which rustc passes), and
# do not look for what they name.
UNUSED = (
    "db/db_impl/db_impl_follower.cc",
    "env/fs_on_demand.cc",
    "table/sst_file_reader.cc",
    "test_util/transaction_test_util.cc",
    "tools/dump/",
    "utilities/agg_merge/",
    "utilities/backup/",
    "utilities/blob_db/",
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
    "utilities/transactions/lock/lock_manager.cc",
    "utilities/transactions/lock/point/point_lock_manager.cc",
    "utilities/transactions/pessimistic_",
    "utilities/transactions/transaction_db_mutex_impl.cc",
    "utilities/transactions/write_",
    "utilities/types_util.cc",
)

# Code run to open or describe a store, once per flush or compaction, or never: the second level of
# optimisation costs a third of the time.
COLD = (
    "cache/compressed_secondary_cache.cc",
    "cache/secondary_cache",
    "cache/tiered_secondary_cache.cc",
    "db/blob/",
    "db/compaction/compaction_picker",
    "db/compaction/compaction_service_job.cc",
    "db/convenience.cc",
    "db/db_filesnapshot.cc",
    "db/db_impl/compacted_db_impl.cc",
    "db/db_impl/db_impl_compaction_flush.cc",
    "db/db_impl/db_impl_debug.cc",
    "db/db_impl/db_impl_experimental.cc",
    "db/db_impl/db_impl_files.cc",
    "db/db_impl/db_impl_open.cc",
    "db/db_impl/db_impl_readonly.cc",
    "db/db_impl/db_impl_secondary.cc",
    "db/db_info_dumper.cc",
    "db/error_handler.cc",
    "db/event_helpers.cc",
    "db/experimental.cc",
    "db/external_sst_file_ingestion_job.cc",
    "db/flush_job.cc",
    "db/forward_iterator.cc",
    "db/import_column_family_job.cc",
    "db/internal_stats.cc",
    "db/multi_scan.cc",
    "db/periodic_task_scheduler.cc",
    "db/repair.cc",
    "db/transaction_log_impl.cc",
    "db/version_edit",
    "db/version_util.cc",
    "db/wal_",
    "db/wide/",
    "db/write_stall_stats.cc",
    "env/",
    "file/delete_scheduler.cc",
    "file/file_util.cc",
    "file/filename.cc",
    "file/sst_file_manager_impl.cc",
    "logging/",
    "memtable/hash_",
    "memtable/vectorrep.cc",
    "memtable/wbwi_memtable.cc",
    "monitoring/in_memory_stats_history.cc",
    "monitoring/perf_context.cc",
    "monitoring/persistent_stats_history.cc",
    "options/",
    "port/stack_trace.cc",
    "table/adaptive/",
    "table/block_based/block_based_table_factory.cc",
    "table/cuckoo/",
    "table/external_table.cc",
    "table/plain/",
    "table/sst_file_",
    "table/table_factory.cc",
    "table/table_properties.cc",
    "test_util/",
    "trace_replay/",
    "util/auto_tune_compressor.cc",
    "util/compaction_job_stats_impl.cc",
    "util/file_checksum_helper.cc",
    "util/io_dispatcher_imp.cc",
    "util/ribbon_config.cc",
    "util/simple_mixed_compressor.cc",
    "util/string_util.cc",
    "utilities/",
)

# How many bytes of sources one process compiles together, headers not counted. Fewer would parse the headers more
# often; more would leave a processor idle at the end.
UNIT_BYTES = 1_000_000

# The C interface stands first in the library. Of an inline function that several units hold, a linker keeps the copy
# of the first: this way one of -O2.
FIRST = "db/c.cc"

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
    """The build script's flags for this system, limited to what every x86-64 processor has."""
    if platform.system() == "Linux":
        return FLAGS + [f"-D{name}" for name in DEFINES + DEFINES_LINUX]
    arm = FLAGS_ARM_MACOS if platform.machine() == "arm64" else []
    return FLAGS + arm + [f"-D{name}" for name in [*DEFINES, "OS_MACOSX"]]


def units(sys_crate: Path, target: Path) -> list[tuple[Path, str]]:
    """Files that include a run of RocksDB's files each, and how far to optimise them."""
    listed = (sys_crate / "rocksdb_lib_sources.txt").read_text().split()
    # The crate brings its own build_version.cc, outside RocksDB's folder.
    kept = [s for s in listed if s not in (FIRST, "util/build_version.cc") and not s.startswith(UNUSED)]
    hot = [FIRST, *(source for source in kept if not source.startswith(COLD))]
    cold = ["build_version.cc", *(source for source in kept if source.startswith(COLD))]
    made = []
    for level, group in (("-O2", hot), ("-O1", cold)):
        sizes = [(sys_crate / "rocksdb" / s).stat().st_size if s != "build_version.cc" else 0 for s in group]
        count = max(1, round(sum(sizes) / UNIT_BYTES))
        runs: list[list[str]] = [[] for _ in range(count)]
        for source, size, end in zip(group, sizes, itertools.accumulate(sizes), strict=True):
            # By the middle of the file, so that the runs have about the same length.
            runs[int((end - size / 2) * count / (sum(sizes) + 1))].append(source)
        for number, run in enumerate(runs):
            unit = target / f"unit{level}_{number:03}.cc"
            unit.write_text("".join(f'#include "{source}"\n' for source in run))
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
