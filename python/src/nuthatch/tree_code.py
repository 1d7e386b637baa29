"""Questions about the source code of a tree: what defines a name, who uses it, what calls what.

What it is: ``tree.code`` gives a ``TreeCode``, which answers for Rust, Python, JavaScript, TypeScript, Go, Java, C and C++
without building anything, as of any moment of the tree.
What it is not: a compiler. Types of values are not worked out; an answer says how sure it is.
Invariant: every place that uses a name is counted, whatever it turns out to mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from . import arguments
from .threads import in_thread

if TYPE_CHECKING:
    from .tree import AsOf

CodeClass: TypeAlias = Literal["certain", "unique", "ambiguous", "outside"]
"""How sure a meaning is. "certain": the file says it by its scopes and imports; "unique": the tree has one definition that
it may be; "ambiguous": several; "outside": none."""
CodeUse: TypeAlias = Literal["call", "macro", "inherit", "type", "value"]


class CodeDefinition(NamedTuple):
    """Something that has a name."""

    path: str
    #: With the names of what is around it: ``Index.search``.
    name: str
    #: "function", "method", "class", …
    kind: str
    #: "rust", "python", …
    language: str
    #: The line of its name, from 1.
    line: int
    line_end: int
    #: Its head in one line, at most 200 characters.
    signature: str


class CodeTarget(NamedTuple):
    """A definition that a place may mean."""

    path: str
    line: int
    name: str


class CodeSite(NamedTuple):
    """A place that uses a name."""

    path: str
    line: int
    #: With what stands before it: ``os.path.join``, ``self.run`` or ``this.run``, and ``.run`` behind an expression.
    name: str
    how: CodeUse
    #: ``class`` is a word of Python's.
    class_: CodeClass
    #: The definition that it stands in.
    within: str | None
    #: What it may mean, 20 at most.
    targets: tuple[CodeTarget, ...]
    targets_count: int


class CodeImport(NamedTuple):
    """A name that a file takes from elsewhere."""

    line: int
    module: str
    #: What is taken of it; None for the module itself.
    name: str | None
    #: Under which name it is known in the file, where that is another one.
    alias: str | None
    is_wildcard: bool
    #: Files of the tree that it may name; none for a module that is elsewhere.
    files: tuple[str, ...]


class CodeReached(NamedTuple):
    """A definition from which uses lead to the one that was asked for."""

    #: Its name is empty for a file that uses it outside of any definition.
    definition: CodeTarget
    kind: str | None
    #: Steps, from 1.
    depth: int
    #: The least sure step of the surest way. Steps that are ambiguous are not followed.
    class_: CodeClass
    #: What the step uses, and in which line.
    calls: str
    line: int
    #: It looks like a test, by its name or path.
    is_test: bool


class CodeCounts(NamedTuple):
    """All places that use the name in the way that was asked, by what they mean."""

    certain: int
    unique: int
    ambiguous: int
    #: Another definition of the same name.
    elsewhere: int
    #: Nothing in the tree: libraries, built-in names, values of variables.
    outside: int


class CodeFiles(NamedTuple):
    """Files behind an answer."""

    #: Files in a language that is known.
    read: int
    #: Of these, those of which a part does not fit the grammar: something may be missing.
    with_errors: int
    #: Those of which nothing is known, because they are too large, too deep or no program.
    unparsed: int


class SymbolsImported(NamedTuple):
    """What was taken in from an index of source code."""

    #: Files whose names have a meaning now, and how many names these have.
    files: int
    names: int
    #: Paths of the index at which the tree has no source file in a language that is known.
    missing: tuple[str, ...]
    #: Paths at which the tree has another text than the index.
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """An answer. What a question does not ask for is empty."""

    definitions: tuple[CodeDefinition, ...]
    sites: tuple[CodeSite, ...]
    imports: tuple[CodeImport, ...]
    reached: tuple[CodeReached, ...]
    counts: CodeCounts
    files: CodeFiles
    #: There is more than the limit let through.
    truncated: bool


class TreeCode:
    """The source code of a tree.

    A name may be that of a definition (``search``), with what is around it (``Index.search``), and
    with the end of its file's path (``src/index.py#search``). ``below`` lists only what stands at
    that path or below it; what names mean is looked for in the whole tree. ``as_of`` shows the tree
    as it was, as in ``Tree.get``. ``limit`` (1 to 10,000) bounds what is listed, and not what is
    counted. The first question about a tree reads its files.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     tree = db.tree("repo")
    ...     _ = tree.put_many({"a.py": "def f():\\n    pass\\n", "b.py": "from a import f\\n\\ndef g():\\n    f()\\n"})
    ...     callers = tree.code.callers("f")
    ...     [(site.path, site.line, site.within, site.class_) for site in callers.sites]
    [('b.py', 4, 'g', 'certain')]
    """

    __slots__ = ("_ask", "_moment")

    def __init__(self, ask: Callable[[str], dict[str, Any]], moment: Callable[[AsOf | None], str | None]) -> None:
        self._ask = ask
        self._moment = moment

    def definitions(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """Finds what defines a name."""
        return self._about("definitions", name, as_of, below, limit)

    def references(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """Finds every place that uses a name."""
        return self._about("references", name, as_of, below, limit)

    def callers(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """Finds the places that call it. ``counts`` tells of all calls of that name, whatever they mean."""
        return self._about("callers", name, as_of, below, limit)

    def callees(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """Finds what it calls."""
        return self._about("callees", name, as_of, below, limit)

    def outline(self, path: str, *, as_of: AsOf | None = None, limit: int = 10_000) -> CodeAnswer:
        """Lists the definitions of a file. Raises NotFoundError for a file that is not there, or in no known language."""
        return self._answer({"outline": arguments.text("path", path)}, as_of, "", limit)

    def imports(self, path: str, *, as_of: AsOf | None = None, limit: int = 10_000) -> CodeAnswer:
        """Lists what a file imports, with the files of the tree that it may name."""
        return self._answer({"imports": arguments.text("path", path)}, as_of, "", limit)

    def impact(
        self, name: str, *, depth: int = 3, as_of: AsOf | None = None, below: str = "", limit: int = 200
    ) -> CodeAnswer:
        """Finds what uses it, what uses that, and so on, ``depth`` steps (1 to 16)."""
        asked = [arguments.text("name", name), arguments.whole("depth", depth)]
        return self._answer({"impact": asked}, as_of, below, limit)

    def tests(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """Finds tests among what uses it in up to four steps, by their names and paths: a guess."""
        return self._about("tests", name, as_of, below, limit)

    def map(self, *, tokens: int = 1024, as_of: AsOf | None = None, below: str = "", limit: int = 1000) -> CodeAnswer:
        """Lists the definitions that matter most, within about ``tokens`` (one is taken for four bytes)."""
        return self._answer({"map": arguments.whole("tokens", tokens)}, as_of, below, limit)

    def _about(self, question: str, name: str, as_of: AsOf | None, below: str, limit: int) -> CodeAnswer:
        return self._answer({question: arguments.text("name", name)}, as_of, below, limit)

    def _answer(self, question: dict[str, Any], as_of: AsOf | None, below: str, limit: int) -> CodeAnswer:
        import json  # loads only for callers that ask

        asked = json.dumps(
            {
                "question": question,
                "below": arguments.text("below", below),
                "as_of": self._moment(as_of),
                "limit": arguments.whole("limit", limit),
            }
        )
        parts = self._ask(asked)
        while parts["files"]["pending"]:
            parts = self._ask(asked)
        return answer(parts)


class AsyncTreeCode:
    """A ``TreeCode`` whose calls are awaited. ``sync`` is the object underneath."""

    __slots__ = ("sync",)

    def __init__(self, sync: TreeCode) -> None:
        self.sync: TreeCode = sync

    async def definitions(
        self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200
    ) -> CodeAnswer:
        """As ``TreeCode.definitions``."""
        return await in_thread(self.sync.definitions, name, as_of=as_of, below=below, limit=limit)

    async def references(
        self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200
    ) -> CodeAnswer:
        """As ``TreeCode.references``."""
        return await in_thread(self.sync.references, name, as_of=as_of, below=below, limit=limit)

    async def callers(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """As ``TreeCode.callers``."""
        return await in_thread(self.sync.callers, name, as_of=as_of, below=below, limit=limit)

    async def callees(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """As ``TreeCode.callees``."""
        return await in_thread(self.sync.callees, name, as_of=as_of, below=below, limit=limit)

    async def tests(self, name: str, *, as_of: AsOf | None = None, below: str = "", limit: int = 200) -> CodeAnswer:
        """As ``TreeCode.tests``."""
        return await in_thread(self.sync.tests, name, as_of=as_of, below=below, limit=limit)

    async def outline(self, path: str, *, as_of: AsOf | None = None, limit: int = 10_000) -> CodeAnswer:
        """As ``TreeCode.outline``."""
        return await in_thread(self.sync.outline, path, as_of=as_of, limit=limit)

    async def imports(self, path: str, *, as_of: AsOf | None = None, limit: int = 10_000) -> CodeAnswer:
        """As ``TreeCode.imports``."""
        return await in_thread(self.sync.imports, path, as_of=as_of, limit=limit)

    async def impact(
        self, name: str, *, depth: int = 3, as_of: AsOf | None = None, below: str = "", limit: int = 200
    ) -> CodeAnswer:
        """As ``TreeCode.impact``."""
        return await in_thread(self.sync.impact, name, depth=depth, as_of=as_of, below=below, limit=limit)

    async def map(
        self, *, tokens: int = 1024, as_of: AsOf | None = None, below: str = "", limit: int = 1000
    ) -> CodeAnswer:
        """As ``TreeCode.map``."""
        return await in_thread(self.sync.map, tokens=tokens, as_of=as_of, below=below, limit=limit)


def answer(parts: dict[str, Any]) -> CodeAnswer:
    """An answer of its JSON."""
    files = dict(parts["files"])
    files.pop("pending")
    return CodeAnswer(
        definitions=tuple(CodeDefinition(**one) for one in parts["definitions"]),
        sites=tuple(_site(one) for one in parts["sites"]),
        imports=tuple(CodeImport(**{**one, "files": tuple(one["files"])}) for one in parts["imports"]),
        reached=tuple(_reached(one) for one in parts["reached"]),
        counts=CodeCounts(**parts["counts"]),
        files=CodeFiles(**files),
        truncated=parts["truncated"],
    )


def _site(parts: dict[str, Any]) -> CodeSite:
    given = {name: value for name, value in parts.items() if name != "class"}
    targets = tuple(CodeTarget(**one) for one in parts["targets"])
    return CodeSite(**{**given, "class_": parts["class"], "targets": targets})


def _reached(parts: dict[str, Any]) -> CodeReached:
    given = {name: value for name, value in parts.items() if name != "class"}
    return CodeReached(**{**given, "class_": parts["class"], "definition": CodeTarget(**parts["definition"])})
