"""Every row of what is kept has a test that shows it, and each of those is there: 100 %."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.facades.claude_mailbox.facts import CONTRACT, PAGE
from tests.facades.neighbours import mailbox_rows

TESTS = Path(__file__).parents[2]
_ROWS = {"daemon": 14, "command": 9, "FC": 10, "CM": 11, "D": 13}
"""How many there are of each kind."""


def test_all_rows_are_there_and_no_other() -> None:
    kinds = [re.match(r"daemon|command|FC|CM|D", row) for row in CONTRACT]
    counted: dict[str, int] = {}
    for kind in kinds:
        assert kind is not None
        counted[kind[0]] = counted.get(kind[0], 0) + 1

    assert counted == _ROWS
    assert all(CONTRACT.values())
    assert PAGE.keys() == {row.id for row in mailbox_rows.ROWS}


@pytest.mark.parametrize(
    "place", sorted({place for places in (*CONTRACT.values(), *PAGE.values()) for place in places})
)
def test_what_shows_a_row_is_a_test(place: str) -> None:
    file, _, name = place.partition("::")

    text = (TESTS / file).read_text(encoding="utf-8")

    assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), place
