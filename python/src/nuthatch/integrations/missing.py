"""The error for a framework that is not installed."""

from __future__ import annotations


def package(module: str, extra: str, error: ImportError) -> ImportError:
    """The error of ``nuthatch.integrations.<module>``, naming the extra that brings its framework.

    >>> print(package("haystack", "haystack", ImportError("No module named 'haystack'")))
    nuthatch.integrations.haystack needs a package that is not there (No module named 'haystack'): pip install 'nuthatch[haystack]'
    """
    message = (
        f"nuthatch.integrations.{module} needs a package that is not there ({error}): pip install 'nuthatch[{extra}]'"
    )
    return ImportError(message, name=error.name)
