from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.leases import EndedBy, Lease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import (
    NEVER,
    NO_WORKSPACE,
    NOT_LOOKED,
    Missing,
    Sighting,
    StalenessRules,
    WorkspaceActivity,
)
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.reservations import staleness as module
from mcp_agent_mail.features.reservations.staleness import Assessment, Staleness, show_evidence
from mcp_agent_mail.workspace.facts import Workspaces
from tests.features.samples import a_lease
from tests.seeded_store import SeededStore, open_seeded_store

RULES = StalenessRules(inactivity_s=1_800, grace_s=900)
LONG_S = 1_801
SILENCE = WorkspaceActivity(filesystem=NEVER, git=NEVER, is_matched=True)


@dataclass(frozen=True, kw_only=True)
class Watched:
    """`staleness` heard calls since the store was made."""

    seeded: SeededStore
    activity: Activity
    workspaces: Workspaces
    staleness: Staleness

    def step(self, seconds: float) -> Micros:
        self.seeded.clock.step(seconds)
        return self.seeded.clock.now

    async def assess(self, lease: Lease, seen: WorkspaceActivity | None = SILENCE) -> Assessment:
        """With None, as the workspace is remembered."""
        given = None if seen is None else {lease.id: seen}
        (found,) = await self.seeded.store.read(lambda view: self.staleness.assess(view, [lease], given))
        return found


@asynccontextmanager
async def open_watched(folder: Path) -> AsyncIterator[Watched]:
    async with open_seeded_store(folder) as seeded, Activity(seeded.store, clock=seeded.clock) as activity:
        workspaces = Workspaces(clock=seeded.clock, keep_s=-1)
        staleness = Staleness(activity, workspaces, rules=RULES, watched_since=seeded.clock.now)
        yield Watched(seeded=seeded, activity=activity, workspaces=workspaces, staleness=staleness)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    async with open_watched(tmp_path) as opened:
        yield opened


def held(agent: Agent, number: int = 1, pattern: str = "src/app.py") -> Lease:
    return replace(a_lease(number, agent.name, pattern), agent_id=agent.id, project_id=agent.project_id)


@pytest.fixture
def code(tmp_path: Path, watched: Watched) -> Project:
    """The project with a real directory, in which `src/app.py` was written at the clock's beginning."""
    root = tmp_path / "code"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").touch()
    return replace(watched.seeded.app, human_key=str(root))


async def test_who_made_no_call_for_long_is_idle_and_a_call_noted_and_not_yet_written_saves_it(
    watched: Watched,
) -> None:
    blue = watched.seeded.blue
    in_time, late = watched.step(1_800), watched.step(1)

    idle = [watched.staleness.is_idle(blue, at) for at in (in_time, late)]
    watched.activity.note(blue)

    assert (idle, watched.staleness.is_idle(blue, late)) == ([False, True], False)


async def test_nobody_is_idle_for_the_time_in_which_nobody_could_be_heard(watched: Watched) -> None:
    now = watched.step(LONG_S)
    watched.staleness.watch_from(now)

    assert not watched.staleness.is_idle(watched.seeded.blue, now)
    assert watched.staleness.is_idle(watched.seeded.blue, watched.step(LONG_S))


async def test_a_person_makes_no_calls_and_is_never_idle(watched: Watched) -> None:
    human = replace(watched.seeded.blue, kind=AgentKind.HUMAN)

    assert not watched.staleness.is_idle(human, watched.step(LONG_S))


async def test_after_the_clock_was_set_back_everybody_is_watched_anew(watched: Watched) -> None:
    watched.staleness.hear(watched.step(2 * LONG_S))

    back = watched.step(-120)

    assert not watched.staleness.is_idle(watched.seeded.blue, back)
    assert watched.staleness.is_idle(watched.seeded.blue, watched.step(LONG_S))


async def test_what_a_clock_that_was_ahead_has_written_hides_no_call_that_came_since(watched: Watched) -> None:
    now = watched.seeded.clock.now
    ahead = replace(watched.seeded.blue, last_active_ts=Micros(now + 3_600 * SECOND))
    unheard = watched.staleness.newest(ahead, now)
    watched.activity.note(ahead)

    heard = watched.staleness.newest(ahead, now)

    assert (unheard.last_active_ts, heard.last_active_ts) == (ahead.last_active_ts, now)


async def test_a_look_finds_files_and_is_remembered_for_the_reads(watched: Watched, code: Project) -> None:
    lease = held(watched.seeded.blue)
    before = watched.staleness.seen_at(lease)

    seen = await watched.staleness.look(code, lease, watched.seeded.clock.now, anew=True)

    assert (seen.is_matched, seen.filesystem.last_ts is not None) == (True, True)
    assert (before, watched.staleness.seen_at(lease)) == (0, watched.seeded.clock.now)
    assert (await watched.assess(lease, None)).evidence.workspace == seen


async def test_what_was_seen_longer_ago_says_nothing_of_the_time_since(watched: Watched, code: Project) -> None:
    lease = held(watched.seeded.blue)
    seen = await watched.staleness.look(code, lease, watched.seeded.clock.now, anew=True)
    watched.step(module.SEEN_LATELY_S)
    lately = (await watched.assess(lease, None)).evidence.workspace

    watched.step(1)

    assert lately == seen
    assert (await watched.assess(lease, None)).evidence.workspace == NOT_LOOKED


async def test_a_directory_that_does_not_answer_keeps_its_leases_from_being_stale(
    watched: Watched, code: Project
) -> None:
    watched.workspaces.looks.close()
    lease = held(watched.seeded.blue)
    now = watched.step(LONG_S)

    seen = await watched.staleness.look(code, lease, now, anew=True)

    found = await watched.assess(lease, seen)
    assert found.judgement.missing == (Missing.FILES_UNKNOWN, Missing.GIT_UNKNOWN)


async def test_so_many_looks_are_remembered_the_latest_of_them(
    watched: Watched, code: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    first, second, third = (held(watched.seeded.blue, number) for number in (1, 2, 3))

    for lease in (first, second, first, third):
        await watched.staleness.look(code, lease, watched.seeded.clock.now, anew=False)

    assert [watched.staleness.seen_at(lease) > 0 for lease in (first, second, third)] == [True, False, True]


async def test_a_lease_is_stale_when_nothing_tells_of_work_on_it_and_never_once_it_has_ended(watched: Watched) -> None:
    lease = held(watched.seeded.blue)
    fresh = await watched.assess(lease)
    watched.step(LONG_S)

    stale = await watched.assess(lease)
    ended = await watched.assess(replace(lease, released_ts=watched.seeded.clock.now, ended_by=EndedBy.RELEASE))

    assert (fresh.is_stale, stale.is_stale, ended.is_stale) == (False, True, False)


async def test_mail_that_the_holder_sent_lately_speaks_for_it(watched: Watched) -> None:
    seeded = watched.seeded
    watched.step(LONG_S)
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    assert (await watched.assess(held(seeded.blue))).judgement.missing == (Missing.MAIL_RECENT,)


async def test_a_lease_that_nobody_looked_at_is_judged_by_what_is_not_known(watched: Watched) -> None:
    watched.step(LONG_S)

    (found,) = await watched.seeded.store.read(
        lambda view: watched.staleness.assess(view, [held(watched.seeded.blue)], {LeaseId(99): NO_WORKSPACE})
    )

    assert found.evidence.workspace == NOT_LOOKED


async def test_the_evidence_is_shown_as_times_and_reasons(watched: Watched) -> None:
    seen_ts = watched.seeded.clock.now
    watched.step(LONG_S)
    seen = WorkspaceActivity(filesystem=Sighting(last_ts=seen_ts), git=NEVER, is_matched=True)

    shown = show_evidence(await watched.assess(held(watched.seeded.blue), seen))

    assert (shown["stale"], shown["last_mail_activity_ts"], shown["last_git_activity_ts"]) == (True, None, None)
    assert shown["last_agent_activity_ts"] == "2027-01-15T08:00:00.000000+00:00"
    assert shown["last_filesystem_activity_ts"] == "2027-01-15T08:00:00.000000+00:00"
    assert shown["stale_reasons"][0] == "agent_inactive>1800s"
