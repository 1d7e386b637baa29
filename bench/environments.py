"""One virtual environment for each peer: `python -m bench.environments [PEER...]` makes those that are missing."""

import subprocess
import sys
from pathlib import Path

from bench import ours, paths, peers


def python(peer: str) -> Path:
    # The engine's own module lies in the environment that `make build` filled.
    folder = paths.REPOSITORY / ".venv" if peer == "nuthatch" else paths.ENVIRONMENTS / peer
    return folder / "bin" / "python"


def command(peer: str, config: str, what: str, data: str) -> list[str]:
    """The command that measures one configuration on one set, in the peer's own environment."""
    if peer == "nuthatch" and config in ours.CONFIGS:
        return [sys.executable, "-m", "bench.ours", what, config, data]
    return [str(python(peer)), "-m", "bench.measure", what, peer, config, data]


def make(peer: str) -> bool:
    """Whether it could be installed."""
    folder = paths.ENVIRONMENTS / peer
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    wanted = Path(__file__).parent / "peers" / peer / "requirements.txt"
    pip = [str(python(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    return subprocess.run([*pip, "-r", str(wanted)]).returncode == 0 and all(map(install, programs(peer)))


def programs(peer: str) -> list[list[str]]:
    """The `cargo install` arguments of each program of the peer; they lie next to its Python."""
    wanted = Path(__file__).parent / "peers" / peer / "programs.txt"
    lines = wanted.read_text().splitlines() if wanted.exists() else []
    root = ["--root", str(paths.ENVIRONMENTS / peer)]
    return [[*line.split(), *root] for line in lines if line and not line.startswith("#")]


def install(program: list[str]) -> bool:
    return subprocess.run(["cargo", "install", "--quiet", "--locked", *program]).returncode == 0


if __name__ == "__main__":
    for name in sys.argv[1:] or peers.NAMES:
        if name != "nuthatch" and not python(name).exists():
            print(f"{name}: {'installed' if make(name) else 'could not be installed'}", flush=True)
