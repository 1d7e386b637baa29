"""The reference of the HTTP interface: pages from `docs/openapi.json`, one for each tag and one for the types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

METHODS = ("get", "put", "post", "patch", "delete", "head")
Schema = dict[str, Any]


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation, in the order of the document."""
    for path, of_path in description["paths"].items():
        for method, operation in of_path.items():
            if method in METHODS:
                yield path, method, operation


def pages(openapi: Path) -> dict[str, str]:
    """The text of each page, by its name."""
    description = json.loads(openapi.read_text(encoding="utf-8"))
    made = {}
    for tag in description["tags"]:
        own = [one for one in operations(description) if one[2]["tags"] == [tag["name"]]]
        made[tag["name"]] = "\n".join([f"# HTTP: {tag['name']}\n\n{tag['description']}.\n", *(of(*one) for one in own)])
    schemas = description["components"]["schemas"]
    made["types"] = "# HTTP: types\n\nWhat requests and answers are made of.\n\n" + "\n".join(
        f"({anchor(name)})=\n## {name}\n\n{shape(schema)}" for name, schema in sorted(schemas.items())
    )
    rows = "\n".join(
        f"| [`{method.upper()} {path}`](#{operation['operationId']}) | {cell(operation['summary'])} |"
        for path, method, operation in operations(description)
    )
    links = "[The guide](../../guides/server.md) · [the OpenAPI document](../../openapi.json)"
    head = f"# The HTTP interface\n\n{description['info']['description']}\n\n{links}"
    made["index"] = f"{head}\n\n| request | does |\n|---|---|\n{rows}\n"
    return made


def anchor(schema: str) -> str:
    return f"type-{schema.lower()}"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def of(path: str, method: str, operation: dict[str, Any]) -> str:
    """An operation."""
    name = operation["operationId"]
    said = [f"({name})=\n## `{method.upper()} {path}`\n", operation["summary"], ""]
    if operation.get("description"):
        said += [operation["description"], ""]
    scopes = [scope for need in operation["security"] for scope in need.get("key", [])]
    said += [
        f"A key needs the scope {' or '.join(f'`{scope}`' for scope in scopes)}.\n" if scopes else "It needs no key.\n"
    ]
    if parameters := operation.get("parameters"):
        said += ["| parameter | in | type | |", "|---|---|---|---|"]
        for parameter in parameters:
            must = "" if parameter.get("required") else " (optional)"
            said.append(
                f"| `{parameter['name']}` | {parameter['in']}{must} | {kind(parameter['schema'])} "
                f"| {cell(parameter.get('description', ''))} |"
            )
        said.append("")
    if body := operation.get("requestBody"):
        said += [f"**Body:** {contents(body['content'])}\n"]
    said += ["| answer | body | |", "|---|---|---|"]
    for status, answer in operation["responses"].items():
        said.append(f"| {status} | {contents(answer.get('content', {}))} | {cell(answer['description'])} |")
    return "\n".join([*said, ""])


def contents(content: dict[str, Any]) -> str:
    return ", ".join(
        kind(of_type["schema"]) + ("" if "json" in media and "nd" not in media else f" (`{media}`)")
        for media, of_type in content.items()
    )


def kind(schema: Schema) -> str:
    """A type in a few words, with links to the named ones."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    for union in ("oneOf", "anyOf", "allOf"):
        if union in schema:
            return (" and " if union == "allOf" else " or ").join(kind(one) for one in schema[union])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    types = schema.get("type", "anything")
    return " or ".join(of_type(one, schema) for one in ([types] if isinstance(types, str) else types))


def of_type(name: str, schema: Schema) -> str:
    if name == "array" and "items" in schema:
        items = kind(schema["items"])
        return f"array of ({items})" if " or " in items else f"array of {items}"
    if name == "object" and (values := schema.get("additionalProperties")):
        return f"object with values {kind(values)}" if isinstance(values, dict) else name
    if name in ("integer", "number"):
        bounds = [f"{word} {schema[key]}" for word, key in (("from", "minimum"), ("to", "maximum")) if key in schema]
        return f"{name} ({' '.join(bounds)})" if bounds else name
    return f"{name} ({schema['format']})" if name == "string" and schema.get("format") else name


def shape(schema: Schema) -> str:
    """A named type whole."""
    said = [schema["description"] + "\n"] if schema.get("description") else []
    if "properties" not in schema:
        variants = schema.get("oneOf", [])
        if any("properties" in one for one in variants):
            return "\n".join([*said, "One of:\n", *(shape(one) for one in variants)])
        return "\n".join([*said, f"{kind(schema)}\n"])
    said += ["| field | type | |", "|---|---|---|"]
    for name, of_field in schema["properties"].items():
        optional = "" if name in schema.get("required", []) else " (optional)"
        told = of_field.get("description") or next(
            (one["description"] for one in of_field.get("oneOf", []) if one.get("description")), ""
        )
        said.append(f"| `{name}`{optional} | {cell(kind(of_field))} | {cell(told)} |")
    return "\n".join([*said, ""])
