"""Results laid out so that TOON writes their lists as tables, which is where it saves.

A table needs rows with the same keys and plain values. So an empty list is null, a key that only some
items have is null in the others, and a list of texts in a row is one text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.tools import Json

_JOINT = ", "


def to_toon(value: Json) -> str:
    """The TOON text of a result. Raises what the encoder raises on what is no JSON."""
    from toon_format import encode  # noqa: PLC0415  # 60 ms of import that only its users pay

    return encode(as_tables(value))


def as_tables(value: Json) -> Json:
    """The value in the form above; the order of items and keys stays. A repeat changes nothing."""
    if isinstance(value, dict):
        return {key: as_tables(one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    items = [as_tables(one) for one in value]
    if not items:
        return None
    return _rows(items) if all(isinstance(one, dict) for one in items) else items


def _rows(items: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    keys = dict.fromkeys(key for one in items for key in one)
    columns = {key: _column([one.get(key) for one in items]) for key in keys}
    return [{key: columns[key][number] for key in keys} for number in range(len(items))]


def _column(cells: list[Json]) -> list[Json]:
    """Lists of texts as one text each, unless a text holds what joins them."""
    if all(cell is None or _can_be_joined(cell) for cell in cells):
        return [None if cell is None else _JOINT.join(cell) for cell in cells]
    return cells


def _can_be_joined(cell: Json) -> bool:
    return isinstance(cell, list) and all(isinstance(one, str) and _JOINT not in one for one in cell)
