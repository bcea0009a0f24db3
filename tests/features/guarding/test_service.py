"""What the guard is told from live leases, and what it reports."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.guard.events import read_guard_event
from mcp_agent_mail.domain.guard.held_paths import places_of
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, TokenMissing
from mcp_agent_mail.domain.leases import LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import stored_pattern
from mcp_agent_mail.features.guarding import service as guarding
from mcp_agent_mail.features.guarding.schemas import read_check
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.guarding.spool import SpoolDrain
from mcp_agent_mail.store.guard_events import GuardEvents
from tests.seeded_store import SeededStore, open_seeded_store

SOMEONE = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
STRANGER = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


class Post:
    def __init__(self, seeded: SeededStore) -> None:
        self.seeded = seeded
        self.service = GuardingService(seeded.store, clock=seeded.clock)

    async def hold(self, agent: Agent, *patterns: str, exclusive: bool = True, ignore_case: bool = False) -> None:
        now = self.seeded.clock()
        new = [
            NewLease(
                project_id=agent.project_id,
                agent_id=agent.id,
                agent=agent.name,
                kind=LeaseKind.FILE,
                path_pattern=pattern,
                keys=keys_of(stored_pattern(pattern, ignore_case=ignore_case)),
                exclusive=exclusive,
                reason="why",
                expires_ts=Micros(now + 60 * SECOND),
                ignore_case=ignore_case,
            )
            for pattern in patterns
        ]
        await self.seeded.store.write(lambda tx: tx.leases.add_many(new, now))

    async def held(self, *paths: str, agent: str | None = "BlueLake", **more: str) -> list[tuple[str, str, bool]]:
        value = {"project": self.seeded.app.human_key, "agent": agent, "paths": list(paths), **more}
        answer = await self.service.check(SOMEONE, read_check(value))
        return [(held.path, held.holding.agent, held.is_own_too) for held in answer.held]

    def event(self, number: int, **more: Any) -> dict[str, Any]:
        return {
            "event_key": f"{number:032x}",
            "ts": "2026-01-01T00:00:00Z",
            "project": self.seeded.app.human_key,
            "action": "refused",
            "hook": "pre-commit",
            "agent": "BlueLake",
            "repository": "/code/app",
            "detail": {"note": f"n{number}"},
            **more,
        }


@asynccontextmanager
async def _post(folder: Path) -> AsyncIterator[Post]:
    async with open_seeded_store(folder) as seeded:
        yield Post(seeded)


@pytest.mark.parametrize(
    ("pattern", "path", "ignore_case"),
    [
        ("src/**", "src/a/b.py", False),
        ("src/app.py", "src/app.py", False),
        ("src", "src/app.py", False),
        ("*.py", "deep/er/x.py", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", False),
        ("SRC/Ünï/**", "src/ünï/x", True),
        ("Ünï/x", "Ünï/x", False),
        ("data/**", "data/caf%E9", False),
    ],
)
async def test_every_kind_of_lease_is_found_by_the_paths_it_covers(
    tmp_path: Path, pattern: str, path: str, ignore_case: bool
) -> None:
    async with _post(tmp_path) as post:
        await post.hold(post.seeded.red, pattern, ignore_case=ignore_case)

        assert len(await post.held("README.md", path)) == 1


async def test_shared_own_expired_and_other_projects_leases_do_not_block(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        await post.hold(post.seeded.red, "shared", exclusive=False)
        await post.hold(post.seeded.blue, "own")
        await post.hold(post.seeded.fox, "elsewhere")
        await post.hold(post.seeded.red, "late")
        post.seeded.clock.step(60)
        await post.hold(post.seeded.red, "now")

        assert await post.held("shared", "own", "elsewhere", "late", "now") == [("now", "RedStone", False)]


async def test_who_asks_is_the_named_one_else_an_author_that_is_an_agent(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        await post.hold(post.seeded.red, "a")

        def request(**more: str | None) -> Any:
            return read_check({"project": post.seeded.app.human_key, "paths": ["a"], **more})

        agents = [
            (await post.service.check(SOMEONE, request(**who))).agent
            for who in (
                {"agent": "redstone", "author": "BlueLake"},
                {"agent": None, "author": "bluelake"},
                {"agent": None, "author": "Stranger"},
                {"agent": "Stranger", "author": None},
            )
        ]

        assert agents == ["RedStone", "BlueLake", None, "Stranger"]


async def test_thousands_of_paths_among_thousands_of_leases_are_answered(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        await post.hold(post.seeded.red, *(f"src/m{number}/f.py" for number in range(3_000)))

        found = await post.held(*(f"src/m{number}/f.py" for number in range(0, 6_000, 2)))

        assert len(found) == 1_500


async def test_more_leases_than_are_looked_at_is_refused_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "MAX_LEASES", 10)
    async with _post(tmp_path) as post:
        await post.hold(post.seeded.red, *(f"*.{number}" for number in range(11)))

        with pytest.raises(guarding.TooManyLeasesNearby):
            await post.held("a")


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
    ("paths", "is_beside"),
    [
        (["src/app.py"], False),
        ([f"src/{number}.py" for number in range(5_000)], True),
        (["a/" * 2_000 + "f"], True),
    ],
    ids=["a few", "many", "a deep one"],
)
async def test_the_folders_of_much_are_named_beside_the_event_loop_and_in_turn(
    paths: list[str], is_beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    async with _post(tmp_path) as post:

        def watched(path: str) -> list[str]:
            seen.add((threading.current_thread() is not threading.main_thread(), post.service._turns._running.total()))
            return places_of(path)

        monkeypatch.setattr(guarding, "places_of", watched)
        assert await post.held(*paths) == []

    assert seen == {(is_beside, int(is_beside))}


async def test_under_strict_only_the_proven_ask_and_report(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        with pytest.raises(TokenMissing):
            await post.service.check(STRANGER, read_check({"project": "/code/app", "paths": []}))
        with pytest.raises(TokenMissing):
            await post.service.record(STRANGER, [post.event(1)])
        with pytest.raises(NotFound):
            await post.service.check(SOMEONE, read_check({"project": "/code/none", "paths": []}))
        with pytest.raises(PermissionDenied):
            await post.service.list_(SOMEONE, None, 5)


async def test_the_log_is_newest_first_by_the_time_of_the_event(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        await post.service.record(SOMEONE, [post.event(1, ts="2026-01-03"), post.event(2, ts="2026-01-01")])
        await post.service.record(SOMEONE, [post.event(3, ts="2026-01-02"), post.event(4, project="/code/none")])

        of_app = [json.loads(event.detail)["note"] for event in await post.service.list_(OPERATOR, "/code/app", 2)]
        of_all = await post.service.list_(OPERATOR, None, 10)

        assert of_app == ["n1", "n3"]
        assert [(event.project, event.project_id) for event in of_all if event.project_id is None] == [
            ("/code/none", None)
        ]


async def test_a_time_to_come_is_now(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        await post.service.record(SOMEONE, [post.event(1, ts="2999-01-01")])

        (event,) = await post.service.list_(OPERATOR, None, 1)
        assert event.ts == post.seeded.clock()


@pytest.mark.parametrize(
    "fault",
    [
        {"event_key": "x"},
        {"action": "passed"},
        {"hook": "post-commit"},
        {"agent": "x" * 65},
        {"detail": "x"},
        {"detail": {"x": "y" * 13_000}},
        {"ts": "soon"},
        {"project": None},
    ],
)
async def test_a_report_that_is_none_stores_nothing_of_its_lot(tmp_path: Path, fault: dict[str, Any]) -> None:
    async with _post(tmp_path) as post:
        with pytest.raises(InvalidInput):
            await post.service.record(SOMEONE, [post.event(1), post.event(2, **fault)])

        assert await post.service.list_(OPERATOR, None, 5) == []


async def test_only_the_newest_of_a_project_are_kept(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        events = [read_guard_event(post.event(n, ts=str(n)), post.seeded.clock()) for n in range(1, 9)]

        def unit(tx: Any) -> list[str]:
            kept = GuardEvents(tx.guard_events._connection, kept=3)
            for event in events:
                kept.add(event, post.seeded.app.id)
            kept.add(events[0], post.seeded.lib.id)
            return [json.loads(event.detail)["note"] for event in kept.list_all(20)]

        assert await post.seeded.store.write(unit) == ["n8", "n7", "n6", "n1"]


async def test_one_reporters_flood_displaces_only_its_own(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        events = [read_guard_event(post.event(n, ts=str(n)), post.seeded.clock()) for n in range(1, 9)]

        def unit(tx: Any) -> list[str]:
            kept = GuardEvents(tx.guard_events._connection, kept_of_one=3)
            kept.add(events[0], post.seeded.app.id, post.seeded.blue.id)
            for event in events[1:]:
                kept.add(event, post.seeded.app.id, post.seeded.red.id)
            return [json.loads(event.detail)["note"] for event in kept.list_all(20)]

        assert await post.seeded.store.write(unit) == ["n8", "n7", "n6", "n1"]


async def test_the_spool_is_brought_in_once_and_what_is_no_event_goes(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        spool = tmp_path / "guard-spool"
        spool.mkdir()
        for number in range(150):
            (spool / f"{number}.json").write_text(json.dumps(post.event(number)))
        (spool / "broken.json").write_text("{")
        (spool / "large.json").write_text(json.dumps({"x": "y" * 20_000}))
        (spool / ".half").write_text("{")
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)
        await post.service.record(SOMEONE, [post.event(7)])

        stored = await drain.drain()

        assert stored == 149, "one had been told already"
        assert [file.name for file in spool.iterdir()] == [".half"]
        assert await drain.drain() == 0


async def test_the_drain_starts_at_once_and_ends_when_told(tmp_path: Path) -> None:
    async with _post(tmp_path) as post:
        (tmp_path / "guard-spool").mkdir()
        (tmp_path / "guard-spool" / "1.json").write_text(json.dumps(post.event(1)))
        drain = SpoolDrain(post.service, tmp_path, clock=post.seeded.clock)

        drain.start()
        while list((tmp_path / "guard-spool").iterdir()):
            await post.seeded.store.write(lambda tx: tx.now)
        await drain.close()
        await drain.close()

        assert len(await post.service.list_(OPERATOR, None, 5)) == 1
