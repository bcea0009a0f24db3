"""20,000 histories of calls that are given up, repeated and killed; and what happens with a repair taken out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.features.reservations import answers, reserve
from mcp_agent_mail.store.leases import Leases
from tests.faults.histories_over_http import HttpHistory, HttpShop
from tests.features.reservations.histories import play

PARTS = 20
OF_A_PART = 1_000
OVER_HTTP = 200
FEW = 60


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
async def test_nobody_is_told_of_a_dead_lease(tmp_path: Path, part: int) -> None:
    played = await play(tmp_path, first=1_000_000 + part * OF_A_PART, count=OF_A_PART)

    assert (played.histories, played.faults) == (OF_A_PART, [])


@pytest.mark.slow
async def test_nor_over_http_with_connections_that_break(tmp_path: Path) -> None:
    played = await play(tmp_path, first=0, count=OVER_HTTP, over=(HttpShop, HttpHistory))

    assert (played.histories, played.faults) == (OVER_HTTP, [])


def without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leases of a call that nobody heard end, its key stays, and a repeat gets the first answer as it was."""
    find = answers.find_answer

    def as_it_was(*given: Any) -> Any:
        found = find(*given)
        for grant in found.answer["granted"] if found is not None else ():
            grant["live"] = True
        return found

    monkeypatch.setattr(reserve, "forget_answer", lambda *_given: None)
    monkeypatch.setattr(answers, "find_answer", as_it_was)
    monkeypatch.setattr(reserve, "find_answer", as_it_was)


def without_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody heard ends, although a repeat was told of it."""
    monkeypatch.setattr(Leases, "promise", lambda *_given: None)


def without_undoing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "take_back", lambda *_given: True)


@pytest.mark.parametrize(
    ("take_out", "seen"),
    [
        (without_the_key, "told of a lease that is dead"),
        (without_counting, "told of a lease that is dead"),
        (without_undoing, "a lease that nobody knows of"),
    ],
)
async def test_with_a_repair_taken_out_the_histories_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take_out: Callable[[pytest.MonkeyPatch], None], seen: str
) -> None:
    take_out(monkeypatch)

    played = await play(tmp_path, first=0, count=FEW)

    assert [fault for fault in played.faults if seen in fault]
