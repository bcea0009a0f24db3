"""Results as Markdown, for people and models that read better than they parse.

One way for every result: plain values are a list of `key: value`, mail, agents and leases are a
line each, lists of other small objects are tables, larger objects have headings, and text of several
lines is fenced. What agents wrote is data: it never starts a heading, a link or a fence of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.server.rendering.item_lines import COPIED, are_lines, code, item_lines
from mcp_agent_mail.server.rendering.item_lines import plain as _plain

_DEEPEST = 6
_WIDEST_TABLE = 8
_LONGEST_CELL = 80
_BREAKS = lazy_pattern(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]+")
_FENCES = lazy_pattern(r"`{3,}")


def to_markdown(title: str | None, value: Json) -> str:
    """`title` as the heading, then `value`. Without one where the reader has just named it, as whoever calls a tool."""
    heading = [] if title is None else [f"# {_plain(title)}", ""]
    return "\n".join([*heading, *_block(value, depth=2)]).strip() + "\n"


def _block(value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _object(value, depth)
    elif isinstance(value, list):
        yield from _list(value, depth)
    else:
        yield _inline(value)


def _object(value: Mapping[str, Json], depth: int) -> Iterator[str]:
    if not value:
        yield "(nothing)"
    value = _without_repeats(value)
    blocks = {key: one for key, one in value.items() if _needs_block(one)}
    for key, one in value.items():
        if key not in blocks:
            yield f"- {_plain(key)}: {code(one) if key in COPIED and isinstance(one, str) else _inline(one)}"
    for key, one in blocks.items():
        yield ""
        if isinstance(one, str):
            yield f"{_plain(key)}:"
            yield from _fenced(one)
        else:
            yield f"{'#' * min(depth, _DEEPEST)} {_plain(key)}"
            yield ""
            yield from _block([one] if are_lines([one]) else one, depth + 1)


def _without_repeats(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """What a reply's answer says of its message is told once, with its delivery."""
    deliveries = value.get("deliveries")
    if not isinstance(deliveries, list) or not deliveries or not are_lines(deliveries):
        return value
    told = deliveries[0].get("payload", {})
    return {key: one for key, one in value.items() if key not in told or told[key] != one}


def _list(values: Sequence[Json], depth: int) -> Iterator[str]:
    if not values:
        yield "(none)"
    elif are_lines(values):
        for line, body in item_lines(values):
            yield line
            if body is not None:
                yield from _fenced(body)
    elif _is_table(values):
        yield from _table(values)
    else:
        for number, one in enumerate(values, start=1):
            if isinstance(one, Mapping):
                yield f"{'#' * min(depth, _DEEPEST)} {_heading(one, number)}"
                yield ""
                yield from _object(one, depth + 1)
                yield ""
            elif isinstance(one, list):
                yield f"{number}."
                yield from _list(one, depth + 1)
            else:
                yield f"- {_inline(one)}"


def _heading(value: Mapping[str, Json], number: int) -> str:
    """What a person would call it: its id and subject, or its name."""
    name = next((value[key] for key in ("subject", "name", "slug", "path", "path_pattern") if value.get(key)), None)
    lead = f"{value['id']}" if "id" in value else f"{number}"
    return lead if name is None else f"{lead}: {_inline(name)}"


def _is_table(values: Sequence[Json]) -> bool:
    first = values[0]
    return (
        isinstance(first, Mapping)
        and 0 < len(first) <= _WIDEST_TABLE
        and all(isinstance(one, Mapping) and one.keys() == first.keys() for one in values)
        and all(_is_cell(cell) for one in values for cell in one.values())
    )


def _is_cell(value: Json) -> bool:
    return not isinstance(value, Mapping | list) and len(str(value)) <= _LONGEST_CELL


def _table(rows: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    keys = list(rows[0])
    yield f"| {' | '.join(_plain(key) for key in keys)} |"
    yield f"|{'---|' * len(keys)}"
    for row in rows:
        yield f"| {' | '.join(_inline(row[key]) for key in keys)} |"


def _needs_block(value: Json) -> bool:
    if isinstance(value, str):
        return _BREAKS.search(value) is not None
    if isinstance(value, list):
        return any(isinstance(one, Mapping | list) for one in value)
    return isinstance(value, Mapping) and bool(value)


def _inline(value: Json) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_inline(one) for one in value) or "none"
    if isinstance(value, Mapping):
        return "nothing"
    return _plain(str(value))


def _fenced(text: str) -> Iterator[str]:
    """Between fences longer than any in the text."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}text"
    yield text
    yield fence
