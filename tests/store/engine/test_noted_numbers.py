from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MOST_NUMBER
from mcp_agent_mail.store.engine.noted_numbers import NOTE_FILE, note_given, read_noted
from mcp_agent_mail.store.engine.numbers import GivenNumbers


def _given(messages: int, fencing: int) -> GivenNumbers:
    return GivenNumbers(sequences={"messages": messages}, counters={"fencing": fencing}, latest=0)


def test_of_each_kind_the_highest_stays_noted(tmp_path: Path) -> None:
    assert read_noted(tmp_path) is None

    note_given(tmp_path, _given(7, 3))
    note_given(tmp_path, _given(5, 4))

    assert read_noted(tmp_path) == _given(7, 4)
    assert [path.name for path in tmp_path.iterdir()] == [NOTE_FILE]
    assert (tmp_path / NOTE_FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"sequences": {"messages": MOST_NUMBER}, "counters": {}},
        {"sequences": {"messages": "7"}, "counters": {}},
        {"sequences": {"messages": -1}, "counters": {}},
        {"sequences": {"messages": True}, "counters": {}},
        {"sequences": {}},
        {"sequences": {f"t{number}": 1 for number in range(101)}, "counters": {}},
        {"sequences": {}, "counters": {}, "more": "x" * 70_000},
    ],
)
def test_what_none_of_us_has_noted_says_nothing_and_is_replaced(tmp_path: Path, said: object) -> None:
    (tmp_path / NOTE_FILE).write_text(json.dumps(said))
    assert read_noted(tmp_path) is None

    note_given(tmp_path, _given(7, 3))

    assert read_noted(tmp_path) == _given(7, 3)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps({"sequences": {"messages": 9}, "counters": {}}))
    (tmp_path / NOTE_FILE).symlink_to(elsewhere)
    assert read_noted(tmp_path) is None

    note_given(tmp_path, _given(7, 3))

    assert json.loads(elsewhere.read_text())["sequences"] == {"messages": 9}
    assert read_noted(tmp_path) == _given(7, 3)
