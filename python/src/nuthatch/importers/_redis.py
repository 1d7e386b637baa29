"""Files of Redis: a dump (RDB), or an append-only file with or without an RDB in front.

Redis itself reads them: a ``redis-server`` (or ``valkey-server``) of one's own loads a copy, listens on a socket in a private
folder, and rewrites what it has as plain commands. The ``nuthatch`` command runs these against the data folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..arguments import StrPath
from ..database import Database
from ..errors import CorruptError, InternalError, InvalidError, UnavailableError
from . import _records
from ._importing import Imported, Importing, OnProgress

_PROGRAMS = ("redis-server", "valkey-server")
#: How commands that make what is not kept here are told of; the rest goes by the command's name.
_KINDS = {
    "XADD": "streams",
    "XSETID": "streams",
    "XGROUP": "streams",
    "FUNCTION": "libraries of functions",
    "HPEXPIREAT": "hashes with fields that expire (the fields stay)",
    "VADD": "vector sets",
}
_PATIENCE_SECONDS = 600.0


def redis(
    path: StrPath, db: Database, *, program: StrPath | None = None, on_progress: OnProgress = None
) -> list[Imported]:
    """Imports a dump (``dump.rdb``), an append-only file, or the folder ``appendonlydir``, into what Redis clients of a server see:
    database ``n`` becomes the keyspace ``redis.n``, which must be new or empty.

    Strings, hashes, lists, sets, sorted sets and their expiry are carried, bit for bit. Streams, functions and the expiry of
    fields are not; they are counted by key. ``program`` is the ``redis-server`` or ``valkey-server`` that reads the file, by
    default the one on the PATH: one as new as the Redis that wrote it, with memory for all of the data. It works on a copy. ``db``
    is a folder of this machine.
    """
    place = _records.existing(path)
    server, command = _server(program), _command()
    # The other process opens the folder, too; a database in memory has no store there.
    if not (Path(db.path) / "truth" / "CURRENT").exists():
        raise InvalidError(f"{db.path} is no data folder of this machine; import Redis' files where the folder is")
    with tempfile.TemporaryDirectory(prefix="nuthatch-redis-") as work, Importing(db, place, on_progress) as importing:
        with _running(server, place, Path(work)) as source:
            keys = source.keys_by_database()
            for number in keys:
                importing.keyspace(f"redis.{number}")
                importing.keyspace(f"redis.{number}.rows")
            commands = source.rewritten()
        told = _replayed(command, commands, db)
        left_out: dict[str, int] = {}
        for name, refused in told["refused"].items():
            kind = _KINDS.get(name, f"keys that need the command {name}")
            # Several commands make one stream; the most frequent of them was sent for each.
            left_out[kind] = max(left_out.get(kind, 0), refused["keys"])
        imported = [Imported(f"redis.{number}", count, {}, "keyspace") for number, count in keys.items()]
        if left_out and imported:
            # Redis tells keys that are left out by command, not by database.
            first = imported[0]
            imported[0] = Imported(first.name, first.records, left_out, "keyspace")
        return imported


def _server(program: StrPath | None) -> str:
    if program is not None:
        return os.fspath(program)
    for name in _PROGRAMS:
        if (found := shutil.which(name)) is not None:
            return found
    raise UnavailableError(f"reading Redis' files needs {' or '.join(_PROGRAMS)}; install Redis, or say program=")


def _command() -> str:
    """The ``nuthatch`` command that belongs to this package."""
    beside = Path(sys.executable).parent / "nuthatch"
    found = os.environ.get("NUTHATCH_PROGRAM") or (str(beside) if beside.exists() else shutil.which("nuthatch"))
    if found is None:
        raise UnavailableError("importing Redis' files needs the nuthatch command, which comes with the package")
    return found


class _Source:
    """A server of Redis with the data to import, on a socket."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def ask(self, command: str) -> bytes:
        """Sends a command in one line, and returns a reply of one line or of one text."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE_SECONDS)
            connection.connect(str(self._folder / "socket"))
            connection.sendall(command.encode() + b"\r\n")
            with connection.makefile("rb") as replies:
                line = replies.readline().rstrip(b"\r\n")
                return replies.read(int(line[1:])) if line.startswith(b"$") else line

    def wait_until_loaded(self, place: Path) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                log = (self._folder / "log").read_text(errors="replace").strip().splitlines()
                raise CorruptError(f"Redis cannot load {place}: {' / '.join(_told(log))}", place)
            with contextlib.suppress(OSError):
                if self.ask("PING") == b"+PONG":
                    return
            time.sleep(0.02)
        raise UnavailableError(f"Redis did not load {place} within {_PATIENCE_SECONDS:.0f} s")

    def keys_by_database(self) -> dict[int, int]:
        told = self.ask("INFO keyspace").decode()
        return {int(number): int(keys) for number, keys in re.findall(r"^db(\d+):keys=(\d+)", told, re.M)}

    def rewritten(self) -> Path:
        """A file of commands that make the data."""
        self._must(self.ask("CONFIG SET aof-use-rdb-preamble no"))
        self._must(self.ask("BGREWRITEAOF"))
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            told = self.ask("INFO persistence").decode()
            state = dict(re.findall(r"^(aof_rewrite_\w+|aof_last_bgrewrite_status):(\w+)", told, re.M))
            if state.get("aof_rewrite_in_progress") == state.get("aof_rewrite_scheduled") == "0":
                if state.get("aof_last_bgrewrite_status") != "ok":
                    raise UnavailableError("Redis could not rewrite its data as commands; is the disk full?")
                return self._newest()
            time.sleep(0.02)
        raise UnavailableError(f"Redis did not rewrite its data as commands within {_PATIENCE_SECONDS:.0f} s")

    def _newest(self) -> Path:
        bases = sorted(self._folder.glob("appendonlydir/*.base.aof"), key=lambda file: file.stat().st_mtime_ns)
        # Before version 7 there was one file.
        single = self._folder / "appendonly.aof"
        if not bases and not single.is_file():
            raise InternalError("Redis has rewritten its data as commands, and left no file")
        return bases[-1] if bases else single

    @staticmethod
    def _must(reply: bytes) -> None:
        if not reply.startswith(b"+"):
            raise UnavailableError(f"Redis refused to rewrite its data as commands: {reply.decode(errors='replace')}")


@contextlib.contextmanager
def _running(server: str, place: Path, work: Path) -> Iterator[_Source]:
    is_log = _copied(place, work)
    arguments = [
        *("--port", "0", "--unixsocket", str(work / "socket"), "--unixsocketperm", "700", "--dir", str(work)),
        *("--save", "", "--daemonize", "no", "--logfile", str(work / "log"), "--appendonly", "yes" if is_log else "no"),
        # Incomplete files are refused. Nothing may be removed before it was read.
        *("--aof-load-truncated", "no", "--maxmemory", "0", "--databases", "16"),
    ]
    try:
        process = subprocess.Popen([server, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    except OSError as error:
        raise UnavailableError(f"cannot run {server}: {error}") from error
    try:
        source = _Source(process, work)
        source.wait_until_loaded(place)
        yield source
    finally:
        process.kill()
        process.wait()


def _copied(place: Path, work: Path) -> bool:
    """Lays the file where the server looks; whether it is an append-only file."""
    if place.is_dir():
        manifests = list(place.glob("*.manifest"))
        if not manifests and (place / "appendonlydir").is_dir():
            return _copied(place / "appendonlydir", work)
        if not manifests and (place / "dump.rdb").is_file():
            return _copied(place / "dump.rdb", work)
        if len(manifests) != 1:
            raise InvalidError(
                f"{place} has no manifest of append-only files and no dump.rdb; give the file or its folder"
            )
        name = manifests[0].name.removesuffix(".manifest")
        if name != "appendonly.aof":
            raise InvalidError(f"{place} has append-only files named {name!r}; rename them to appendonly.aof in a copy")
        shutil.copytree(place, work / "appendonlydir")
        return True
    with place.open("rb") as file:
        head = file.read(5)
    if head == b"REDIS" and place.suffix != ".aof":
        (work / "dump.rdb").symlink_to(place.resolve())
        return False
    if head[:1] not in (b"*", b"#") and head != b"REDIS":
        raise InvalidError(f"{place} is no file of Redis: neither a dump nor an append-only file")
    shutil.copy(place, work / "appendonly.aof")
    return True


def _replayed(command: str, commands: Path, db: Database) -> dict[str, dict[str, dict[str, int]]]:
    tenant = [] if db.tenant_name is None else ["--tenant", db.tenant_name]
    arguments = ["--data-dir", db.path, *tenant, "import", "--from", "redis-commands", "--json", str(commands)]
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise InvalidError(done.stderr.strip().removeprefix("error: ") or f"{command} ended with {done.returncode}")
    told: dict[str, dict[str, dict[str, int]]] = json.loads(done.stdout)
    return told


def _told(log: list[str]) -> list[str]:
    """The last messages of a server, without its ASCII art."""
    lines = [re.sub(r"^\d+:\w .*? [*#.-] ", "", line) for line in log if re.search(r" # ", line)]
    return lines[-3:] or log[-1:] or ["it said nothing"]
