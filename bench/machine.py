"""The machine that produced the figures, in words."""

import platform
from pathlib import Path

#: Sets of vector instructions, the widest first: the name for a reader, and the flag of `/proc/cpuinfo`.
VECTOR_SETS = (("AVX-512 VNNI", "avx512_vnni"), ("AVX-512", "avx512f"), ("AVX2", "avx2"), ("NEON", "asimd"))


def machine() -> str:
    size = int(Path("/proc/meminfo").read_text().split()[1]) / (1 << 20)
    return (
        f"{cores()} virtual cores ({described('model name')}, {vector_set()}), {size:.0f} GiB, "
        f"Linux {platform.release().split('-')[0]}."
    )


def vector_set() -> str:
    """The widest vector instructions of this processor: figures of two machines that differ here cannot be compared."""
    flags = (described("flags") or described("Features")).split()
    return next((name for name, flag in VECTOR_SETS if flag in flags), "no vector instructions known here")


def described(name: str) -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name), "")


def cores() -> int:
    return Path("/proc/cpuinfo").read_text().count("processor\t")
