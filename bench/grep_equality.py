"""Does `nuthatch grep` print what ripgrep prints? `python -m bench.grep_equality`

Question: are the lines and the exit status of `nuthatch grep` those of ripgrep 15 in the same folder, byte for byte?
Data: a folder made here of odd texts (line ends, encodings, NUL, invalid UTF-8, no last line end, long lines, 10 MB), and a copy of crates/*/src,
stored in a tree by `nuthatch add --tree`.
Seed: --seed, for the texts and for the combinations of flags.
Command: python -m bench.grep_equality, with `rg` 15 on the PATH (`cargo install ripgrep --version ^15`) and after
`cargo build --release` (`make env`).

Each pattern runs with each flag, then random patterns with one to five random flags. Elapsed times are replaced before outputs are compared.
Files with a NUL behind their first 64 KiB are left out: how much ripgrep prints of one depends on the lines of the files that it searched before.
The exit status is 1 when anything differs.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUTHATCH = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "nuthatch"
ALWAYS = ["--no-config", "--sort=path", "--hidden", "--no-ignore", "--color=never"]
TIMES = [
    (re.compile(rb'\{"human":"[0-9.]+s","nanos":\d+,"secs":\d+\}'), b"TIME"),
    (re.compile(rb'\{"secs":\d+,"nanos":\d+,"human":"[0-9.]+s"\}'), b"TIME"),
    (re.compile(rb"[0-9.]+ seconds "), b"TIME seconds "),
]
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
SHOWN = 12
Ran = subprocess.CompletedProcess[bytes]
PANICKED = 101

PATTERNS = """
the|Sheet|fn|TODO|zzzz_nowhere|e|^$|^|$|.|.*|x*|\\bfn\\b|\\w+|\\w{5,8}\\b|[A-Z]\\w+Error|^\\s+let (mut )?\\w+|fn (\\w+)\\(|(?i)kelvin|k|s
\\d+|\\d{3,}|[0-9a-f]{8}|größe|GRÖSSE|straße|İstanbul|ſ|K|é|é|日本|\\p{Greek}+|\\p{Lu}|\\p{Emoji}|👩‍👩‍👧|[^\\x00-\\x7f]|\\u{2028}|\\r|\\r$|\\t
one\\r?$|two$|^three|end\\.$|last line|no newline at end|\\xff|(?-u:\\xff)|(?-u:[\\x80-\\xff]+)|needle|needle.*haystack|a|b.c|(a|b)+c|foo|bar|foo|word
foo.bar|\\Afn|fn\\z|(?m)^use|(?s)a.b|use [^;]+;|//.*$|/\\*|".*"|'[^']'|self\\.\\w+|->|\\(|\\)\\s*\\{|=>|::|#\\[|.{80,}
^.{0,3}$|(foo|foobar)|\\B|\\b|(|[|a{5|\\1|(?=a)
""".replace("\n", "|")
# Those with a bar of their own, or a line's end.
MORE = ["foo|bar", "(?P<first>\\w+) (?P<second>\\w+)", "struct \\w+ \\{\\n", "\\n\\n", "one\\ntwo", "a\\nb", "}\\n*fn", "(?s)fn .{0,80}\\}",
        "\\s+", "\\n", "\\x00", "",
        "pub(crate)", "Vec<u8>", "[", "a.c", "-v", "!", "*", "\\", "ΣΑΣ", "ς", "İ", "ı", "ǆ", "ﬀ"]  # fmt: skip

FLAGS: list[tuple[list[str], dict[str, object]]] = [
    ([], {}),
    (["-i"], {"ignore_case": True}),
    (["-S"], {"smart_case": True}),
    (["-w"], {"word": True}),
    (["-x"], {"line_regexp": True}),
    (["-F"], {"fixed_strings": True}),
    (["-v"], {"invert": True}),
    (["-U"], {"multiline": True}),
    (["-U", "--multiline-dotall"], {"multiline": True, "multiline_dotall": True}),
    (["--crlf"], {"crlf": True}),
    (["--null-data"], {"null_data": True}),
    (["--no-unicode"], {"no_unicode": True}),
    (["-m1"], {"max_count": 1}),
    (["-m3"], {"max_count": 3}),
    (["-m0"], {"max_count": 0}),
    (["--stop-on-nonmatch"], {"stop_on_nonmatch": True}),
    (["-a"], {"text": True}),
    (["--binary"], {"binary": True}),
    (["-E", "utf-16le"], {"encoding": "utf-16le"}),
    (["-E", "none"], {"encoding": "none"}),
    (["-E", "latin1"], {"encoding": "latin1"}),
    (["-g", "*.rs"], {"globs": ["*.rs"]}),
    (["-g", "!*.rs"], {"globs": ["!*.rs"]}),
    (["-g", "!odd"], {"globs": ["!odd"]}),
    (["-g", "!odd/"], {"globs": ["!odd/"]}),
    (["-g", "odd/**", "-g", "!*.txt"], {"globs": ["odd/**", "!*.txt"]}),
    (["-g", "!*.txt", "-g", "lf.txt"], {"globs": ["!*.txt", "lf.txt"]}),
    (["-g", "/odd/*.txt"], {"globs": ["/odd/*.txt"]}),
    (["-g", "*.{rs,md}"], {"globs": ["*.{rs,md}"]}),
    (["-g", "**/src/**"], {"globs": ["**/src/**"]}),
    (["-g", "src"], {"globs": ["src"]}),
    (["-g", "*.PY"], {"globs": ["*.PY"]}),
    (["--iglob", "*.PY"], {"iglobs": ["*.PY"]}),
    (["-trust"], {"types": ["rust"]}),
    (["-Trust"], {"types_not": ["rust"]}),
    (["-tpy", "-tmd"], {"types": ["py", "md"]}),
    (["-tall"], {"types": ["all"]}),
    (["-tpy", "-g", "*.rs"], {"types": ["py"], "globs": ["*.rs"]}),
    (["-c"], {"output": "count"}),
    (["--count-matches"], {"output": "count_matches"}),
    (["-c", "--include-zero"], {"output": "count", "include_zero": True}),
    (["-l"], {"output": "files_with_matches"}),
    (["--files-without-match"], {"output": "files_without_match"}),
    (["--json"], {"output": "json"}),
    (["-q"], {"quiet": True}),
    (["-o"], {"only_matching": True}),
    (["--vimgrep"], {"vimgrep": True}),
    (["-r", "<$0>"], {"replace": "<$0>"}),
    (["-r", "$1-$first"], {"replace": "$1-$first"}),
    (["-B2"], {"before_context": 2}),
    (["-A3"], {"after_context": 3}),
    (["-C1"], {"before_context": 1, "after_context": 1}),
    (["-C20"], {"before_context": 20, "after_context": 20}),
    (["--passthru"], {"passthru": True}),
    (["-n"], {"line_number": True}),
    (["-N"], {"line_number": False}),
    (["--column"], {"column": True}),
    (["-b"], {"byte_offset": True}),
    (["-I"], {"with_filename": False}),
    (["--heading"], {"heading": True}),
    (["-0"], {"null": True}),
    (["--trim"], {"trim": True}),
    (["-M40"], {"max_columns": 40}),
    (["-M40", "--max-columns-preview"], {"max_columns": 40, "max_columns_preview": True}),
    (["--color=always"], {"color": True}),
    (["--stats"], {"stats": True}),
    (["-e", "second"], {"patterns": ["second"]}),
]
LISTS = {"globs", "iglobs", "types", "types_not", "patterns"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.grep_equality", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=2000, help="how many combinations of flags to try")
    parser.add_argument("--only", help="combinations alone, not each pattern with each flag", action="store_true")
    parser.add_argument("--keep", type=Path, help="make the folder here, and leave it")
    asked = parser.parse_args()
    rg = shutil.which("rg")
    if rg is None or not NUTHATCH.exists():
        sys.exit(f"needs rg on the PATH and {NUTHATCH}: see the head of {__file__}")
    print(subprocess.run([rg, "--version"], capture_output=True, text=True).stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary) / "corpus"
        chance = random.Random(asked.seed)
        make(folder, chance)
        different = compare(
            folder / "small", rg, [*([] if asked.only else each_with_each()), *combinations(chance, asked.random)]
        )
        different |= compare(folder / "large", rg, [*each_flag(chance), *combinations(chance, asked.random // 20)])
        sys.exit(different)


def compare(folder: Path, rg: str, cases: Iterable[tuple[list[str], dict[str, object]]]) -> bool:
    data = folder.with_name(f"{folder.name}-data")
    tree = [NUTHATCH, "--data-dir", data]
    subprocess.run(
        [*tree, "add", folder, "--tree", "t", "--no-passages", "--hidden", "--no-ignore"],
        check=True,
        capture_output=True,
    )
    counts = {"different": 0, "with output": 0, "refused by both": 0, "panics of ripgrep": 0}
    seen = set()
    for flags, request in cases:
        key = json.dumps(request, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        peer = subprocess.run([rg, *ALWAYS, *flags], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
        if peer.returncode == PANICKED:
            counts["panics of ripgrep"] += 1
            continue
        ours = subprocess.run([*tree, "grep", "--tree", "t", *flags], stdin=subprocess.DEVNULL, capture_output=True)
        counts["with output"] += bool(peer.stdout)
        counts["refused by both"] += ours.returncode == 2 and peer.returncode == 2
        if problem := difference(request, ours, peer):
            counts["different"] += 1
            if counts["different"] <= SHOWN:
                print("rg", *flags, "\n ", problem, flush=True)
    print(f"{folder.name}: {len(seen)} searches", *(f"{number} {what}" for what, number in counts.items()), sep=", ")
    return counts["different"] > 0


def difference(request: dict[str, object], ours: Ran, peer: Ran) -> str | None:
    # Where globs leave nothing to search, ripgrep says so and has an error. With -m0 it does not look at the patterns.
    if ours.returncode == 2 and peer.returncode == 1 and request.get("max_count") == 0:
        return None
    if ours.returncode != peer.returncode and not (
        ours.returncode == 1 and peer.stderr.startswith(b"rg: No files were searched")
    ):
        return f"status {ours.returncode} instead of {peer.returncode}: {ours.stderr[:300]!r} / {peer.stderr[:300]!r}"
    if ours.returncode == 2:
        # The first paragraph is the regex library's; what to do about it is worded by each.
        said, theirs = (
            ran.stderr.removeprefix(start).split(b"\n\n")[0].strip()
            for ran, start in ((ours, b"error: "), (peer, b"rg: "))
        )
        return None if said == theirs else f"message {said!r} instead of {theirs!r}"
    out, theirs = ours.stdout, peer.stdout
    if out != theirs:
        out, theirs = without_times(out), without_times(theirs)
    # ripgrep sorts names folder by folder, a tree by the bytes of whole paths.
    out, theirs = in_order(out), in_order(theirs)
    if out == theirs:
        return None
    at = next((i for i, (a, b) in enumerate(zip(out, theirs, strict=False)) if a != b), min(len(out), len(theirs)))
    return f"{len(out)} bytes instead of {len(theirs)}, from {at}: {out[max(0, at - 60) : at + 60]!r} / {theirs[max(0, at - 60) : at + 60]!r}"


def in_order(out: bytes) -> bytes:
    return b"\n".join(sorted(out.split(b"\n")))


def without_times(out: bytes) -> bytes:
    for pattern, instead in TIMES:
        out = pattern.sub(instead, out)
    return out


def each_with_each():
    for pattern in patterns():
        for flags, request in FLAGS:
            yield joined(pattern, [(flags, request)])


def each_flag(chance: random.Random):
    every = patterns()
    for flags, request in FLAGS:
        yield joined(chance.choice(every), [(flags, request)])


def combinations(chance: random.Random, count: int):
    every = patterns()
    for _ in range(count):
        yield joined(chance.choice(every), chance.sample(FLAGS, chance.randint(1, 5)))


def patterns() -> list[str]:
    return list(dict.fromkeys([*(pattern for pattern in PATTERNS.split("|") if pattern), *MORE]))


def joined(pattern: str, parts):
    """Flags as ripgrep takes them, and the request that means the same: of two that exclude each other, the first."""
    flags, request = [], {}
    for more, fields in parts:
        clash = any(name in request and name not in LISTS for name in fields)
        if (
            clash
            or ({"word", "line_regexp"} <= {*request, *fields})
            or ({"ignore_case", "smart_case"} <= {*request, *fields})
            or excluded({*request, *fields})
        ):
            continue
        flags += more
        for name, value in fields.items():
            request[name] = request.get(name, []) + value if name in LISTS else value
    request["patterns"] = [pattern, *request.get("patterns", [])]
    return [*order(flags), "-e", pattern, *second(flags)], request


def excluded(names: set[str]) -> bool:
    """Pairs of which ripgrep heeds the later: the command that reads the flags decides, not the search."""
    return (
        {"word", "line_regexp"} <= names
        or {"ignore_case", "smart_case"} <= names
        or {"types", "types_not"} <= names
        or {"passthru", "before_context"} <= names
        or {"passthru", "after_context"} <= names
        or {"text", "binary"} <= names
        or {"crlf", "null_data"} <= names
        or {"multiline", "stop_on_nonmatch"} <= names
    )


def order(flags: list[str]) -> list[str]:
    return [
        flag for at, flag in enumerate(flags) if flag != "second" and not (flag == "-e" and flags[at + 1] == "second")
    ]


def second(flags: list[str]) -> list[str]:
    return ["-e", "second"] if "second" in flags else []


WORDS = """the of and fn let foo bar foobar word Word needle haystack Kelvin kelvin second one two three TODO error größe GRÖSSE straße
STRASSE İstanbul istanbul ſtraße Kelvin é é 日本語 Ελλάδα ΣΑΣ σας 👩‍👩‍👧 x y zz 42 007 1234 deadbeef a b c abc b.c foo.bar end.""".split()


def make(root: Path, chance: random.Random) -> None:
    folder = root / "small"
    odd = folder / "odd"
    odd.mkdir(parents=True)
    for crate in sorted((ROOT / "crates").iterdir()):
        if (crate / "src").is_dir():
            shutil.copytree(crate / "src", folder / "crates" / crate.name / "src")
    lines = [text(chance) for _ in range(400)]
    odd_files: dict[str, bytes] = {
        "lf.txt": "\n".join(lines).encode() + b"\n",
        "crlf.txt": "\r\n".join(lines).encode() + b"\r\n",
        "mixed.txt": "".join(line + chance.choice(["\n", "\r\n", "\r", "\n\n"]) for line in lines).encode(),
        "no-end.txt": "\n".join([*lines[:5], "last line, no newline at end"]).encode(),
        "one-line.md": b"the only line",
        "empty.txt": b"",
        "newline.txt": b"\n",
        "newlines.txt": b"\n\n\n\n",
        "cr.txt": b"one\rtwo\rthree\r",
        "bom.txt": b"\xef\xbb\xbf" + "\n".join(lines[:20]).encode(),
        "utf16le.txt": b"\xff\xfe" + "\n".join(lines[:60]).encode("utf-16-le"),
        "utf16be.txt": b"\xfe\xff" + "\r\n".join(lines[:60]).encode("utf-16-be"),
        "utf16-odd.txt": b"\xff\xfe" + "one\ntwo the end".encode("utf-16-le") + b"\x41",
        "utf16-unmarked.txt": "\n".join(lines[:20]).encode("utf-16-le"),
        "utf16-nul.txt": b"\xff\xfe" + "the\0one\nfoo two\n".encode("utf-16-le"),
        "latin1.txt": "größe\nstraße the é\nfoo \xff bar\n".encode("latin-1"),
        "invalid.txt": b"the \xc3\x28 one\n\xff\xfe\xfd foo\nword \xed\xa0\x80 end.\n"
        + bytes(range(1, 256))
        + b"\nneedle\n",
        "nul-first.bin": b"\0the one\nfoo\n",
        "nul-early.bin": "\n".join(lines[:9]).encode() + b"\nthe \0 foo needle\n" + "\n".join(lines[9:30]).encode(),
        "nul-60k.bin": filler(chance, 60_000) + b"the \0 needle\nfoo\n" + filler(chance, 20_000),
        "nul-last.bin": filler(chance, 3_000) + b"\0",
        "zeros.bin": b"foo\0bar\0the one\0\0second\0needle\nhaystack\0",
        "long-line.txt": ("the " + " ".join(chance.choices(WORDS, k=40_000)) + " needle\nshort foo\n").encode(),
        "long-lines.js": "\n".join(" ".join(chance.choices(WORDS, k=3_000)) for _ in range(30)).encode(),
        "blanks.txt": b"   \n\t\tfoo\n  the  \n\x0b\x0c bar\n \n",
        "separators.txt": "one\u2028two\u2029three\u0085foo\x0bbar\x0cthe\n".encode(),
        "spaced name.txt": b"foo the bar\nword\n",
        "größe.md": "größe the\nword foo\n".encode(),
        "UPPER.PY": b"def foo():\n    return 'the'\n",
        "lower.py": b"def foo():\n    return 'the'\n# TODO second\n",
        ".hidden": b"hidden the foo\n",
        "Makefile": b"all:\n\tfoo bar\n",
        "repeat.txt": b"foo foofoo foo.bar foobar\naaa\naaaa\nabcabc\n" * 50,
    }
    for name, content in odd_files.items():
        (odd / name).write_bytes(content)
    for name in (
        "a/x.txt",
        "a-b/x.txt",
        "a.b/x.txt",
        "a/b/c/d.rs",
        "a/B.txt",
        "a/_.txt",
        "a0",
        "Z/z.txt",
        "é/y.txt",
        ".dot/inside.txt",
    ):
        (folder / "names" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "names" / name).write_bytes(b"the foo\nword second\n")
    large = root / "large"
    large.mkdir()
    (large / "large.log").write_bytes(filler(chance, 10_000_000))


def text(chance: random.Random) -> str:
    return " " * chance.choice([0, 0, 0, 4, 8]) + " ".join(chance.choices(WORDS, k=chance.randint(0, 12)))


def filler(chance: random.Random, count: int) -> bytes:
    block = "\n".join(text(chance) for _ in range(min(2_000, 1 + count // 50))).encode() + b"\n"
    return (block * (count // len(block) + 1))[: count - 1] + b"\n"


if __name__ == "__main__":
    main()
