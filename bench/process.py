"""The CPU and RAM use of a process, as Linux counts it: this process, or a named one."""

import ctypes
import signal
from pathlib import Path

LIBC = ctypes.CDLL(None)
LIBC.clock_getcpuclockid.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_int)]


def cpu_clock(pid: int | None = None) -> int:
    """The clock of its CPU time, for `time.clock_gettime_ns`: what `/proc/PID/stat` counts in hundredths of a second."""
    clock = ctypes.c_int()
    failed = LIBC.clock_getcpuclockid(pid or 0, ctypes.byref(clock))
    if failed:
        raise OSError(failed, "clock_getcpuclockid", str(pid))
    return clock.value


def resident_bytes(pid: int | None = None) -> tuple[int, int]:
    """Anonymous and file-mapped."""
    return status_bytes(pid, "RssAnon"), status_bytes(pid, "RssFile")


def peak_bytes(pid: int | None = None) -> int:
    """The most that was resident."""
    return status_bytes(pid, "VmHWM")


def die_with_parent() -> None:
    """To be called in a child before it becomes its program: it must not outlive a parent that the memory limit kills."""
    set_parent_death_signal = 1
    LIBC.prctl(set_parent_death_signal, signal.SIGKILL)


def status_bytes(pid: int | None, field: str) -> int:
    lines = Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))
