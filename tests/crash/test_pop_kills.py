"""`kill -9` between a pop and its answer, and after it: nothing is lost, and what comes twice had not been marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.pop_doors import MailboxCommandDoor, MailboxDoor, PopDoor, PostalDoor, WindowDoor
from tests.crash.pop_kills import KILLS, Taken, outlive

ROUNDS = 28
SEED = 20_261_127


@pytest.fixture(params=["postal", "claude-mailbox", "claude-mailbox by ticket", "agentmail"])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> PopDoor:
    doors: list[PopDoor] = [PostalDoor(), MailboxDoor(), MailboxCommandDoor(), WindowDoor(tmp_path / "code")]
    return next(one for one in doors if one.name == request.param)


def test_a_few_kills_lose_nothing_that_a_mailbox_was_given(door: PopDoor, tmp_path: Path) -> None:
    outlived = outlive(tmp_path / "store", door, KILLS, SEED)

    assert outlived.taken.lost() == []
    assert outlived.taken.wrongly_twice() == Counter()


@pytest.mark.crash
def test_a_mailbox_outlives_a_hundred_kills(
    door: PopDoor, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    outlived = outlive(tmp_path / "store", door, KILLS * ROUNDS, SEED)

    print(f"{door.name}: {outlived}")  # noqa: T201  # for a person
    record_property("kills", outlived.kills)
    record_property("twice", outlived.taken.twice().total())
    assert outlived.kills >= 100
    assert outlived.taken.lost() == []
    assert outlived.taken.wrongly_twice() == Counter()


def test_the_ledger_tells_what_was_lost_and_what_came_twice_with_no_kill_between() -> None:
    taken = Taken(promised=["1", "2", "3"], had=["1", "2", "2", "1"], last=["2"])

    assert taken.lost() == ["3"]
    assert taken.twice() == Counter({"1": 1, "2": 1})
    assert taken.wrongly_twice() == Counter({"1": 1})
