"""The reference of the Python package: pages with directives for Sphinx' autodoc, which has the rest from docstrings.

Each public name is on one page, by the module that defines it. A name whose module has no page is an error.
"""

from __future__ import annotations

import inspect

import nuthatch

#: Pages: their title, and the modules whose public names they have.
PAGES = {
    "database": ("Databases", ("database", "reports", "tenants", "transfer")),
    "collections": (
        "Collections, records, searches",
        ("collection", "records", "results", "vector_fields", "calibration"),
    ),
    "keyspaces": ("Keyspaces", ("kv", "kv_reads")),
    "graphs": ("Graphs", ("graph", "nodes", "networks")),
    "facts": ("Facts", ("facts", "statements")),
    "trees": ("Trees", ("tree", "tree_entries", "tree_grep", "tree_code")),
    "caches": ("Caches", ("cache", "answers", "wrapping")),
    "atomic": ("Batches, snapshots, transactions", ("write_batch", "snapshots", "transactions")),
    "async": (
        "Calls to be awaited",
        ("aio", "aio_cache", "aio_facts", "aio_graph", "aio_kv", "aio_transactions", "aio_tree"),
    ),
    "backups": ("Backups", ("backups",)),
    "errors": ("Errors", ("errors",)),
}
#: Where the guides explain what a page lists.
GUIDES = {
    "database": "python",
    "collections": "python",
    "keyspaces": "kv",
    "graphs": "graph",
    "facts": "facts",
    "trees": "trees",
    "caches": "cache",
    "atomic": "transactions",
    "async": "python",
    "backups": "backup",
    "errors": "python",
    "embedders": "embedders",
    "importers": "migrate",
}
#: Public modules that are pages of their own.
#: Calls that a class has from a base of ours are its own to a reader; what it has from Python's classes is not.
OF_PYTHON = "object, BaseException, Exception, tuple, list, dict, Sequence, Mapping, MutableMapping"
OF_CLASS = (
    "   :members:\n   :undoc-members:\n"
    f"   :inherited-members: {OF_PYTHON}\n   :exclude-members: __init__, __new__, count, index\n"
)
MODULES = {"embedders": "Embedders", "importers": "Importers", "backups": "Backups", "errors": "Errors"}


def public() -> dict[str, str]:
    """The public names that are classes and functions, with the modules that define them."""
    values = {name: getattr(nuthatch, name) for name in nuthatch.__all__}
    return {
        name: value.__module__.rpartition(".")[2]
        for name, value in values.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    names = public()
    homeless = {name: module for name, module in names.items() if not any(module in page[1] for page in PAGES.values())}
    if homeless:
        raise ValueError(f"no page of the reference has {homeless}; give it one in scripts/website/reference_python.py")
    made = {}
    for page, (title, modules) in PAGES.items():
        own = [name for module in modules for name, home in names.items() if home == module]
        module = f"nuthatch.{page}" if page in MODULES else None
        made[page] = (
            f"# Python: {title[0].lower()}{title[1:]}\n\n"
            + intro(module)
            + "".join(directive(f"nuthatch.{name}", getattr(nuthatch, name)) for name in own)
        )
        if module:
            made[page] += "".join(of_module(page, own))
    for page in MODULES.keys() - PAGES.keys():
        made[page] = f"# Python: {MODULES[page].lower()}\n\n" + intro(f"nuthatch.{page}") + "".join(of_module(page, []))
    made["index"] = "# The Python package\n\n" + intro("nuthatch")
    return {page: with_guide(page, text) for page, text in made.items()}


def with_guide(page: str, text: str) -> str:
    """A page of the reference says below its title where to read more."""
    title, _, rest = text.partition("\n")
    return text if page not in GUIDES else f"{title}\n\n[The guide](../../guides/{GUIDES[page]}.md)\n{rest}"


def intro(module: str | None) -> str:
    return rst(f".. automodule:: {module}\n") if module else ""


def of_module(page: str, but: list[str]) -> list[str]:
    """The contents of a public module besides names of the package."""
    module = getattr(nuthatch, page)
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    return [
        directive(f"{module.__name__}.{name}", getattr(module, name))
        for name in names
        if name not in but and not name.startswith("_")
    ]


def directive(name: str, value: object) -> str:
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    heading = name.removeprefix("nuthatch.")
    return f"## {heading}\n\n" + rst(f".. auto{kind}:: {name}\n{OF_CLASS if kind == 'class' else ''}")


def rst(text: str) -> str:
    return f"```{{eval-rst}}\n{text}```\n\n"
