"""What the guard asks, as it comes over the wire: what is none is refused before anything is looked up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.guard.decision import GuardedLease, GuardOutcome, HeldPath
from mcp_agent_mail.domain.guard.events import MAX_EVENTS_AT_ONCE, GuardEvent
from mcp_agent_mail.features.guarding.schemas import CheckAnswer, check_value, event_value, read_check, read_events


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"project": "x"},
        {"project": "x", "paths": "a"},
        {"project": "x", "paths": [""]},
        {"paths": []},
        {"project": 1, "paths": []},
    ],
)
def test_a_question_that_is_none(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_check(value)


@pytest.mark.parametrize("slash", ["/", "%2f", "%2F"])
def test_thousands_of_paths_hundreds_of_folders_deep_are_refused_with_the_bound(slash: str) -> None:
    paths = [f"{number}{slash}" + f"a{slash}" * 395 + "f" for number in range(4_900)]

    with pytest.raises(InvalidInput, match=r"At most 16,777,216 are looked up at once") as refusal:
        read_check({"project": "app", "paths": paths})

    assert len(refusal.value.message) < 1_000


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"paths": ["x"] * 5_001}, "paths is a list"),
        ({"paths": [1]}, "a path is a percent-encoded text"),
        ({"paths": ["x" * 16_385]}, "a path is a percent-encoded text"),
        ({"project": "  "}, "project is a path or slug"),
        ({"project": "x" * 4_097}, "project is text of at most 4,096"),
        ({"agent": "x" * 257}, "agent is text of at most 256"),
        ({"author": 1}, "author is text of at most 256"),
    ],
)
def test_every_part_of_a_question_has_its_bound(fault: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read_check({"project": "app", "paths": ["a"], **fault})


def test_a_path_is_asked_for_once_and_a_blank_name_is_none() -> None:
    request = read_check({"project": " app ", "agent": " ", "paths": ["a%20b", "caf%E9", "a%20b"]})

    assert (request.project, request.agent, request.author) == ("app", None, None)
    assert request.decoded() == {"a%20b": "a b", "caf%E9": "caf\udce9"}


@pytest.mark.parametrize("value", [{}, {"events": {}}, {"events": [{}] * (MAX_EVENTS_AT_ONCE + 1)}])
def test_a_report_is_a_list_of_events_and_not_of_too_many(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="events is a list of at most"):
        read_events(value)


def test_what_a_guard_reports_besides_never_stands_for_what_the_store_knows() -> None:
    event = GuardEvent(
        id=7,
        event_key="0" * 32,
        project_id=None,
        project="/code/app",
        ts=Micros(0),
        action=GuardOutcome.REFUSED,
        hook="pre-commit",
        agent="BlueLake",
        repository="/code/app",
        detail=json.dumps({"agent": "RedStone", "id": 9, "note": "n"}),
    )

    value = event_value(event)

    assert (value["agent"], value["id"], value["note"]) == ("BlueLake", 7, "n")
    assert value["ts"] == iso(Micros(0))


def test_a_held_path_is_told_as_it_was_asked_for_with_a_short_reason() -> None:
    holding = GuardedLease(
        id=3,
        agent="RedStone",
        path_pattern="a b",
        is_folder=False,
        exclusive=True,
        reason="r" * 300,
        expires_ts=Micros(0),
        ignore_case=False,
    )
    answer = CheckAnswer(
        agent="BlueLake", held=[HeldPath(path="a b", holding=holding, is_own_too=False)], sent={"a b": "a%20b"}
    )

    value = check_value(answer)

    (held,) = value["held"]
    assert (value["held_count"], held["path"], held["holder"]["agent"]) == (1, "a%20b", "RedStone")
    assert held["holder"]["reason"] == "r" * 200
