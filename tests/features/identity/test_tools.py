from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing, WrongToken
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.store.transaction import Tx
from tests.features.identity.harness import (
    NOBODY,
    OPERATOR,
    PROJECT,
    IdentityHarness,
    Ticking,
    open_identity,
    with_token,
)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def whois(harness: IdentityHarness, name: str, **more: Any) -> Any:
    return await harness.call("whois", project_key=PROJECT, agent_name=name, **more)


async def list_agents(harness: IdentityHarness, **more: Any) -> Any:
    return await harness.call("list_agents", project_key=PROJECT, **more)


def names(listed: Any) -> list[str]:
    return [agent["name"] for agent in listed["agents"]]


async def test_whois_shows_profile_presence_and_commits(harness: IdentityHarness) -> None:
    await harness.register("BlueLake", task_description="the parser")
    commit = ArchiveCommit(
        project_id=(await harness.store.read(lambda view: view.projects.newest(1)))[0].id,
        hexsha="0123456789abcdef0123",
        summary="archive: 4 events",
        authored_ts=Micros(1_800_000_000_000_000),
        last_seq=OutboxSeq(99),
    )
    await harness.store.write(lambda tx: tx.outbox.mark(commit))

    shown = await whois(harness, " bluelake ")
    without = await whois(harness, "BlueLake", include_recent_commits=False)

    assert shown["recent_commits"] == [
        {
            "hexsha": "0123456789ab",
            "summary": "archive: 4 events",
            "authored_ts": "2027-01-15T08:00:00.000000+00:00",
        }
    ]
    assert (shown["status"], shown["status_note"], shown["status_ts"], shown["retired_at"]) == (
        "ready",
        None,
        None,
        None,
    )
    assert without["recent_commits"] == []
    assert "registration_token" not in shown


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("register_agent", {"program": "x" * 129}),
        ("register_agent", {"model": " "}),
        ("register_agent", {"task_description": "x" * 4_001}),
        ("register_agent", {"attachments_policy": "never"}),
        ("set_status", {"status": "asleep"}),
        ("set_status", {"note": "x" * 1_001}),
        ("whois", {"commit_limit": 0}),
        ("list_agents", {"limit": 0}),
        ("list_agents", {"active_within_s": 0}),
    ],
)
async def test_what_is_beyond_a_limit_is_refused(
    tool: str, arguments: dict[str, Any], harness: IdentityHarness
) -> None:
    needed = {
        "register_agent": {"program": "p", "model": "m", "name": "BlueLake"},
        "set_status": {"agent_name": "BlueLake", "status": "busy"},
        "whois": {"agent_name": "BlueLake"},
        "list_agents": {},
    }

    with pytest.raises(InvalidInput):
        await harness.call(tool, **{"project_key": PROJECT, **needed[tool], **arguments})


async def test_more_than_the_most_counts_as_the_most(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    assert names(await list_agents(harness, limit=10**18, active_within_s=10**18)) == ["BlueLake"]
    assert (await whois(harness, "BlueLake", commit_limit=10**18))["name"] == "BlueLake"


async def test_a_new_identity_is_made_beside_the_one_that_has_the_name(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake")

    again = await harness.register("BlueLake", task_description="the parser", attachments_policy="inline")
    new = await harness.call(
        "create_agent_identity", project_key=PROJECT, program="codex", model="gpt", name_hint="BlueLake"
    )

    assert (again["id"], again["task_description"], again["attachments_policy"]) == (
        first["id"],
        "the parser",
        "inline",
    )
    assert (new["program"], new["model"], new["requested_name"]) == ("codex", "gpt", "BlueLake")
    assert new["id"] != first["id"]


async def test_an_agent_retires_comes_back_and_says_how_busy_it_is(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    own: dict[str, Any] = {"project_key": PROJECT, "agent_name": "BlueLake"}

    retired = await harness.call("deregister_agent", **own)
    back = await harness.call("unretire_agent", **own)
    busy = await harness.call("set_status", **own, status="busy", note="the parser")

    assert (retired["status"], retired["agent_name"], retired["released"]) == ("deregistered", "BlueLake", 0)
    assert back["name"] == "BlueLake"
    assert (busy["agent"], busy["status"], busy["status_note"]) == ("BlueLake", "busy", "the parser")


async def test_a_lost_token_is_replaced_by_the_operators_own_programs_alone(harness: IdentityHarness) -> None:
    old = (await harness.register("BlueLake"))["registration_token"]
    own: dict[str, Any] = {"project_key": PROJECT, "agent_name": "BlueLake"}

    with pytest.raises(NotFound):
        await harness.call("reissue_token", by=with_token(old), **own)
    new = (await harness.call("reissue_token", by=OPERATOR, **own))["registration_token"]

    assert new.startswith("amt_")
    assert new != old


async def known_at_doors(harness: IdentityHarness, name: str, *wire_names: str) -> None:
    def unit(tx: Tx) -> None:
        (project,) = tx.projects.newest(1)
        agent = tx.agents.find_by_name(project.id, name)
        assert agent is not None
        for wire_name in wire_names:
            tx.wire_names.add(project.id, agent.id, wire_name, tx.now)

    await harness.store.write(unit)


async def test_whois_and_list_agents_show_the_names_that_doors_know_an_agent_by(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    await harness.register("RedStone")
    await known_at_doors(harness, "BlueLake", "名前", "nobody's")

    def own(tx: Tx) -> None:
        (project,) = tx.projects.newest(1)
        known = tx.wire_names.find(project.id, "名前")
        assert known is not None
        tx.wire_names.link(tx.wire_names.own(known, Door.POSTAL), Door.AGENTMAIL)

    await harness.store.write(own)

    aliases = [
        {"door": "postal", "name": "名前"},
        {"door": "agentmail", "name": "名前"},
        {"door": None, "name": "nobody's"},
    ]
    red, blue = (await list_agents(harness))["agents"]
    assert (await whois(harness, "BlueLake"))["aliases"] == aliases
    assert blue["aliases"] == aliases
    assert "aliases" not in red
    assert "aliases" not in await whois(harness, "RedStone")


async def test_whois_knows_an_agent_by_the_name_that_doors_know_it_by(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    await harness.register("RedStone")
    await known_at_doors(harness, "BlueLake", "win dow: 2", "RedStone")

    assert (await whois(harness, "WIN DOW: 2"))["name"] == "BlueLake"
    assert (await whois(harness, "RedStone"))["name"] == "RedStone"


CALLS_BY_NAME: list[tuple[str, dict[str, Any]]] = [
    ("deregister_agent", {}),
    ("unretire_agent", {}),
    ("set_status", {"status": "busy"}),
    ("reissue_token", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS_BY_NAME)
async def test_the_operator_changes_an_agent_by_the_name_that_its_users_know(
    tool: str, arguments: dict[str, Any], harness: IdentityHarness
) -> None:
    await harness.register("BlueLake")
    await known_at_doors(harness, "BlueLake", "Zoë_1")

    own = {"project_key": PROJECT, "agent_name": "zoë_1"}
    answer = await harness.call(tool, by=OPERATOR, **own, **arguments)

    assert "BlueLake" in {answer.get("name"), answer.get("agent_name"), answer.get("agent")}


async def test_another_name_proves_nothing_and_asks_for_the_proof_that_the_own_asks_for(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as strict:
        await strict.call("ensure_project", by=OPERATOR, human_key=PROJECT)
        token = (await strict.register("BlueLake", by=OPERATOR))["registration_token"]
        other = (await strict.register("RedStone", by=OPERATOR))["registration_token"]
        await known_at_doors(strict, "BlueLake", "Zoë_1")
        busy: dict[str, Any] = {"project_key": PROJECT, "agent_name": "Zoë_1", "status": "busy"}

        with pytest.raises(TokenMissing):
            await strict.call("set_status", **busy)
        with pytest.raises(WrongToken):
            await strict.call("set_status", by=with_token(other), **busy)
        assert (await strict.call("set_status", by=with_token(token), **busy))["agent"] == "BlueLake"


async def test_nobody_is_taken_at_their_word_for_a_mailbox_by_a_name_that_it_has_left(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    await known_at_doors(harness, "BlueLake", "server-side", "frontend")

    def own(tx: Tx) -> None:
        (project,) = tx.projects.newest(1)
        known = tx.wire_names.find(project.id, "server-side")
        assert known is not None
        tx.wire_names.own(known, Door.CLAUDE_MAILBOX)

    await harness.store.write(own)

    busy: dict[str, Any] = {"project_key": PROJECT, "status": "busy"}
    with pytest.raises(UnknownAgent) as left:
        await harness.call("set_status", agent_name="frontend", **busy)
    assert left.value.data["nearest"] == ["BlueLake"]
    for by, name in ((NOBODY, "server-side"), (OPERATOR, "frontend")):
        answer = await harness.call("set_status", by=by, agent_name=name, **busy)
        assert answer["agent"] == "BlueLake"
