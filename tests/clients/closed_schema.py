"""As much of JSON Schema as Codex' schemas of hook outputs use: closed objects, constants, choices and plain types."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, type] = {"string": str, "boolean": bool, "object": dict}


def faults(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    if "const" in schema:
        return [] if value == schema["const"] else [f"{at} is not {schema['const']!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{at} is none of {schema['enum']}"]
    if not isinstance(value, _TYPES[schema["type"]]):
        return [f"{at} is no {schema['type']}"]
    if not isinstance(value, dict):
        return []
    properties = schema["properties"]
    found = [f"{at}.{key} is not known" for key in value if key not in properties]
    found += [f"{at}.{key} is missing" for key in schema["required"] if key not in value]
    for key in value.keys() & properties.keys():
        found += faults(value[key], properties[key], f"{at}.{key}")
    return found
