"""The reference of the commands: pages with the help of each command and subcommand, as it prints it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

#: What every command repeats: it stands on the first page alone.
EVERYWHERE = re.compile(r"^Everywhere:\n.*?(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
SUBCOMMAND = re.compile(r"^  ([a-z][\w-]*) {2,}\S|^  ([a-z][\w-]*)$", re.MULTILINE)


def help_of(program: Path, *words: str) -> str:
    """The long help, as the program prints it."""
    done = subprocess.run(
        [program, *words, "--help"], capture_output=True, text=True, check=True, timeout=60, env={"COLUMNS": "100"}
    )
    return done.stdout


def subcommands(text: str) -> list[str]:
    """The subcommands that a help lists."""
    section = re.search(r"^Commands:\n((?:  .*\n|\n)*)", text, re.MULTILINE)
    names = [first or second for first, second in SUBCOMMAND.findall(section[1])] if section else []
    return [name for name in names if name != "help"]


def walk(program: Path, *words: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command with its help: the program itself first, a command before its subcommands."""
    text = help_of(program, *words)
    yield words, text
    for name in subcommands(text):
        yield from walk(program, *words, name)


def pages(program: Path) -> dict[str, str]:
    """The text of each page, by its name: one for each command, with its subcommands, and the program's own."""
    made: dict[str, str] = {}
    for words, text in walk(program):
        name = words[0] if words else "index"
        shown = text if not words else EVERYWHERE.sub("", text)
        title = " ".join((program.name, *words))
        level = "#" * max(1, len(words))
        top = "---\norphan: true\n---\n\n" if len(words) == 1 else ""
        made[name] = made.get(name, top) + (
            f"({anchor(program, words)})=\n{level} `{title}`\n\n```text\n{shown.strip()}\n```\n\n"
        )
    return made


def anchor(program: Path, words: tuple[str, ...]) -> str:
    return "command-" + "-".join((program.name, *words))
