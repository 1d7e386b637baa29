"""Named vector fields, as ``Database.collection`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from . import arguments
from .errors import InvalidError

if TYPE_CHECKING:
    from .database import Elements, Metric

FieldParts: TypeAlias = "tuple[str, tuple[int | None, str | None, str | None]]"


class VectorField(TypedDict, total=False):
    """The options of a named vector field, fixed at its creation. For an existing field, omitted
    options keep their value.
    """

    dim: int
    metric: Metric
    elements: Elements


def parts(fields: Mapping[str, VectorField] | None) -> list[FieldParts]:
    """Name, and dim, metric, elements, as the extension module takes them."""
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
        raise InvalidError(f"{what} is of type {type(options).__name__}; give a dict with dim, metric, elements")
    if unknown := [key for key in options if key not in ("dim", "metric", "elements")]:
        raise InvalidError(f"{what} has an unknown key {unknown[0]!r}; the keys are 'dim', 'metric' and 'elements'")
    dim = arguments.optional_whole(f"{what} dim", options.get("dim"))
    metric = arguments.optional_text(f"{what} metric", options.get("metric"))
    elements = arguments.optional_text(f"{what} elements", options.get("elements"))
    return arguments.text("the name of a vector field", name), (dim, metric, elements)
