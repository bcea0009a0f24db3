from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import is_generated_form
from mcp_agent_mail.domain.importing.report import WhyRenamed
from tests.features.importing.scripted import TOKEN, ScriptedReader, agent, at, copy, message, project, whole_store
from tests.features.importing.test_service import bring
from tests.rebuild.world import World

APP = "/old/app"
AGENTS = """
SELECT name, program, model, task_description, inception_ts, last_active_ts, contact_policy, attachments_policy
FROM agents WHERE kind = 'agent' AND project_id = 1 ORDER BY id
"""


def mailboxes(*names: str, door: Door = Door.POSTAL, store_id: str = "one") -> ScriptedReader:
    return ScriptedReader(
        system=door.value,
        store_id=store_id,
        all_projects=[project(human_key=None, slug=None)],
        all_agents=[agent(name, name, wire=door) for name in names],
    )


def wire_names(world: World) -> list[tuple[str, str, str | None]]:
    return world.rows(
        "SELECT w.name, a.name, w.owner FROM wire_names w JOIN agents a ON a.id = w.agent_id ORDER BY w.id"
    )


async def test_profile_policies_and_times_are_as_they_were(world: World) -> None:
    await bring(world, whole_store())

    (blue, red, unfit, green) = world.rows(AGENTS)
    assert blue == ("BlueLake", "claude-code", "opus", "porting", at(1), at(50), "open", "auto")
    assert red[6:] == ("auto", "file")
    assert green[6:] == ("block_all", "auto")
    assert is_generated_form(unfit[0])


async def test_the_token_that_an_agent_has_goes_on_and_stands_nowhere(world: World) -> None:
    await bring(world, whole_store())

    seen = await world.call("whois", Credentials(via="rpc", agent_token=TOKEN), project_key=APP, agent_name="BlueLake")

    assert seen["name"] == "BlueLake"
    assert TOKEN.encode() not in world.settings.database_path.read_bytes()
    wrong = Credentials(via="rpc", agent_token="another")
    with pytest.raises(Exception, match="token"):
        await world.call("fetch_inbox", wrong, project_key=APP, agent_name="BlueLake")


async def test_a_name_that_is_none_here_is_an_alias_of_a_made_one(world: World) -> None:
    report = await bring(world, whole_store())

    (one,) = report.names
    assert (one.project, one.name, one.alias, one.why) == (APP, "agent x!", "agent x!", WhyRenamed.UNFIT)
    assert wire_names(world) == [("agent x!", one.agent, None)]


async def test_a_name_that_no_agent_can_have_and_another_goes_by_is_told_as_taken(world: World) -> None:
    reader = ScriptedReader(all_projects=[project()], all_agents=[agent("a1", "Zoë_1")])
    first = await bring(world, reader)

    second = await bring(world, replace(reader, store_id="another", all_agents=[agent("b1", "Zoë_1")]))

    assert [(one.why, one.alias) for one in first.names] == [(WhyRenamed.UNFIT, "Zoë_1")]
    assert [(one.why, one.alias) for one in second.names] == [(WhyRenamed.TAKEN, "Zoë_1-mcp-agent-mail")]


async def test_a_name_of_another_is_not_taken_and_both_stay_apart(world: World) -> None:
    await world.call("ensure_project", human_key=APP)
    await world.call("register_agent", project_key=APP, program="p", model="m", name="bluelake")

    report = await bring(world, whole_store())

    taken = next(one for one in report.names if one.name == "BlueLake")
    assert (taken.why, taken.alias) == (WhyRenamed.TAKEN, "BlueLake-mcp-agent-mail")
    assert taken.agent is not None
    native = await world.call("fetch_inbox", project_key=APP, agent_name="bluelake")
    theirs = await world.call("fetch_inbox", project_key=APP, agent_name=taken.agent)
    assert ([one["subject"] for one in native], len(theirs)) == ([], 2)


async def test_two_of_a_source_that_differ_by_letter_case_alone_are_two(world: World) -> None:
    reader = ScriptedReader(all_projects=[project()], all_agents=[agent("a1", "Blue"), agent("a2", "BLUE")])

    dry = await bring(world, reader, apply=False)
    report = await bring(world, reader)

    assert [(one.name, one.why) for one in report.names] == [("BLUE", WhyRenamed.TAKEN)]
    assert [(one.name, one.why) for one in dry.names] == [("BLUE", WhyRenamed.TAKEN)]
    assert len(world.rows(AGENTS)) == 2


async def test_a_doors_names_are_that_doors_own(world: World) -> None:
    await bring(world, mailboxes("alice", "名前"))

    (alice, other) = wire_names(world)
    assert alice == ("alice", "alice", "postal")
    assert (other[0], other[2]) == ("名前", "postal")
    assert is_generated_form(other[1])
    assert world.rows("SELECT count(*) FROM agents WHERE kind = 'agent' AND token_hash IS NULL") == [(0,)]


async def test_everybody_may_write_to_a_doors_mailbox_which_cannot_be_asked(world: World) -> None:
    await bring(world, mailboxes("bob"))

    assert world.rows("SELECT contact_policy FROM agents WHERE name = 'bob'") == [("open",)]


async def test_the_mailbox_that_the_door_has_already_is_the_same_one(world: World) -> None:
    await bring(world, mailboxes("alice"))

    report = await bring(world, mailboxes("Alice", store_id="two"))

    assert [(one.name, one.agent, one.why) for one in report.names] == [("Alice", "alice", WhyRenamed.JOINED)]
    assert len(wire_names(world)) == 1


async def test_of_two_doors_each_keeps_its_own_bob(world: World) -> None:
    await bring(world, mailboxes("bob"))

    report = await bring(world, mailboxes("bob", door=Door.CLAUDE_MAILBOX))

    (one,) = report.names
    assert (one.why, one.alias) == (WhyRenamed.TAKEN, "bob-claude-mailbox")
    assert [(name, owner) for name, _, owner in wire_names(world)] == [
        ("bob", "postal"),
        ("bob-claude-mailbox", "claude-mailbox"),
    ]


@pytest.mark.parametrize("name", ["Human", "System", "all", "x" * 200, "", "a\nb", "\ud800"])
async def test_whatever_the_name_it_comes_in_and_nobody_else_is_meant(world: World, name: str) -> None:
    reader = ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", name), agent("a2", "BlueLake")],
        all_messages=[message("m1", "a2", copy("a1"))],
    )

    report = await bring(world, reader)

    (one,) = report.names
    assert one.agent is not None
    assert is_generated_form(one.agent)
    humans = await world.call("fetch_inbox", project_key=APP, agent_name=one.agent)
    assert [mail["subject"] for mail in humans] == ["About m1"]
    assert world.rows("SELECT sum(inbox_count) FROM agents WHERE kind <> 'agent'") == [(0,)]


async def test_one_token_is_never_two_agents(world: World) -> None:
    reader = whole_store()
    await bring(world, reader)
    reader.store_id = "two"

    report = await bring(world, reader, into=APP)

    assert world.rows("SELECT count(token_hash) FROM agents WHERE token_hash IS NOT NULL") == [(1,)]
    (told,) = [note for note in report.notes if note.startswith("The token of 'BlueLake' is another agent's here: ")]
    assert re.search(r": am token reissue \S+ --project \S+ gives it one\.$", told)


async def test_what_it_last_said_of_itself_and_that_it_is_gone_come_along(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", "BlueLake", status=AgentStatus.BUSY, retired_ts=at(60))],
    )

    await bring(world, reader)

    assert world.rows("SELECT status, retired_ts FROM agents WHERE name = 'BlueLake'") == [("busy", at(60))]


async def test_a_longer_profile_than_one_may_have_is_cut(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project()], all_agents=[agent("a1", "BlueLake", program="p" * 300, task="t" * 5_000)]
    )

    await bring(world, reader)

    ((program, task),) = world.rows("SELECT program, task_description FROM agents WHERE name = 'BlueLake'")
    assert (len(program), program[-1], len(task), task[-1]) == (128, "…", 4_000, "…")


async def test_where_agents_prove_who_they_are_one_without_a_token_is_nobodys_until_the_operator_gives_it_one(
    world: World,
) -> None:
    service = world.services.importing
    service._rules = replace(service._rules, auth=AgentAuth.STRICT)

    report = await bring(world, ScriptedReader(all_projects=[project()], all_agents=[agent("a1", "BlueLake")]))

    assert world.rows("SELECT token_hash IS NULL FROM agents WHERE name = 'BlueLake'") == [(0,)]
    assert any("am token reissue AGENT --project PROJECT" in note for note in report.notes)


async def test_an_agent_of_another_system_does_not_pass_for_a_doors_mailbox(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project()], all_agents=[replace(agent("a1", "BlueLake"), program=Door.POSTAL.value)]
    )

    await bring(world, reader)

    assert world.rows("SELECT program FROM agents WHERE name = 'BlueLake'") == [("postal (imported)",)]
