"""What the guard is told from live leases, and what it reports."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.domain.guard.held_paths import places_of
from mcp_agent_mail.domain.identity.caller import TokenMissing
from mcp_agent_mail.features.guarding import service as guarding
from mcp_agent_mail.features.guarding.schemas import read_check
from tests.features.guarding.harness import OPERATOR, SOMEONE, STRANGER, open_guarding


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
    async with open_guarding(tmp_path) as post:
        await post.hold(post.seeded.red, pattern, ignore_case=ignore_case)

        assert len(await post.held("README.md", path)) == 1


async def test_shared_own_expired_and_other_projects_leases_do_not_block(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        await post.hold(post.seeded.red, "shared", exclusive=False)
        await post.hold(post.seeded.blue, "own")
        await post.hold(post.seeded.fox, "elsewhere")
        await post.hold(post.seeded.red, "late")
        post.seeded.clock.step(60)
        await post.hold(post.seeded.red, "now")

        assert await post.held("shared", "own", "elsewhere", "late", "now") == [("now", "RedStone", False)]


async def test_a_name_that_is_no_agents_is_said_with_the_nearest(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        asked = [
            read_check({"project": post.seeded.app.human_key, "paths": ["a"], "agent": name})
            for name in ("BlueLak", "Human", "bluelake", None)
        ]
        said = [await post.service.check(SOMEONE, request) for request in asked]

    assert [(one.is_agent_known, list(one.nearest)) for one in said] == [
        (False, ["BlueLake"]),
        (False, []),
        (True, []),
        (True, []),
    ]


async def test_who_asks_is_the_named_one_else_an_author_that_is_an_agent(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
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
    async with open_guarding(tmp_path) as post:
        await post.hold(post.seeded.red, *(f"src/m{number}/f.py" for number in range(3_000)))

        found = await post.held(*(f"src/m{number}/f.py" for number in range(0, 6_000, 2)))

        assert len(found) == 1_500


async def test_more_leases_than_are_looked_at_is_refused_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "MAX_LEASES", 10)
    async with open_guarding(tmp_path) as post:
        await post.hold(post.seeded.red, *(f"*.{number}" for number in range(11)))

        with pytest.raises(guarding.TooManyLeasesNearby):
            await post.held("a")


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
    async with open_guarding(tmp_path) as post:

        def watched(path: str) -> list[str]:
            seen.add((threading.current_thread() is not threading.main_thread(), post.service._turns._running.total()))
            return places_of(path)

        monkeypatch.setattr(guarding, "places_of", watched)
        assert await post.held(*paths) == []

    assert seen == {(is_beside, int(is_beside))}


async def test_under_strict_only_the_proven_ask_and_report(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        with pytest.raises(TokenMissing):
            await post.service.check(STRANGER, read_check({"project": "/code/app", "paths": []}))
        with pytest.raises(TokenMissing):
            await post.service.record(STRANGER, [post.event(1)])
        with pytest.raises(NotFound):
            await post.service.check(SOMEONE, read_check({"project": "/code/none", "paths": []}))
        with pytest.raises(PermissionDenied):
            await post.service.list_(SOMEONE, None, 5)


async def test_the_log_is_newest_first_by_the_time_of_the_event(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
        await post.service.record(SOMEONE, [post.event(1, ts="2026-01-03"), post.event(2, ts="2026-01-01")])
        await post.service.record(SOMEONE, [post.event(3, ts="2026-01-02"), post.event(4, project="/code/none")])

        of_app = [json.loads(event.detail)["note"] for event in await post.service.list_(OPERATOR, "/code/app", 2)]
        of_all = await post.service.list_(OPERATOR, None, 10)

        assert of_app == ["n1", "n3"]
        assert [(event.project, event.project_id) for event in of_all if event.project_id is None] == [
            ("/code/none", None)
        ]


async def test_a_time_to_come_is_now(tmp_path: Path) -> None:
    async with open_guarding(tmp_path) as post:
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
    async with open_guarding(tmp_path) as post:
        with pytest.raises(InvalidInput):
            await post.service.record(SOMEONE, [post.event(1), post.event(2, **fault)])

        assert await post.service.list_(OPERATOR, None, 5) == []
