"""Calls for which a unit of work is too short: compared before it, confirmed inside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import InvalidInput, Unavailable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import LeaseKind, NewLease
from mcp_agent_mail.domain.patterns.keys import keys_of
from mcp_agent_mail.domain.patterns.pattern import parse_pattern
from mcp_agent_mail.features.reservations import conflicts
from mcp_agent_mail.features.reservations.conflicts import Precheck
from mcp_agent_mail.features.reservations.offload import ConflictScanner
from tests.features.reservations.claims import Claims, open_claims

MANY = [f"dir{number}/file.py" for number in range(conflicts.MAX_WANTED + 1)]
"""More paths than a unit of work compares."""


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def fill(
    claims: Claims, holder: Agent, texts: Sequence[str], *, exclusive: bool = True, ignore_case: bool = False
) -> None:
    """Leases as granted, without the checks of a grant."""
    patterns = [parse_pattern(text, ignore_case=ignore_case) for text in texts]
    now = claims.seeded.clock.now
    new = [
        NewLease(
            project_id=holder.project_id,
            agent_id=holder.id,
            agent=holder.name,
            kind=LeaseKind.FILE,
            path_pattern=pattern.text,
            keys=keys_of(pattern),
            exclusive=exclusive,
            reason="",
            expires_ts=Micros(now + 3_600 * SECOND),
            ignore_case=ignore_case,
        )
        for pattern in patterns
    ]
    await claims.seeded.store.write(lambda tx: tx.leases.add_many(new, now))


Act = Callable[[Precheck], Awaitable[object]]


def meanwhile(monkeypatch: pytest.MonkeyPatch, *acts: Act) -> list[Precheck]:
    """Runs one of `acts` after each look that a large call takes; gives what was seen."""
    looks: list[Precheck] = []
    precheck = ConflictScanner.precheck

    async def look(self: ConflictScanner, asking: Any, wanted: Any) -> Any:
        seen = await precheck(self, asking, wanted)
        looks.append(seen[0])
        if len(looks) <= len(acts):
            await acts[len(looks) - 1](seen[0])
        return seen

    monkeypatch.setattr(ConflictScanner, "precheck", look)
    return looks


def conflicting(answer: Any) -> list[str]:
    return [one["path"] for one in answer["conflicts"]]


async def test_many_paths_are_decided_as_few_are(claims: Claims) -> None:
    await claims.hold("BlueLake", "dir3/*.py", "dir7/", "dir9/other.py")

    answer = await claims.reserve("RedStone", *MANY)

    assert conflicting(answer) == ["dir3/file.py", "dir7/file.py"]
    assert len(answer["granted"]) == len(MANY) - 2


async def test_a_pattern_that_meets_hundreds_names_the_first_holders(claims: Claims) -> None:
    await fill(claims, claims.seeded.blue, [f"src/f{number}.py" for number in range(conflicts.MAX_CANDIDATES + 50)])

    answer = await claims.reserve("RedStone", "src/**", "docs")

    (conflict,) = answer["conflicts"]
    assert conflict["path"] == "src/**"
    assert len(conflict["holders"]) == 20
    assert {holder["agent"] for holder in conflict["holders"]} == {"BlueLake"}


async def test_what_was_granted_since_the_look_counts(claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = meanwhile(monkeypatch, lambda _: claims.hold("BlueLake", "dir5/**"))

    answer = await claims.reserve("RedStone", *MANY)

    assert conflicting(answer) == ["dir5/file.py"]
    assert len(looks) == 1


async def test_what_was_released_since_the_look_is_free(claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    await claims.hold("BlueLake", "dir5/**")
    meanwhile(monkeypatch, lambda _: claims.release("BlueLake"))

    answer = await claims.reserve("RedStone", *MANY)

    assert conflicting(answer) == []


async def test_what_expires_after_the_look_is_free(claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    await claims.hold("BlueLake", "dir5/**", ttl_seconds=60)

    async def pass_a_minute(_: Precheck) -> None:
        claims.seeded.clock.step(60)

    meanwhile(monkeypatch, pass_a_minute)

    answer = await claims.reserve("RedStone", *MANY)

    assert conflicting(answer) == []
    assert claims.rows("SELECT ended_by FROM leases WHERE id = 1") == [("expiry",)]


async def test_a_lease_that_became_exclusive_since_the_look_counts(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    await claims.hold("BlueLake", "dir5/**", exclusive=False)
    meanwhile(monkeypatch, lambda _: claims.hold("BlueLake", "dir5/**"))

    answer = await claims.reserve("RedStone", *MANY, exclusive=False)

    assert conflicting(answer) == ["dir5/file.py"]


async def test_when_all_the_holders_seen_are_gone_and_there_were_more_it_looks_again(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(claims, claims.seeded.blue, [f"src/f{number}.py" for number in range(conflicts.MAX_CANDIDATES + 50)])
    looks = meanwhile(monkeypatch, lambda seen: claims.release("BlueLake", file_reservation_ids=list(seen.against[0])))

    answer = await claims.reserve("RedStone", "src/**")

    assert conflicting(answer) == ["src/**"]
    assert len(looks) == 2


async def test_whoever_grants_faster_than_a_large_call_looks_keeps_it_out(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = (claims.seeded.blue, claims.seeded.green, claims.seeded.blue)
    count = conflicts.MAX_CANDIDATES + 1
    acts = [
        lambda _, agent=agent, at=at: fill(claims, agent, [f"new{at}/{number}" for number in range(count)])
        for at, agent in enumerate(agents)
    ]
    meanwhile(monkeypatch, *acts)

    with pytest.raises(Unavailable):
        await claims.reserve("RedStone", *MANY)

    assert claims.rows("SELECT count(*) FROM leases WHERE agent_id = ?", claims.seeded.red.id) == [(0,)]


async def test_patterns_beyond_the_bound_are_refused_and_change_nothing(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(claims, claims.seeded.blue, [f"{'*a' * 50}{number}" for number in range(300)])
    monkeypatch.setattr(claims.service._reserver._scanner, "_max_steps", 1_000)

    with pytest.raises(InvalidInput) as refusal:
        await claims.reserve("RedStone", f"{'*a' * 100}*", "free")

    assert refusal.value.data["max_steps"] == 1_000
    assert claims.rows("SELECT count(*) FROM leases WHERE agent_id = ?", claims.seeded.red.id) == [(0,)]


async def test_leases_that_ignore_letter_case_meet_others_beside_some_that_do_not(claims: Claims) -> None:
    await fill(claims, claims.seeded.blue, ["DIR5/FILE.PY"], ignore_case=True)
    await fill(claims, claims.seeded.green, ["DIR6/FILE.PY"])

    answer = await claims.reserve("RedStone", *MANY)

    assert conflicting(answer) == ["dir5/file.py"]


async def test_a_large_look_ahead_says_the_same(claims: Claims) -> None:
    await claims.hold("BlueLake", "dir3/*.py")

    look = await claims.check("RedStone", *MANY)

    assert [one["path"] for one in look["conflicts"]] == ["dir3/file.py"]
    assert len(look["free"]) == len(MANY) - 1


async def test_one_call_among_ten_thousand_leases_reads_a_handful(claims: Claims) -> None:
    await fill(claims, claims.seeded.blue, [f"pkg{n % 100}/mod{n}/file.py" for n in range(5_000)])
    await fill(claims, claims.seeded.blue, [f"shared{n}/**" for n in range(2_500)], exclusive=False)
    await fill(claims, claims.seeded.blue, [f"**/*.e{n}" for n in range(2_500)], exclusive=False)
    wanted = await claims.service._reader.read(claims.seeded.app, ["fresh/dir/file.txt"], exclusive=True)
    asking = conflicts.ConflictQuery(
        project_id=claims.seeded.app.id, agent_id=claims.seeded.red.id, now=claims.seeded.clock.now
    )

    found = await claims.seeded.store.read(lambda view: conflicts._candidates(view, asking, wanted))

    assert found == []
