"""Which calls, capabilities and figures are shown to whom."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired, PermissionDenied
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import RecordedCaller
from mcp_agent_mail.features.introspection.service import MAX_ENTRIES
from tests.features.introspection.harness import ANYBODY, OPERATOR, STRANGER, Watchtower, proven

APP, LIB = "/code/app", "/code/lib"


async def test_tools_of_the_operator_are_left_out(tower: Watchtower) -> None:
    names = {spec.name for spec in tower.service.tools()}

    assert "send_message" in names
    assert "create_join_code" not in names


async def test_an_agent_may_read_and_write_and_a_retired_one_may_only_read(tower: Watchtower) -> None:
    _, _, able = await tower.service.capabilities(ANYBODY, "BlueLake", APP)
    await tower.seeded.store.write(lambda tx: tx.agents.set_retired(tower.seeded.blue.id, tx.now, tx.now))

    _, _, left = await tower.service.capabilities(ANYBODY, "BlueLake", APP)

    assert {"messaging:read", "messaging:write"} <= set(able)
    assert able == sorted(able)
    assert left == [one for one in able if one.endswith(":read")]


async def test_in_an_archived_project_everybody_only_reads(tower: Watchtower) -> None:
    await tower.seeded.store.write(lambda tx: tx.projects.set_archived(tower.seeded.app.id, tx.now))

    project, agent, able = await tower.service.capabilities(ANYBODY, "BlueLake", APP)

    assert (project.human_key, agent.name) == (APP, "BlueLake")
    assert {one.partition(":")[2] for one in able} == {"read"}


async def test_what_an_agent_may_do_is_for_those_who_may_read_its_project(tower: Watchtower) -> None:
    with pytest.raises(AuthenticationRequired):
        await tower.service.capabilities(STRANGER, "BlueLake", APP)
    with pytest.raises(PermissionDenied):
        await tower.service.capabilities(proven(tower.seeded.fox), "BlueLake", APP)


async def test_calls_come_newest_first_within_the_window_that_was_asked_for(tower: Watchtower) -> None:
    for tool in ("whois", "list_agents", "search_messages"):
        tower.note(tool, APP)

    assert await tower.recent() == ["search_messages", "list_agents", "whois"]
    assert await tower.recent(window_s=1) == ["search_messages", "list_agents"]


async def test_calls_are_chosen_by_agent_whatever_its_case_and_by_project_however_named(tower: Watchtower) -> None:
    seeded = tower.seeded
    tower.note("whois", APP, seeded.blue)
    tower.note("list_agents", LIB, seeded.lib_blue)
    tower.note("search_messages", "code-app", seeded.red)

    assert await tower.recent(agent=" bluelake ") == ["list_agents", "whois"]
    assert await tower.recent(project="code-app") == ["search_messages", "whois"]
    assert await tower.recent(agent="BlueLake", project=APP) == ["whois"]


async def test_no_call_is_of_a_project_that_is_not_there(tower: Watchtower) -> None:
    tower.note("whois", "/code/none")
    tower.note("health_check")

    assert await tower.recent(project="/code/none") == []
    assert await tower.recent() == ["health_check", "whois"]


async def test_at_most_a_thousand_are_shown_the_newest(tower: Watchtower) -> None:
    tower.note("list_agents", APP)
    for _ in range(MAX_ENTRIES):
        tower.note("whois", APP)

    assert await tower.recent() == ["whois"] * MAX_ENTRIES


async def test_calls_of_a_foreign_project_are_shown_neither_by_project_nor_by_name(tower: Watchtower) -> None:
    tower.note("whois", APP, tower.seeded.blue)
    tower.note("list_agents", LIB, tower.seeded.fox)
    fox = proven(tower.seeded.fox)

    assert await tower.recent(fox) == ["list_agents"]
    assert await tower.recent(fox, project=APP) == await tower.recent(fox, agent="BlueLake") == []
    assert await tower.recent(OPERATOR) == ["list_agents", "whois"]
    with pytest.raises(AuthenticationRequired):
        await tower.recent(STRANGER)


async def test_a_call_by_somebody_whose_project_is_gone_is_the_operators_to_see(tower: Watchtower) -> None:
    tower.seeded.clock.step()
    doer = RecordedCaller(agent_name="BlueLake", project_id=ProjectId(99))
    tower.usage.note("whois", 0.001, failed=False, project=APP, doer=doer)

    assert await tower.recent() == []
    assert await tower.recent(OPERATOR) == ["whois"]


@pytest.mark.parametrize("tool", ["mark_message_read", "acknowledge_message"])
async def test_that_mail_was_read_is_shown_to_its_reader_and_the_operator_alone(tool: str, tower: Watchtower) -> None:
    seeded = tower.seeded
    tower.note(tool, APP, seeded.blue)

    shown = {
        name: await tower.recent(caller)
        for name, caller in (
            ("itself", proven(seeded.blue)),
            ("its neighbour", proven(seeded.red)),
            ("its namesake", proven(seeded.lib_blue)),
            ("anybody", ANYBODY),
            ("operator", OPERATOR),
        )
    }

    assert shown == {"itself": [tool], "its neighbour": [], "its namesake": [], "anybody": [], "operator": [tool]}


async def test_that_mail_was_read_by_nobody_proven_is_the_operators_to_see(tower: Watchtower) -> None:
    tower.note("mark_message_read", APP)

    assert await tower.recent(proven(tower.seeded.blue)) == []
    assert await tower.recent(OPERATOR) == ["mark_message_read"]


async def test_how_often_mail_was_read_is_the_operators_to_count(tower: Watchtower) -> None:
    tower.note("mark_message_read", APP, tower.seeded.blue)
    tower.note("whois", APP, failed=True)
    own, of_operator = tower.service.figures(ANYBODY), tower.service.figures(OPERATOR)

    assert [own(tool).calls for tool in ("mark_message_read", "whois", "never")] == [0, 1, 0]
    assert (own("whois").errors, of_operator("mark_message_read").calls) == (1, 1)
    with pytest.raises(AuthenticationRequired):
        tower.service.figures(STRANGER)
