from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.domain.reservations import Patterns, RequestedPath, WaitingCall
from mcp_agent_mail.features.reservations import conflicts
from mcp_agent_mail.features.reservations.conflicts import FoundHolders, NeedsPrecheck, Precheck
from tests.features.reservations.claims import Claims, open_claims
from tests.features.samples import NOW, a_lease


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


def ids(answer: Any) -> list[int]:
    return [grant["id"] for grant in answer["granted"]]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("src/**", "src/app.py"),
        ("*.py", "src/*"),
        ("docs/", "docs/x/y.md"),
        ("src/a*", "src/*b"),
        ("*.py", "src/api/x.py"),
        ("src/**/*.py", "src/api/**"),
        ("src", "src/app.py"),
        ("src/app.py", "src"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("tool://deploy", "tool://deploy"),
        ("*.[ch]", "lib/list.c"),
    ],
)
async def test_overlap_is_seen_whoever_came_first(claims: Claims, held: str, wanted: str) -> None:
    await claims.hold("BlueLake", held)
    there = await claims.reserve("RedStone", wanted)
    await claims.release("BlueLake")
    await claims.hold("RedStone", wanted)

    back = await claims.reserve("BlueLake", held)

    assert (ids(there), ids(back)) == ([], [])


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("README.md", "package.json"),
        ("src", "docs"),
        ("*.py", "*.js"),
        ("src/app.py", "src/**/*.js"),
        ("README.md", "docs/README.md"),
        ("src/*.py", "src/api/x.py"),
        ("tool://deploy", "tool://deploy/x"),
        ("src/app.py", "src/app.pyx"),
        ("src/Ä.py", "src/ä.py"),
    ],
)
async def test_what_does_not_overlap_is_granted_whoever_came_first(claims: Claims, held: str, wanted: str) -> None:
    await claims.hold("BlueLake", held)

    there = await claims.reserve("RedStone", wanted)

    assert len(there["granted"]) == 1
    await claims.release("BlueLake")
    assert len((await claims.reserve("BlueLake", held))["granted"]) == 1


async def test_one_call_among_a_thousand_leases_reads_a_handful(claims: Claims) -> None:
    await claims.fill(claims.seeded.blue, [f"pkg{n % 100}/mod{n}/file.py" for n in range(500)])
    await claims.fill(claims.seeded.blue, [f"shared{n}/**" for n in range(250)], exclusive=False)
    await claims.fill(claims.seeded.blue, [f"**/*.e{n}" for n in range(250)], exclusive=False)
    wanted = await claims.service._reader.read(claims.seeded.app, ["fresh/dir/file.txt"], exclusive=True)
    others = conflicts.others_leases(claims.seeded.app.id, claims.seeded.red.id, exclusive=True)

    found = await claims.seeded.store.read(lambda view: conflicts._candidates(view, others, wanted))

    assert found == []


def paths(*texts: str, exclusive: bool = True) -> list[RequestedPath]:
    return [RequestedPath.of(text, parse_pattern(text), exclusive=exclusive) for text in texts]


async def find(
    claims: Claims, wanted: Sequence[RequestedPath], precheck: Precheck | None = None, *, exclusive: bool = True
) -> FoundHolders:
    """Who stands against RedStone."""
    others = conflicts.others_leases(claims.seeded.app.id, claims.seeded.red.id, exclusive=exclusive)
    return await claims.seeded.store.read(
        lambda view: conflicts.find_holders(view, others, wanted, Patterns(), precheck)
    )


def patterns_of(leases: Sequence[Lease]) -> list[str]:
    return [lease.path_pattern for lease in leases]


async def test_who_wants_nothing_meets_nobody(claims: Claims) -> None:
    await claims.fill(claims.seeded.blue, ["src/**"])

    assert await find(claims, []) == FoundHolders(holders=[], expired=[])


async def test_of_each_path_the_live_holders_are_found_and_those_beside_it_that_have_expired(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/old.py", ttl_seconds=60)
    claims.seeded.clock.step(60)
    await claims.fill(claims.seeded.blue, ["src/*.py", "docs/**"])
    await claims.fill(claims.seeded.green, ["src/**"], exclusive=False)
    await claims.fill(claims.seeded.red, ["src/app.py"])

    found = await find(claims, paths("src/app.py", "README.md", "src/old.py"))
    shared = await find(claims, paths("src/app.py", exclusive=False), exclusive=False)

    assert [patterns_of(one) for one in found.holders] == [["src/*.py", "src/**"], [], ["src/*.py", "src/**"]]
    assert patterns_of(found.expired) == ["src/old.py"]
    assert [patterns_of(one) for one in shared.holders] == [["src/*.py"]]


@pytest.mark.parametrize("wanted", ["src/deep/file.py", "src/deep/**"])
async def test_a_path_and_a_pattern_are_both_met_from_folders_above(claims: Claims, wanted: str) -> None:
    await claims.fill(claims.seeded.blue, ["src/**/*.py"])

    assert [patterns_of(one) for one in (await find(claims, paths(wanted))).holders] == [["src/**/*.py"]]


async def test_the_more_paths_the_fewer_holders_of_each_are_shown(claims: Claims) -> None:
    await claims.fill(claims.seeded.blue, [f"src/f{number}.py" for number in range(30)])

    (shown,) = (await find(claims, paths("src/**"))).holders

    assert [conflicts.shown_per_path(count) for count in (0, 1, 100, 10_000)] == [20, 20, 10, 2]
    assert len(shown) == 20


DEEP = ["/".join(f"d{at}n{depth}" for depth in range(60)) + f"/name{at}.py" for at in range(4)]
HARD = "hard/" + "b?[ab]*" * 60
MANY = [f"f{number}" for number in range(conflicts.MAX_WANTED + 1)]


@pytest.mark.parametrize("wanted", [["src/**"], [HARD], MANY, DEEP], ids=["candidates", "steps", "paths", "probes"])
async def test_what_would_take_too_long_inside_a_unit_of_work_has_to_be_compared_before_it(
    claims: Claims, wanted: list[str]
) -> None:
    await claims.fill(claims.seeded.blue, [f"src/f{number}.py" for number in range(conflicts.MAX_CANDIDATES + 1)])
    await claims.fill(claims.seeded.green, [f"hard/{'a?[ab]*' * 60}{number}" for number in range(100)])

    with pytest.raises(NeedsPrecheck):
        await find(claims, paths(*wanted))


async def look_before(claims: Claims, *wanted: str, is_cut: bool = False) -> Precheck:
    """What a look before the unit of work tells of each of these paths; with `is_cut` there was more to tell."""
    found = await find(claims, paths(*wanted))
    newest = max((lease.fencing for one in found.holders for lease in one), default=0)
    against = tuple(tuple(lease.id for lease in one) for one in found.holders)
    return Precheck(fencing=newest, against=against, is_cut=(is_cut,) * len(wanted))


async def test_what_was_seen_before_stands_less_what_has_ended_and_what_came_since_beside_it(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", "b")
    await claims.hold("GreenField", "b.py", "c", ttl_seconds=60)
    seen = await look_before(claims, "a", "b", "c", "d")
    await claims.release("BlueLake", paths=["a"])
    await claims.hold("GreenField", "d")
    claims.seeded.clock.step(60)

    found = await find(claims, paths("a", "b", "c", "d"), seen)

    assert [patterns_of(one) for one in found.holders] == [[], ["b"], [], ["d"]]
    assert patterns_of(found.expired) == ["c"]


async def test_a_lease_that_was_granted_anew_since_the_look_is_met_once(claims: Claims) -> None:
    await claims.hold("BlueLake", "a", exclusive=False)
    seen = await look_before(claims, "a")
    await claims.hold("BlueLake", "a")

    assert [patterns_of(one) for one in (await find(claims, paths("a"), seen)).holders] == [["a"]]


async def test_where_all_that_was_seen_has_ended_and_there_was_more_it_has_to_be_looked_at_again(
    claims: Claims,
) -> None:
    await claims.hold("BlueLake", "a")
    cut, whole = await look_before(claims, "a", is_cut=True), await look_before(claims, "a")
    standing = await find(claims, paths("a"), cut)
    await claims.release("BlueLake")

    assert [patterns_of(one) for one in standing.holders] == [["a"]]
    assert (await find(claims, paths("a"), whole)).holders == [[]]
    with pytest.raises(NeedsPrecheck):
        await find(claims, paths("a"), cut)


async def test_where_too_much_was_granted_since_the_look_it_has_to_be_looked_at_again(claims: Claims) -> None:
    seen = await look_before(claims, "a")
    await claims.fill(claims.seeded.blue, [f"new{number}" for number in range(conflicts.MAX_CANDIDATES + 1)])

    with pytest.raises(NeedsPrecheck):
        await find(claims, paths("a"), seen)


def test_a_path_is_in_conflict_when_it_is_held_or_waited_for_and_free_otherwise() -> None:
    waiting = WaitingCall(agent="GreenField", path_pattern="b", exclusive=True, reason="", until_ts=NOW)

    preview = conflicts.preview_conflicts(paths("a", "b", "c"), [[a_lease()], [], []], {1: (waiting,)})

    assert [(one.path, len(one.holders), one.waiting) for one in preview.conflicts] == [
        ("a", 1, ()),
        ("b", 0, (waiting,)),
    ]
    assert preview.free == ("c",)


async def test_leases_are_listed_oldest_first_the_live_ones_or_all_there_ever_were(claims: Claims) -> None:
    project_id = claims.seeded.app.id
    await claims.hold("BlueLake", "a", "b", "c")
    await claims.release("BlueLake", paths=["b"])

    live, everything, later = await claims.seeded.store.read(
        lambda view: [
            conflicts.list_leases(view, project_id, active_only=active_only, limit=limit, after_id=after_id)
            for active_only, limit, after_id in ((True, 9, 0), (False, 9, 0), (False, 1, 1))
        ]
    )

    assert (patterns_of(live), patterns_of(everything), patterns_of(later)) == (["a", "c"], ["a", "b", "c"], ["b"])
