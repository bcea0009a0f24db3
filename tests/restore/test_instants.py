"""`am doctor rebuild --at TIME` is the store of then: its dump is the one that was taken at that time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.recovery.rebuilt_store import StoreCopyPlan, rebuild_into
from tests.rebuild.copies import copy_of
from tests.rebuild.facts import Facts, facts_of
from tests.rebuild.histories import begun, go_on, played_by
from tests.rebuild.rebuilding import differing_lines, may_differ
from tests.seeded_store import SetClock
from tests.served import pause

SEEDS = 5
INSTANTS = 10
_STEPS_BETWEEN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """The database as it was at `at`, when archives held all of it."""

    at: Micros
    database: Path


async def _play(folder: Path, seed: int) -> tuple[Path, list[Instant]]:
    """A history's store, and what it was at each instant."""
    kept, clock = [], SetClock()
    async with begun(folder / "played", seed, clock) as history:
        for number in range(INSTANTS):
            await go_on(history, clock, _STEPS_BETWEEN)
            copy = copy_of(played_by(history, clock), folder / "kept" / str(number))
            kept.append(Instant(at=system_clock(), database=copy))
            _await_next_second()
    return played_by(history, clock).root, kept


def _await_next_second() -> None:
    """Commits are dated by the time of day, in whole seconds."""
    now = system_clock() // SECOND
    while system_clock() // SECOND == now:
        pause()


def _untold(_what: str) -> Progress:
    return lambda _done, _total: None


def _may_differ(line: str, facts: Facts) -> bool:
    """As in any rebuild; and where a project was adopted, who acted: the approval of a copy that its archive held is
    taken for an act of the sender.
    """
    return may_differ(line, facts) or (bool(facts.adopters) and line.startswith('+ ["outbox.acted"'))


@pytest.mark.restore
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_at_any_instant_it_is_what_it_was_then(tmp_path: Path, seed: int) -> None:
    root, kept = await _play(tmp_path, seed)

    for instant in random.Random(seed).sample(kept, len(kept)):
        made = rebuild_into(
            root, tmp_path / f"at-{instant.at}", StoreCopyPlan(until=instant.at, most_files=10_000), told=_untold
        )

        facts = facts_of(instant.database)
        lines = differing_lines(instant.database, made.database)
        assert [line for line in lines if not _may_differ(line, facts)] == [], f"at {instant.at}"
