"""`kill -9` over backup, restore, rebuild, save and their like: one store is whole, and the next run goes on."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.features.recovery.backups.undo import STORES_KEPT
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.crash.nursery import Ended
from tests.crash.recovered_store import Nursery, Pattern, Place, copied, make_pattern
from tests.crash.recovery_cases import CASES, REFUSED, UNAVAILABLE, Case

SEED = 20_261_123
REACHES_OF_EACH_POINT = 4
STEPS_OF_EACH = 8
TIMES_OF_EACH = 3
KEPT_MOST = 3

Fate = Mapping[str, Any]
"""How a command ends: `point`, `step` or `after_s` of a request."""


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture(scope="module")
def pattern(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Pattern:
    return make_pattern(tmp_path_factory.mktemp("pattern") / "base", nursery)


def fates_of(case: Case, whole: Ended, chance: random.Random) -> list[Fate]:
    """Every reach of an instant of its own, and steps and times all over the run."""
    reached = Counter(whole.points)
    named = [
        {"point": (str(point), nth)}
        for point in case.points
        for nth in range(1, min(reached[point], REACHES_OF_EACH_POINT) + 1)
    ]
    steps = [{"step": step} for step in chance.sample(range(1, whole.steps + 1), min(STEPS_OF_EACH, whole.steps))]
    times = [{"after_s": chance.uniform(0, whole.seconds)} for _ in range(TIMES_OF_EACH)]
    return [*named, *steps, *times]


def faults_of_round(case: Case, fate: Fate, pattern: Pattern, place: Place, nursery: Nursery) -> list[str]:
    """What is wrong after the kill, and after the next run of the same command."""
    arguments = case.arguments(place)
    killed = nursery.run(place, arguments, **fate)
    if "after_s" not in fate and killed.code != -signal.SIGKILL:
        return [f"it was not killed: {killed}; {nursery.said}"]
    faults = _half_is_told(place, nursery)
    with StoreLock(place.store, place.store / "mail.sqlite3"):
        faults += _faults_of_stores(case, pattern, place, case.known(pattern))
    faults += case.own_faults(place, pattern)
    is_done = case.is_refused_once_done and not _is_missing(case, place)
    again = nursery.run(place, arguments)
    if again.code != 0 and not (is_done and again.code == REFUSED):
        faults.append(f"run again it gives {again.code}: {nursery.said[-500:]}")
    faults += _faults_of_stores(case, pattern, place, case.at_last(pattern))
    return faults + case.own_faults(place, pattern) + case.own_faults_at_last(place, pattern) + _leftovers(place)


def _half_is_told(place: Place, nursery: Nursery) -> list[str]:
    """Who reads a store that is half another one is told so."""
    if not (place.store / SWAP_FILE).exists():
        return []
    told = nursery.run(place, ["doctor", "verify"])
    return [] if told.code == UNAVAILABLE and "was interrupted" in nursery.said else [f"{told.code}: {nursery.said}"]


def _is_missing(case: Case, place: Place) -> bool:
    return case.name != "save" and place.known(case.store(place)) is None


def _faults_of_stores(case: Case, pattern: Pattern, place: Place, known: Any) -> list[str]:
    store = case.store(place)
    found = place.known(store)
    faults = [] if found in known else [f"{store.name} knows {found}"]
    if found is not None:
        faults += place.faults(store)
    if store != place.store and place.known() != pattern.after:
        faults.append("the other store has changed")
    return faults


def _leftovers(place: Place) -> list[str]:
    """What nobody needs any more, once all is done."""
    of_store = ("undo", "kept", "archive.lock", "archive-locks", "numbers.json")
    expected = {"made", "new.tar", *(f"store/{name}" for name in of_store)}
    found = place.names() - expected
    found |= {path.name for path in (place.store / "attachments" / "staged").glob("*")}
    found |= {path.name for path in place.backups.glob(".*") if path.name != ".lock"}
    for name, most in (("undo", STORES_KEPT), ("kept", KEPT_MOST)):
        kept = list((place.store / name).glob("*"))
        found |= {f"{name}: {len(kept)}"} if len(kept) > most else set()
    return [f"left: {sorted(found)}"] if found else []


def live_through(case: Case, pattern: Pattern, nursery: Nursery, base: Path) -> int:
    """How many kills it were."""
    with copied(pattern.place, base / "prepared") as prepared:
        case.prepare(prepared, nursery)
        with copied(prepared, base / "whole") as place:
            whole = nursery.run(place, case.arguments(place))
            assert whole.code == 0, nursery.said
        assert set(case.points) <= set(whole.points), set(case.points) - set(whole.points)
        fates = fates_of(case, whole, random.Random(f"{SEED} {case.name}"))
        for number, fate in enumerate(fates):
            with copied(prepared, base / f"round-{number}") as place:
                faults = faults_of_round(case, fate, pattern, place, nursery)
                assert faults == [], f"{case.name}, {fate}: {faults}"
    return len(fates)


def test_a_rebuild_that_is_killed_in_its_swap_is_finished(pattern: Pattern, nursery: Nursery, tmp_path: Path) -> None:
    (rebuild,) = (case for case in CASES if case.name == "rebuild")
    fate = {"point": (str(FailPoint.SWAP_KEPT), 1)}

    with copied(pattern.place, tmp_path / "round") as place:
        assert faults_of_round(rebuild, fate, pattern, place, nursery) == []


@pytest.mark.crash
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_is_killed_one_store_is_whole_and_the_next_run_goes_on(
    case: Case, pattern: Pattern, nursery: Nursery, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    kills = live_through(case, pattern, nursery, tmp_path)

    print(f"{case.name}: {kills} kills")  # noqa: T201  # for a person
    record_property("kills", kills)
