"""Named vector fields, as ``Database.collection`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from . import arguments
from .errors import InvalidError

if TYPE_CHECKING:
    from .database import Elements, Metric

FieldParts: TypeAlias = "tuple[str, tuple[str | None, int | None, str | None, str | None]]"

Kind: TypeAlias = Literal["dense", "sparse", "tokens"]
"""The kind of a vector field's values: a vector; weights of terms; a vector for each token."""

_KEYS = ("kind", "dim", "metric", "elements")


class VectorField(TypedDict, total=False):
    """The options of a named vector field, fixed at its creation. For an existing field, omitted
    options keep their value.

    ``kind`` is ``"dense"`` by default. A ``"sparse"`` field has no ``dim``: its values are weights of terms, compared by
    their dot product. A ``"tokens"`` field has a vector of ``dim`` components for each token, which ``rerank`` compares.
    """

    kind: Kind
    dim: int
    metric: Metric
    elements: Elements


def parts(fields: Mapping[str, VectorField] | None) -> list[FieldParts]:
    """Name, and kind, dim, metric, elements, as the extension module takes them."""
    if fields is None:
        return []
    if not isinstance(fields, Mapping):
        raise InvalidError(
            f"vectors is of type {type(fields).__name__}; give a dict such as {{'title': {{'dim': 384}}}}"
        )
    return [_part(name, options) for name, options in fields.items()]


def _part(name: str, options: object) -> FieldParts:
    what = f"vectors[{name!r}]"
    if not isinstance(options, Mapping):
        raise InvalidError(
            f"{what} is of type {type(options).__name__}; give a dict with dim, metric, elements or kind"
        )
    if unknown := [key for key in options if key not in _KEYS]:
        raise InvalidError(
            f"{what} has an unknown key {unknown[0]!r}; the keys are 'kind', 'dim', 'metric' and 'elements'"
        )
    kind = arguments.optional_text(f"{what} kind", options.get("kind"))
    dim = arguments.optional_whole(f"{what} dim", options.get("dim"))
    metric = arguments.optional_text(f"{what} metric", options.get("metric"))
    elements = arguments.optional_text(f"{what} elements", options.get("elements"))
    return arguments.text("the name of a vector field", name), (kind, dim, metric, elements)
