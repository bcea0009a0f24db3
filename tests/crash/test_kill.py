"""`kill -9` at random and at named instants under concurrent clients: nothing acknowledged is ever lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from tests.clients.setup.instants import KILLED_AT as SETUP_KILLED_AT
from tests.crash.deaths import CONTENTS, CONVERTING, NAMED, RANDOM, Death
from tests.crash.recovery_cases import CASES
from tests.crash.rounds import live_through

SEED = 20_261_121
STORES = 12
STORES_CONVERTED = 3
ROUNDS_OF_EACH_NAMED = 4
ROUNDS_OF_EACH_RANDOM = 6
ROUNDS_OF_EACH_OF_CONTENTS = 15
IN_EVERY_TEST_RUN = (
    "server",
    f"server at {FailPoint.AFTER_COMMIT}",
    f"server at {FailPoint.CONTENT_KEPT}",
    f"archiver at {FailPoint.AFTER_IMPORT}",
)


def deaths_of_stores() -> list[list[Death]]:
    """All of them dealt out, each store its own mixture."""
    every = [
        *RANDOM * ROUNDS_OF_EACH_RANDOM,
        *NAMED * ROUNDS_OF_EACH_NAMED,
        *CONTENTS * ROUNDS_OF_EACH_OF_CONTENTS,
    ]
    random.Random(SEED).shuffle(every)
    return [every[store::STORES] for store in range(STORES)]


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    deaths = [death for death in (*RANDOM, *NAMED, *CONTENTS) if death.name in IN_EVERY_TEST_RUN]
    assert len(deaths) == len(IN_EVERY_TEST_RUN)

    live_through(tmp_path / "store", deaths, SEED)


@pytest.mark.crash
@pytest.mark.parametrize("store", range(STORES))
def test_a_store_outlives_every_kill(
    store: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    deaths = deaths_of_stores()[store]

    survived = live_through(tmp_path / "store", deaths, SEED + store)

    named = ", ".join(death.name for death in deaths)
    print(f"store {store + 1}: {survived}; killed: {named}")  # noqa: T201  # for a person
    record_property("kills", survived.kills)
    record_property("operations", survived.operations)


@pytest.mark.crash
@pytest.mark.parametrize("death", CONVERTING, ids=lambda death: death.name)
@pytest.mark.parametrize("store", range(STORES_CONVERTED))
def test_a_store_of_the_version_before_outlives_kills_while_its_archives_are_converted(
    store: int, death: Death, tmp_path: Path
) -> None:
    survived = live_through(tmp_path / "store", [death, *RANDOM[:3]], SEED + 100 + store)
    print(f"converted: {survived}; killed: {death.name}")  # noqa: T201  # for a person


def test_every_named_point_has_a_kill() -> None:
    said = " ".join(death.name for death in (*NAMED, *CONTENTS, *CONVERTING))

    of_recovery = {point for case in CASES for point in case.points}
    assert {point for point in FailPoint if f"at {point}" not in said} == of_recovery | SETUP_KILLED_AT
