from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MOST_NUMBER, MOST_TAKEN_OVER
from mcp_agent_mail.store.engine.noted_numbers import NOTE_FILE, NoteFailed, flaw_of_note, note_given, read_noted
from mcp_agent_mail.store.engine.sqlite.numbers import REACH, GivenNumbers

OURS = "our-store"
FAR = 3 * REACH


def _given(messages: int, fencing: int) -> GivenNumbers:
    return GivenNumbers(sequences={"messages": messages}, counters={"fencing": fencing}, latest=0)


OWN = _given(2, 2)


def test_of_each_kind_the_highest_stays_noted(tmp_path: Path) -> None:
    assert read_noted(tmp_path, OURS, OWN) is None

    note_given(tmp_path, OURS, _given(7, 3))
    note_given(tmp_path, OURS, _given(5, 4))

    assert read_noted(tmp_path, OURS, OWN) == _given(7, 4)
    assert [path.name for path in tmp_path.iterdir()] == [NOTE_FILE]
    assert (tmp_path / NOTE_FILE).stat().st_mode & 0o077 == 0


def _lay(tmp_path: Path, **said: object) -> None:
    (tmp_path / NOTE_FILE).write_text(json.dumps({"store_id": OURS, "sequences": {}, "counters": {}} | said))


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"store_id": OURS, "sequences": {"messages": MOST_NUMBER}, "counters": {}},
        {"store_id": OURS, "sequences": {"messages": "7"}, "counters": {}},
        {"store_id": OURS, "sequences": {"messages": -1}, "counters": {}},
        {"store_id": OURS, "sequences": {"messages": True}, "counters": {}},
        {"store_id": OURS, "sequences": {}},
        {"store_id": OURS, "sequences": {f"t{number}": 1 for number in range(101)}, "counters": {}},
        {"store_id": OURS, "sequences": {}, "counters": {}, "more": "x" * 70_000},
        {"store_id": "another", "sequences": {"messages": 9}, "counters": {}},
        {"store_id": [OURS], "sequences": {"messages": 9}, "counters": {}},
        {"sequences": {"messages": 9}, "counters": {}},
    ],
)
def test_what_none_of_us_has_noted_says_nothing_and_is_replaced(tmp_path: Path, said: object) -> None:
    (tmp_path / NOTE_FILE).write_text(json.dumps(said))
    assert read_noted(tmp_path, OURS, OWN) is None

    note_given(tmp_path, OURS, _given(7, 3))

    assert read_noted(tmp_path, OURS, OWN) == _given(7, 3)


def test_only_the_kinds_that_a_store_gives_out_are_read(tmp_path: Path) -> None:
    _lay(tmp_path, sequences={"messages_fts": 7, "messages": 9}, counters={"delivered_ts": 4_000_000_000_000_000})

    found = read_noted(tmp_path, OURS, OWN)

    assert found == GivenNumbers(sequences={"messages": 9}, counters={}, latest=0)


def test_what_is_out_of_reach_of_the_database_it_is_read_for_says_nothing(tmp_path: Path) -> None:
    _lay(tmp_path, sequences={"messages": FAR}, counters={"fencing": 9})

    assert read_noted(tmp_path, OURS, OWN) == _given(2, 9)


def test_what_a_stranger_in_its_place_gives_out_is_not_noted_and_does_not_hide_what_was(tmp_path: Path) -> None:
    note_given(tmp_path, OURS, _given(700, 3))

    note_given(tmp_path, OURS, _given(FAR, 900), replaced=_given(7, 3))
    note_given(tmp_path, OURS, _given(FAR, 900), replaced=_given(FAR, 900))

    assert read_noted(tmp_path, OURS, OWN) == _given(700, 900)
    assert read_noted(tmp_path, OURS, _given(FAR, 0)) == _given(700, 900)


def test_where_nothing_is_noted_yet_only_what_is_in_reach_of_the_replaced_one_is(tmp_path: Path) -> None:
    note_given(tmp_path, OURS, _given(FAR, 9), replaced=_given(7, 3))

    assert read_noted(tmp_path, OURS, _given(FAR, 9)) == _given(7, 9)


def test_what_was_noted_of_a_stranger_goes_once_the_store_is_back(tmp_path: Path) -> None:
    note_given(tmp_path, OURS, _given(FAR, 9))

    note_given(tmp_path, OURS, _given(7, 10), replaced=_given(FAR, 9))

    assert read_noted(tmp_path, OURS, _given(FAR, 0)) == _given(7, 10)


def test_whatever_is_given_what_is_written_is_read(tmp_path: Path) -> None:
    names = {f"t{number}" * 1_000: 5 for number in range(150)}

    note_given(
        tmp_path,
        OURS,
        GivenNumbers(sequences={**names, "messages": MOST_NUMBER}, counters={"x": 1, "fencing": 3}, latest=9),
    )

    assert read_noted(tmp_path, OURS, _given(MOST_TAKEN_OVER, 0)) == _given(MOST_TAKEN_OVER, 3)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps({"store_id": OURS, "sequences": {"messages": 9}, "counters": {}}))
    (tmp_path / NOTE_FILE).symlink_to(elsewhere)
    assert read_noted(tmp_path, OURS, OWN) is None

    note_given(tmp_path, OURS, _given(7, 3))

    assert json.loads(elsewhere.read_text())["sequences"] == {"messages": 9}
    assert read_noted(tmp_path, OURS, OWN) == _given(7, 3)


@pytest.mark.parametrize("name", [NOTE_FILE, f"{NOTE_FILE}.new"])
def test_a_folder_in_its_place_is_told_with_what_to_do_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    assert flaw_of_note(tmp_path) is None
    (tmp_path / name).mkdir()

    with pytest.raises(NoteFailed, match=NOTE_FILE) as refused:
        note_given(tmp_path, OURS, _given(7, 3))

    assert "Move away what lies there" in refused.value.hint
    assert [path.name for path in tmp_path.iterdir()] == [name]
    flaw = flaw_of_note(tmp_path)
    assert flaw is not None
    assert name in flaw


def test_a_note_that_is_none_is_a_flaw_and_another_stores_is_not(tmp_path: Path) -> None:
    note_given(tmp_path, "another", _given(7, 3))
    assert flaw_of_note(tmp_path) is None

    (tmp_path / NOTE_FILE).write_text("[")

    assert flaw_of_note(tmp_path) == f"{tmp_path / NOTE_FILE} is no note of this program"
