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

Sparse: TypeAlias = "Mapping[int, float] | Mapping[str, Any]"
"""A sparse vector: a dict from indices (0 to 2**32 - 1) to values (finite, above 0), or a dict of two lists or arrays,
``indices`` and ``values``."""

FieldValue: TypeAlias = "Vector | Sparse | Vectors"
"""The value of a named vector field: one vector; a sparse one; or one for each token, as a matrix or a list."""

FieldValues: TypeAlias = "Vectors | Sequence[FieldValue | None]"
"""One value of a named vector field per record (None for a record without)."""

VectorsByField: TypeAlias = "Vectors | Mapping[str, FieldValues]"
"""Vectors; or values by the name of their vector field, where the empty name is that of the unnamed vectors."""

ReadValue: TypeAlias = "list[float] | dict[int, float] | list[list[float]]"
"""A value of a named vector field as it is read: a dense vector, a sparse one, or one for each token."""

VectorColumn: TypeAlias = "tuple[bytes, int] | list[bytes | None]"
"""The form that the engine takes: all rows in one piece with their length, or each by itself."""

ValueParts: TypeAlias = "bytes | tuple[bytes, int] | tuple[bytes, bytes]"
"""The same of one value of a named vector field: components; those of all tokens, and how many each has; or indices
(little-endian unsigned 32-bit) and values."""

ValueColumn: TypeAlias = "tuple[bytes, int] | list[ValueParts | None]"
"""The same of several."""


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


def value_parts(value: object, what: str) -> ValueParts:
    """One value of a named vector field. ``what`` names it in messages."""
    if isinstance(value, Mapping):
        return _sparse(value, what)
    if not hasattr(value, "__array__") and _is_list_of_lists(value):
        rows = [
            vector_bytes(row, f"{what}: token vector {at}") for at, row in enumerate(cast("Iterable[object]", value))
        ]
        if differing := next((at for at, row in enumerate(rows) if len(row) != len(rows[0])), 0):
            raise InvalidError(
                f"{what}: token vector {differing} has {len(rows[differing]) // 4} components, the first has {len(rows[0]) // 4}"
            )
        return b"".join(rows), len(rows[0]) // 4
    if hasattr(value, "__array__"):
        import numpy

        found = numpy.asarray(value)
        if found.ndim == 2:
            if 0 in found.shape:
                raise InvalidError(
                    f"{what} has shape {found.shape}; give at least one token vector of 2 to 4096 components"
                )
            return _array_bytes(found, 2, what), int(found.shape[1])
    return vector_bytes(value, what)


def _is_list_of_lists(value: object) -> bool:
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence) or not value:
        return False
    first = value[0]
    return (hasattr(first, "__array__") and getattr(first, "ndim", 0) == 1) or isinstance(
        first, (list, tuple, array.array)
    )


def _sparse(value: Mapping[Any, Any], what: str) -> tuple[bytes, bytes]:
    """Indices and values."""
    if "indices" in value or "values" in value:
        if unknown := [key for key in value if key not in ("indices", "values")]:
            raise InvalidError(f"{what} has an unknown key {unknown[0]!r}; a sparse vector has 'indices' and 'values'")
        indices, values = value.get("indices"), value.get("values")
    else:
        indices, values = list(value), list(value.values())
    if hasattr(indices, "__array__"):
        import numpy

        found = numpy.asarray(indices)
        if found.dtype.kind not in "iu":
            raise InvalidError(f"{what} has indices of {found.dtype}; give whole numbers")
        indices = found.tolist()
    if isinstance(indices, (str, bytes)) or not isinstance(indices, Iterable):
        raise InvalidError(f"{what} has no list of indices; give {{index: value}}, or lists 'indices' and 'values'")
    try:
        numbers = array.array("I", cast("Iterable[int]", indices))
    except (TypeError, OverflowError) as error:
        raise InvalidError(f"{what} has an index that is no whole number from 0 to 4294967295: {error}") from None
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes(), vector_bytes(values, f"{what}: its values")


def by_field(vectors: object, what: str) -> dict[str, ValueParts]:
    """One value for each of some vector fields. ``what`` names them in messages."""
    if not isinstance(vectors, Mapping):
        raise InvalidError(
            f"{what} is of type {type(vectors).__name__}; give a dict from the names of vector fields to vectors"
            " (for one vector without a name: did you mean 'vector'?)"
        )
    return {field_name(name, what): value_parts(value, f"{what} {name!r}") for name, value in vectors.items()}


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


def values(given: object, count: int, what: str) -> ValueColumn:
    """One value of a named vector field for each of ``count`` records; ``what`` names them in messages."""
    if hasattr(given, "__array__"):
        import numpy

        found = numpy.asarray(given)
        if found.dtype != object and found.ndim != 3:
            return column(given, count, what=what)  # type: ignore[return-value]
        given = list(found)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidError(f"{what} is of type {type(given).__name__}; give a list with a value for each record")
    rows: ValueColumn = [
        None if row is None else value_parts(row, f"{what}: value {at}") for at, row in enumerate(given)
    ]
    _same_length(what, len(rows), count, "ids")
    return rows


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
    # Values too large for 32 bits become infinite, and the engine refuses them by name.
    with numpy.errstate(over="ignore"):
        return numpy.ascontiguousarray(found, dtype="<f4").tobytes()
