"""What goes on just now: who is at work, what it called last, and what it holds, as far as one may see it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired
from mcp_agent_mail.core.tools import RecordedCaller
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.oversight import activity
from mcp_agent_mail.features.oversight.activity import AT_WORK_S, OversightActivity, SeenActivity
from tests.seeded_store import SeededStore
from tests.store.grants import grant

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


@pytest.fixture
def usage(seeded: SeededStore) -> Usage:
    return Usage(clock=seeded.clock)


@pytest.fixture
def service(seeded: SeededStore, usage: Usage) -> OversightActivity:
    return OversightActivity(seeded.store, usage)


def proven(agent: Agent) -> Caller:
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.STRICT,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )


async def touch(seeded: SeededStore, agent: Agent) -> None:
    seeded.clock.step()
    await seeded.store.write(lambda tx: tx.agents.touch_many([(agent.id, tx.now)]))


def workers(seen: SeenActivity) -> list[tuple[str, str]]:
    return [(one.project.slug, one.agent.name) for one in seen.agents]


def held(seen: SeenActivity) -> list[str]:
    return [one.lease.path_pattern for one in seen.leases]


async def test_an_agent_sees_its_own_project_and_those_linked_to_it(
    seeded: SeededStore, service: OversightActivity
) -> None:
    await grant(seeded, seeded.blue, "a.py")
    await grant(seeded, seeded.fox, "c.py")
    linked = replace(proven(seeded.fox), linked_projects=frozenset({seeded.app.id}))

    own = await service.look(proven(seeded.fox))
    whole = await service.look(OPERATOR)

    assert (set(workers(own)), held(own)) == ({("code-lib", "QuietFox"), ("code-lib", "BlueLake")}, ["c.py"])
    assert (len(workers(whole)), held(whole)) == (5, ["c.py", "a.py"])
    for caller in (ANYBODY, linked):
        assert held(await service.look(caller)) == ["c.py", "a.py"]
    with pytest.raises(AuthenticationRequired):
        await service.look(UNPROVEN)


async def test_who_has_not_called_for_a_while_is_not_at_work_and_the_last_to_call_is_first(
    seeded: SeededStore, service: OversightActivity
) -> None:
    seeded.clock.step(AT_WORK_S)
    at_the_edge = await service.look(OPERATOR)
    await touch(seeded, seeded.fox)
    await touch(seeded, seeded.red)

    seen = await service.look(OPERATOR)

    assert len(at_the_edge.agents) == 5
    assert workers(seen) == [("code-app", "RedStone"), ("code-lib", "QuietFox")]


async def test_that_an_agent_read_its_mail_is_told_the_operator_alone(
    seeded: SeededStore, usage: Usage, service: OversightActivity
) -> None:
    doer = RecordedCaller(project_id=seeded.app.id, agent_name="BlueLake")
    for tool in ("send_message", "mark_message_read"):
        seeded.clock.step()
        usage.note(tool, 0.1, failed=False, project=None, doer=doer)
    usage.note("whois", 0.1, failed=False, project="/code/app")

    async def called(caller: Caller) -> dict[tuple[str, str], str]:
        seen = await service.look(caller)
        return {
            (one.project.slug, one.agent.name): one.last_call.tool for one in seen.agents if one.last_call is not None
        }

    assert await called(OPERATOR) == {("code-app", "BlueLake"): "mark_message_read"}
    for caller in (ANYBODY, proven(seeded.red)):
        assert await called(caller) == {("code-app", "BlueLake"): "send_message"}


async def test_what_is_over_or_reserves_no_file_is_not_held(seeded: SeededStore, service: OversightActivity) -> None:
    await grant(seeded, seeded.blue, "short.py", ttl_s=60)
    await grant(seeded, seeded.blue, "long.py", ttl_s=61)
    await grant(seeded, seeded.blue, "slot", kind=LeaseKind.SLOT)
    before = held(await service.look(OPERATOR))
    seeded.clock.step(60)

    assert before == ["long.py", "short.py"]
    assert held(await service.look(OPERATOR)) == ["long.py"]


async def test_all_projects_share_the_bounds_and_that_there_is_more_is_told(
    seeded: SeededStore, service: OversightActivity, monkeypatch: pytest.MonkeyPatch
) -> None:
    await grant(seeded, seeded.fox, "c.py")
    await grant(seeded, seeded.blue, "a.py")
    await touch(seeded, seeded.fox)
    await touch(seeded, seeded.red)
    for name in ("MOST_AGENTS", "MOST_LEASES"):
        monkeypatch.setattr(activity, name, 1)

    first = await service.look(OPERATOR)
    monkeypatch.setattr(activity, "MOST_PROJECTS", 1)
    newest = await service.look(OPERATOR)

    assert (workers(first), first.has_more_agents) == ([("code-app", "RedStone")], True)
    assert (held(first), first.has_more_leases, first.has_more_projects) == (["a.py"], True, False)
    assert (workers(newest), newest.has_more_agents) == ([("code-lib", "QuietFox")], True)
    assert (held(newest), newest.has_more_leases, newest.has_more_projects) == (["c.py"], False, True)


async def test_what_is_set_aside_is_not_among_all_projects(seeded: SeededStore, service: OversightActivity) -> None:
    await grant(seeded, seeded.blue, "a.py")
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))
    one = await service.look(OPERATOR)
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))
    none = await service.look(OPERATOR)

    assert ({slug for slug, _ in workers(one)}, held(one)) == ({"code-lib"}, [])
    assert (none.agents, none.leases, none.has_more_agents, none.has_more_projects) == ([], [], False, False)
