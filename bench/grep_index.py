"""How long does a search of a tree take, with its index and without? `python -m bench.grep_index FOLDER`

Question: are the lines that `grep` finds in a tree those that ripgrep 15 finds in the folder, with the index and without, and what part of
ripgrep's time does each take?
Data: a folder that the caller names, for example the source of Linux from Debian's package `linux-source-6.1`, unpacked; stored in a tree of a
data folder made here.
Seed: --seed, for the patterns: identifiers of the files, whole and in part, with flags, and regular expressions around them.
Command: python -m bench.grep_index FOLDER, with `rg` 15 on the PATH (`cargo install ripgrep --version ^15`) or --rg, and after
`cargo build --release` (`make env`).

`nuthatch serve` searches, over HTTP on this machine, warm; ripgrep is a process for each search, with the files in the page cache. The order of the
three changes from pattern to pattern. Times are of the wall; the medians of their ratios are printed, for all patterns and for those that fewer than
1 % of the files match. The exit status is 1 when any set of lines differs.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUTHATCH = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "nuthatch"
FLAGS = {"-i": "ignore_case", "-w": "word", "-F": "fixed_strings", "-c": "count", "-l": "files_with_matches"}
PORT = 47_391
Pattern = tuple[str, list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.grep_index", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patterns", type=int, default=500)
    parser.add_argument("--rg", default=shutil.which("rg"))
    parser.add_argument("--data", type=Path, help="a data folder to make, or one that an earlier run has made")
    parser.add_argument("--memory-budget", default="64MiB")
    asked = parser.parse_args()
    if asked.rg is None or not NUTHATCH.exists():
        sys.exit(f"needs rg on the PATH and {NUTHATCH}: see the head of {__file__}")
    print(subprocess.run([asked.rg, "--version"], capture_output=True, text=True).stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as temporary:
        data = asked.data or Path(temporary) / "data"
        fill(data, asked.folder, asked.memory_budget)
        serve = [
            NUTHATCH,
            "--data-dir",
            data,
            "--memory-budget",
            asked.memory_budget,
            "serve",
            "--listen",
            f"127.0.0.1:{PORT}",
        ]
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            patterns = made(asked.folder, random.Random(asked.seed), asked.patterns)
            sys.exit(measure(asked.rg, asked.folder, patterns, random.Random(asked.seed)))
        finally:
            server.terminate()
            server.wait()


def fill(data: Path, folder: Path, budget: str) -> None:
    nuthatch = [NUTHATCH, "--data-dir", data, "--memory-budget", budget]
    if not data.exists():
        began, before = time.monotonic(), os.times()
        subprocess.run(
            [*nuthatch, "add", folder, "--tree", "t", "--no-passages", "--hidden", "--no-ignore", "--no-embed"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        print(f"stored in {spent(began, before)}; {size(data) / 1e6:.0f} MB")
    began, before = time.monotonic(), os.times()
    state = subprocess.run([*nuthatch, "index", "--json"], check=True, capture_output=True, text=True).stdout
    index = json.loads(state)
    part = index["index_bytes"] / max(index["indexed_bytes"], 1)
    print(
        f"indexed in {spent(began, before)}; {size(data) / 1e6:.0f} MB; {index}: {part:.1%} of the text before compression"
    )


def spent(began: float, before: os.times_result) -> str:
    now = os.times()
    processor = now.children_user + now.children_system - before.children_user - before.children_system
    return f"{time.monotonic() - began:.1f} s, {processor:.1f} s of processors"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def made(folder: Path, chance: random.Random, count: int) -> list[Pattern]:
    """Patterns with flags, from the words of files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20)
    patterns: list[Pattern] = []
    while len(patterns) < count:
        words = re.findall(rb"[A-Za-z_][A-Za-z0-9_]{4,40}", chance.choice(files).read_bytes())
        if not words:
            continue
        word = chance.choice(words).decode()
        first, second = word[: len(word) // 2], word[len(word) // 2 :]
        pattern = chance.choice(
            [word, word, word, word[1:-1], f"{word}\\(", f"{first}.*{second}", f"^\\s*{word}", f"({word}|{second}_x)",
             f"\\b{first}\\w+", f"{first}[a-z]+", f"{word}\\s*=", f"{second}$"]
        )  # fmt: skip
        flags = [flag for flag in FLAGS if chance.random() < 0.1]
        if "-c" in flags and "-l" in flags:
            flags.remove("-c")
        if "-F" in flags:
            pattern = word
        patterns.append((pattern, flags))
    return patterns


def measure(rg: str, folder: Path, patterns: list[Pattern], chance: random.Random) -> int:
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    different, ratios, seconds = 0, [], {"rg": 0.0, "never": 0.0, "auto": 0.0}
    ways = list(seconds)
    for number, (pattern, flags) in enumerate([patterns[0], *patterns]):
        took, found = {}, {}
        chance.shuffle(ways)
        for way in ways:
            began = time.monotonic()
            found[way] = of_ripgrep(rg, folder, pattern, flags) if way == "rg" else of_tree(pattern, flags, way)
            took[way] = time.monotonic() - began
        if number == 0:
            continue  # warms everything
        lines = {way: sorted(output.splitlines()) for way, output in found.items()}
        if not lines["rg"] == lines["never"] == lines["auto"]:
            different += 1
            print(f"differs: {pattern!r} {flags}: {[(way, len(of)) for way, of in lines.items()]}")
        paths = {line.partition(b":")[0] for line in lines["rg"]}
        ratios.append((len(paths) / files, {way: took[way] for way in took}))
        for way, second in took.items():
            seconds[way] += second
    print(
        f"{len(patterns)} patterns, {different} differ; together {', '.join(f'{way} {of:.1f} s' for way, of in seconds.items())}"
    )
    show("all", [took for _, took in ratios])
    show("under 1 % of files", [took for share, took in ratios if share < 0.01])
    return int(different > 0)


def show(what: str, took: list[dict[str, float]]) -> None:
    def median(of: str, by: str) -> str:
        ratios = sorted(one[of] / one[by] for one in took)
        return f"{statistics.median(ratios):.3f} (nine tenths under {ratios[len(ratios) * 9 // 10]:.3f})"

    if took:
        print(f"{what}: {len(took)}; medians: scan / rg {median('never', 'rg')}, index / rg {median('auto', 'rg')}, "
              f"index / scan {median('auto', 'never')}, rg {statistics.median(one['rg'] for one in took):.3f} s")  # fmt: skip


def of_ripgrep(rg: str, folder: Path, pattern: str, flags: list[str]) -> bytes:
    always = ["--no-config", "--hidden", "--no-ignore", "--color=never", "--no-heading", "--with-filename"]
    ran = subprocess.run([rg, *always, *flags, "-e", pattern, "."], cwd=folder, capture_output=True)
    if ran.returncode > 1:
        sys.exit(ran.stderr.decode())
    return b"".join(line.removeprefix(b"./") for line in ran.stdout.splitlines(keepends=True))


def of_tree(pattern: str, flags: list[str], index: str) -> bytes:
    body: dict[str, object] = {"patterns": [pattern], "index": index}
    for flag in flags:
        if flag in ("-c", "-l"):
            body["output"] = FLAGS[flag]
        else:
            body[FLAGS[flag]] = True
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/v1/trees/t/grep", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    for _ in range(100):
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.read()
        except ConnectionRefusedError:
            time.sleep(0.1)
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    sys.exit("the server does not answer")


if __name__ == "__main__":
    main()
