from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.clients.setup.edits.foreign_names import foreign_paths
from mcp_agent_mail.clients.setup.wishes import EntryWish

MOST = {"url": "u", "headers": {"A": "1", "T": "t"}, "also": [2]}


# Plain JSON.
@pytest.mark.parametrize(
    ("there", "found"),
    [
        ({"url": "elsewhere", "headers": {"A": "other"}}, []),
        ({"also": [2], "headers": {"T": "t"}}, []),
        ({"also": [3], "helper": {}}, [("also",), ("helper",)]),
        ({"headers": {"T": "x", "X": {"y": 1}}}, [("headers", "T"), ("headers", "X")]),
        ({"headers": "none"}, []),
        ("none", []),
    ],
)
def test_foreign_is_what_is_neither_wished_nor_allowed(there: Any, found: list[tuple[str, ...]]) -> None:
    entry = EntryWish(path=["m"], value={"url": "u", "headers": {"A": "1"}}, at_most=MOST)

    assert foreign_paths(there, entry) == found
    assert foreign_paths(there, EntryWish(path=["m"], value=entry.value)) == []
