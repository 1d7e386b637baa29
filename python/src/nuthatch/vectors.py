"""Vectors from Python as little-endian f32 bytes, which is how they cross into the engine.

numpy is used where the caller uses it, and never imported otherwise.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

from .errors import InvalidError


class SupportsArray(Protocol):
    """A numpy array, or anything that turns into one (a tensor of another library)."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


Vector: TypeAlias = "Sequence[float] | SupportsArray"
"""One vector: a list of numbers, or a numpy array of one dimension of any real type or of bools (zeros and ones)."""

Vectors: TypeAlias = "Sequence[Vector] | Sequence[Vector | None] | SupportsArray"
"""One vector per record: a numpy array of two dimensions, or a list of vectors (None for a record without)."""

VectorsByField: TypeAlias = "Vectors | Mapping[str, Vectors]"
"""The same; or by the name of their vector field, where the empty name is that of the unnamed vectors."""

VectorColumn: TypeAlias = "tuple[bytes, int] | list[bytes | None]"
"""What the engine takes: all rows in one piece with their length, or each by itself."""


def vector_bytes(vector: object, what: str) -> bytes:
    """One vector. ``what`` names it in messages."""
    if hasattr(vector, "__array__"):
        return _array_bytes(vector, 1, what)
    if isinstance(vector, array.array) and vector.typecode == "f":
        floats = vector[:]
    elif isinstance(vector, (str, bytes, bytearray)) or not isinstance(vector, Iterable):
        raise InvalidError(f"{what} is of type {type(vector).__name__}; give a list of numbers or a numpy array")
    else:
        try:
            floats = array.array("f", cast("Iterable[float]", vector))
        except (TypeError, OverflowError) as error:
            raise InvalidError(
                f"{what} has a component that is not a number that fits 32-bit floats: {error}"
            ) from None
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def by_field(vectors: object, what: str) -> dict[str, bytes]:
    """One vector for each of some vector fields. ``what`` names them in messages."""
    if not isinstance(vectors, Mapping):
        raise InvalidError(
            f"{what} is of type {type(vectors).__name__}; give a dict from the names of vector fields to vectors"
            " (for one vector without a name: did you mean 'vector'?)"
        )
    return {field_name(name, what): vector_bytes(vector, f"{what} {name!r}") for name, vector in vectors.items()}


def field_name(name: object, what: str) -> str:
    """The name of a vector field."""
    if not isinstance(name, str):
        raise InvalidError(f"{what} names a vector field {name!r}; names are strings")
    return name


def column(vectors: object, count: int, of: str = "ids", what: str = "vectors") -> VectorColumn:
    """One vector for each of ``count`` records, or of other things; ``of`` and ``what`` name them in messages."""
    rows = rows_of(vectors, what)
    _same_length(what, rows_in(rows), count, of)
    return rows


def rows_of(vectors: object, what: str = "vectors") -> VectorColumn:
    """Several vectors, as many as they are."""
    if hasattr(vectors, "__array__"):
        import numpy

        matrix = numpy.asarray(vectors)
        if matrix.dtype != object:
            if matrix.ndim != 2:
                raise InvalidError(
                    f"{what} has {matrix.ndim} dimension(s), shape {matrix.shape}; give a matrix with a row for each vector"
                )
            if matrix.shape[1] == 0:
                raise InvalidError(f"{what} has rows of 0 components, shape {matrix.shape}; give vectors of 2 to 4096")
            return _array_bytes(matrix, 2, what), int(matrix.shape[1])
        vectors = list(matrix)
    if isinstance(vectors, (str, bytes)) or not isinstance(vectors, Iterable):
        raise InvalidError(f"{what} is of type {type(vectors).__name__}; give a list of vectors or a numpy array")
    return [None if row is None else vector_bytes(row, f"vector {at}") for at, row in enumerate(vectors)]


def rows_in(vectors: VectorColumn) -> int:
    """How many vectors there are."""
    if isinstance(vectors, tuple):
        matrix, dim = vectors
        return len(matrix) // (dim * 4)
    return len(vectors)


def _same_length(what: str, found: int, count: int, of: str) -> None:
    if found != count:
        raise InvalidError(f"{what} has {found} entries for {count} {of}; give one for each, in the same order")


def _array_bytes(values: object, ndim: int, what: str) -> bytes:
    import numpy

    found = numpy.asarray(values)
    if found.ndim != ndim:
        raise InvalidError(f"{what} has {found.ndim} dimension(s), shape {found.shape}; it must have {ndim}")
    if found.dtype.str == "<f4":
        return found.tobytes()  # in C order, whatever the array's is
    if found.dtype.kind not in "fiub":
        raise InvalidError(
            f"{what} is an array of {found.dtype}; give real numbers (float16, float32, float64, integers) or bools"
        )
    # What is too large for 32 bits becomes infinite, and the engine refuses it by name.
    with numpy.errstate(over="ignore"):
        return numpy.ascontiguousarray(found, dtype="<f4").tobytes()
