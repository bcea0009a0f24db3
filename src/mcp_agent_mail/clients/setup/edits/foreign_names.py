"""What stands in a project's entry of ours that none of us put there: where mail goes is not a stranger's to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_agent_mail.clients.setup.wishes import EntryWish


def foreign_paths(there: object, entry: EntryWish) -> list[tuple[str, ...]]:
    """The innermost paths, below the entry, of what is neither wished nor allowed."""
    if entry.at_most is None or not isinstance(there, Mapping) or not isinstance(entry.value, Mapping):
        return []
    found = _foreign(there, entry.value, entry.at_most, ())
    return [path for path in found if not entry.is_persons(path, there[path[0]])]


# Any: plain values of JSON or TOML.
def _foreign(
    there: Mapping[str, Any], wanted: Mapping[str, Any], allowed: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    for name, value in there.items():
        mine, may = wanted.get(name), allowed.get(name)
        if isinstance(value, Mapping) and isinstance(may, Mapping):
            yield from _foreign(value, mine if isinstance(mine, Mapping) else {}, may, (*path, name))
        elif name not in wanted and (name not in allowed or value != may):
            yield (*path, name)
