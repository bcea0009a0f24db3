from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.domain.guard.events import MAX_PATHS_TOLD, NewGuardEvent, read_detail, read_guard_event

NOW = parse_time("2026-01-02T00:00:00Z")


def report(**more: Any) -> dict[str, Any]:
    return {
        "event_key": "0a" * 16,
        "ts": "2026-01-01T00:00:00Z",
        "project": "/code/app",
        "action": "refused",
        "hook": "pre-commit",
        "agent": "BlueLake",
        "repository": "/code/app",
        "detail": {},
        **more,
    }


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


def told(**detail: Any) -> dict[str, Any]:
    return read_detail(read_guard_event(report(detail=detail), NOW).detail)


def test_a_report_is_read_as_it_was_written() -> None:
    event = read_guard_event(report(detail={"note": "n"}), NOW)

    assert event == NewGuardEvent(
        event_key="0a" * 16,
        ts=parse_time("2026-01-01"),
        project="/code/app",
        action=GuardOutcome.REFUSED,
        hook="pre-commit",
        agent="BlueLake",
        repository="/code/app",
        detail=json.dumps({"paths": [], "path_count": 0, "source": "", "note": "n"}),
    )


def test_a_person_has_no_agents_name() -> None:
    assert read_guard_event(report(agent=None), NOW).agent is None


def test_a_time_to_come_is_now() -> None:
    assert read_guard_event(report(ts="2999-01-01"), NOW).ts == NOW


def test_a_folder_of_any_bytes_is_told_in_characters_that_can_be_stored() -> None:
    event = read_guard_event(report(repository="/code/caf%C3%A9%FF", project="/code/\udcff"), NOW)

    assert event.repository == "/code/caf\u00e9\\xff"
    assert event.project == "/code/\\udcff"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"event_key": "x"}, "32 hexadecimal digits"),
        ({"event_key": None}, "event_key is text"),
        ({"action": "passed"}, "action is one of"),
        ({"hook": "post-commit"}, "hook is one of"),
        ({"agent": "x" * 65}, "agent is text of at most 64"),
        ({"detail": "x"}, "detail is an object"),
        ({"detail": {"x": "y" * 13_000}}, "detail is an object of at most 12,000 bytes"),
        ({"detail": nested(20_000)}, "detail is an object of at most 12,000 bytes"),
        ({"ts": "soon"}, "ts is a time"),
        ({"ts": "9999-12-31T23:59:59-23:59"}, "ts is a time"),
        ({"project": None}, "project is text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_report_that_is_none_is_refused_with_what_it_should_be(fault: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        read_guard_event(report(**fault), NOW)


@pytest.mark.parametrize("value", [None, [], "x"])
def test_an_event_is_an_object(value: object) -> None:
    with pytest.raises(InvalidInput, match="an event is an object"):
        read_guard_event(value, NOW)


def test_of_a_detail_only_the_known_fields_of_their_kinds_are_kept() -> None:
    path = {"path": "a", "holder": "Red", "reservation_id": 7, "path_pattern": "*", "is_own_too": True}

    assert told(paths=[path, "b"], path_count=2, source="server", note="n", more="x") == {
        "paths": [path, {"path": "", "holder": "", "reservation_id": 0, "path_pattern": "", "is_own_too": False}],
        "path_count": 2,
        "source": "server",
        "note": "n",
    }
    assert told(paths="a", path_count="2", source=3, note=["n"]) == told()


def test_numbers_words_and_paths_are_bounded() -> None:
    assert [told(path_count=number)["path_count"] for number in (-1, 2**60)] == [0, 2**53]
    assert len(told(note="x" * 400)["note"]) == 300
    assert told(note="\udcff")["note"] == "\\udcff"
    assert len(told(paths=[{}] * 30)["paths"]) == MAX_PATHS_TOLD


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000])
def test_whatever_was_stored_once_is_read_in_the_one_shape(text: str) -> None:
    assert read_detail(text) == {"paths": [], "path_count": 0, "source": "", "note": ""}
    assert read_detail(json.dumps({"note": "n"}))["note"] == "n"
