"""What the figures were measured on, in words."""

import platform
from pathlib import Path


def machine() -> str:
    model = next(
        (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), ":"
    )
    size = int(Path("/proc/meminfo").read_text().split()[1]) / (1 << 20)
    return f"{cores()} virtual cores ({model.partition(':')[2].strip()}), {size:.0f} GiB, Linux {platform.release().split('-')[0]}."


def cores() -> int:
    return Path("/proc/cpuinfo").read_text().count("processor\t")
