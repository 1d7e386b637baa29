"""A build of the command and the module alone compiles each dependency with the features of a build of everything.

Cargo joins the features that the selected packages ask for. Where a crate that is left out asks for one more, that
dependency and everything above it is compiled twice: once by `make setup`, and once by `make test`.
"""

import subprocess
import sys


def features(*left_out: str) -> set[str]:
    """Each dependency that is compiled, as `name version features`, without the packages that are left out."""
    command = ["cargo", "tree", "--workspace", "--locked", "--prefix", "none", "--no-dedupe"]
    command += ["--edges", "normal,build", "--format", "{p} {f}"]
    for package in left_out:
        command += ["--exclude", package]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line for line in lines if line and not line.startswith("nuthatch-")}


def main(left_out: list[str]) -> int:
    """Names the dependencies that differ; 1 when there are some."""
    differ = sorted(features(*left_out) - features())
    for line in differ:
        print(
            f"{line}: a crate that is left out asks for more; name its features in crates/cli/Cargo.toml",
            file=sys.stderr,
        )
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
