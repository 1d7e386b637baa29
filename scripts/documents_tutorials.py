"""Does a tutorial work as it is written? Its blocks are typed one after another into one shell, in an empty folder.

- A block below ``<!-- file: NAME -->`` is saved under that name, which the text above it must have, too.
- In a ``console`` block, lines with ``$`` are commands, which must succeed. The lines below a command are what it
  prints: ``…`` stands for anything within a line, and a line of it alone for any number of lines. Without lines, the
  output is not compared.
- A ``text`` block is shown and not typed. Any other block says why: ``<!-- not run: why -->``.
- ``<!-- needs: PROGRAM -->`` at the top: where that program is missing, the tutorial is left out, and this is said.

Ports (77xx) are replaced by free ones, so that a server of somebody else is not in the way.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS = re.compile(r"^<!-- needs: (\S+) -->$", re.MULTILINE)
PORT = re.compile(r"\b77\d\d\b")
MARK = "\x1e"
SECONDS_MAX = 120


class MissingProgram(Exception):
    """A program that the tutorial needs is not there."""


@dataclass
class Command:
    typed: str
    printed: str


@dataclass
class File:
    name: str
    text: str


def steps(text: str) -> list[Command | File]:
    """The steps of a reader, in order."""
    found: list[Command | File] = []
    for block in BLOCK.finditer(text):
        remark, language, code = (part or "" for part in block.groups())
        if remark.startswith("file: "):
            name = remark.removeprefix("file: ")
            if f"`{name}`" not in text[: block.start()]:
                raise ValueError(f"a reader is not told to save a file as `{name}`")
            found.append(File(name, code))
        elif language == "console":
            found += commands(code)
        elif language != "text" and not remark.startswith("not run: "):
            raise ValueError(f"a block of `{language}` is neither a file nor marked as not run:\n{code}")
    return found


def commands(code: str) -> list[Command]:
    found: list[Command] = []
    continued = False
    for line in code.splitlines():
        if continued:
            found[-1].typed += f"\n{line}"
        elif line.startswith("$ "):
            found.append(Command(line[2:], ""))
        elif not found:
            raise ValueError(f"a block of `console` begins without a command:\n{code}")
        else:
            found[-1].printed += f"{line}\n"
        continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def run(document: Path) -> str:
    """The problem with a tutorial; nothing if it works."""
    text = with_free_ports(document.read_text(encoding="utf-8"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUTHATCH_")}
    places = [str(Path(sys.executable).parent), str(Path(os.environ.get("CARGO_TARGET_DIR", "target"), "release"))]
    environment |= {"PATH": os.pathsep.join([*places, os.environ["PATH"]]), "COLUMNS": "100"}
    for program in NEEDS.findall(text):
        if shutil.which(program, path=environment["PATH"]) is None:
            raise MissingProgram(program)
    todo = steps(text)
    with tempfile.TemporaryDirectory() as folder:
        home, script, said = Path(folder, "tutorial"), Path(folder, "script.sh"), Path(folder, "said")
        home.mkdir()
        script.write_text(as_script(todo), encoding="utf-8")
        with said.open("wb") as output:
            shell = subprocess.Popen(
                ["bash", str(script)],
                cwd=home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                shell.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                return f"it was not done after {SECONDS_MAX} s:\n{said.read_text(errors='replace')[-2000:]}"
            finally:
                end(shell)
        return difference([step for step in todo if isinstance(step, Command)], said.read_text(errors="replace"))


def with_free_ports(text: str) -> str:
    with contextlib.ExitStack() as held:
        free = {}
        for port in sorted(set(PORT.findall(text))):
            taken = held.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            free[port] = str(taken.getsockname()[1])
    return PORT.sub(lambda port: free[port[0]], text)


def as_script(todo: list[Command | File]) -> str:
    """The shell's input. Each command is followed by a mark with its exit status; the first that fails is the last."""
    lines = []
    for step in todo:
        if isinstance(step, File):
            lines.append(
                f"mkdir -p {quote(str(Path(step.name).parent))}; printf %s {quote(step.text)} >{quote(step.name)}"
            )
        else:
            lines += [step.typed, f"s=$?; printf '\\n{MARK}%s\\n' $s; [ $s = 0 ] || exit 1"]
    return "\n".join([*lines, ""])


def difference(typed: list[Command], said: str) -> str:
    """The first command that did not do what the tutorial says."""
    parts = re.split(rf"\n{MARK}(\d+)\n", said)
    for number, command in enumerate(typed):
        printed = parts[2 * number]
        status = parts[2 * number + 1] if 2 * number + 1 < len(parts) else "none: the shell ended"
        if status != "0":
            return f"$ {command.typed}\nexit status {status}, and it printed:\n{printed}"
        if command.printed and not pattern(command.printed).fullmatch(printed.rstrip() + "\n"):
            return f"$ {command.typed}\nprinted:\n{printed}\nand the tutorial shows:\n{command.printed}"
    return ""


def pattern(shown: str) -> re.Pattern[str]:
    lines = (
        "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n"
        for line in shown.rstrip().splitlines()
    )
    return re.compile("".join(lines))


def end(shell: subprocess.Popen[bytes]) -> None:
    """Ends what the tutorial left running."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        told: int = sent
        for _ in range(100):
            try:
                os.killpg(shell.pid, told)
            except ProcessLookupError:
                return
            told = 0
            time.sleep(0.1)
            shell.poll()
