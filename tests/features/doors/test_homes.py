"""A unit of work at a door: tried with what is there, and run again with what was not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.doors.names import Door, UnknownWireName
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.doors.homes import Homes, NoDoorsProject
from mcp_agent_mail.features.doors.names import NameSupplies, ensure_agent
from mcp_agent_mail.store.transaction import Tx
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, at, open_doors
from tests.features.doors.mailbox_calls import box

TABLES = ("projects", "wire_names", "agents")


async def _lookups(harness: DoorsHarness, sender: str, to: str) -> dict[str, int]:
    """How often the unit of work of one send asks each of these tables."""
    asked: list[str] = []
    store = harness.seeded.store
    await store.write(lambda _: store._writing.set_trace_callback(asked.append))
    await harness.send(sender, to, "again")
    await store.write(lambda _: store._writing.set_trace_callback(None))
    selects = [" ".join(one.split()) for one in asked if one.lstrip().startswith("SELECT")]
    return {table: len([one for one in selects if f" FROM {table} " in one]) for table in TABLES}


async def test_a_unit_whose_names_are_there_is_run_once_and_draws_none(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    given: list[NameSupplies] = []

    def unit(tx: Tx, project: Project, supplies: NameSupplies) -> str:
        given.append(supplies)
        return ensure_agent(tx, project, at("bob").door, "bob", supplies).name

    name = await harness.doors.homes.write(at("alice"), unit)

    assert name == "bob"
    assert [one.candidates for one in given] == [None]


async def test_a_unit_that_needs_a_drawn_name_is_undone_and_run_again(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    given: list[NameSupplies] = []

    def unit(tx: Tx, project: Project, supplies: NameSupplies) -> str:
        given.append(supplies)
        ensure_agent(tx, project, at("carol").door, "carol", supplies)
        return ensure_agent(tx, project, at("名前").door, "名前", supplies).name

    await harness.doors.homes.write(at("alice"), unit)

    assert [one.candidates is None for one in given] == [True, False]
    assert await harness.rows("SELECT name FROM wire_names WHERE name IN ('carol', '名前')") == [("carol",), ("名前",)]
    assert await harness.rows("SELECT count(*) FROM agents WHERE name = 'carol'") == [(1,)]


async def test_a_name_that_can_be_an_agents_own_needs_none_drawn(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    given: list[NameSupplies] = []

    def unit(tx: Tx, project: Project, supplies: NameSupplies) -> None:
        given.append(supplies)
        ensure_agent(tx, project, at("carol").door, "carol", supplies)

    await harness.doors.homes.write(at("alice"), unit)

    assert len(given) == 1


async def test_a_directory_that_is_no_project_yet_is_made_one(harness: DoorsHarness) -> None:
    keys: list[str] = []

    await harness.doors.homes.write(at("alice"), lambda _, project, __: keys.append(project.human_key))

    assert keys == [HOME]


async def test_a_slug_that_nobody_has_is_no_project(harness: DoorsHarness) -> None:
    with pytest.raises(UnknownProject):
        await harness.doors.homes.write(at("alice", project="no-such-slug"), lambda *_: None)


CALLS: dict[str, Callable[[DoorsHarness], Awaitable[Any]]] = {
    "send": lambda harness: harness.send("alice", "bob", "hi"),
    "pop": lambda harness: harness.doors.pop(at("alice"), wait_s=0),
    "wait": lambda harness: harness.doors.pop(at("alice"), wait_s=60),
    "pending": lambda harness: harness.doors.pending(at("alice")),
    "check": lambda harness: harness.mailboxes.check(box("alice")),
    "watch": lambda harness: harness.mailboxes.watch(box("alice"), wait_s=0),
    "list": lambda harness: harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None),
    "rename": lambda harness: harness.mailboxes.rename(box("alice"), "carol"),
    "link": lambda harness: harness.doors.link(OPERATOR, "alice", Door.POSTAL),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_setting_that_names_no_project_is_named_with_the_next_step(
    tmp_path: Path, call: Callable[[DoorsHarness], Awaitable[Any]]
) -> None:
    async with open_doors(tmp_path, facades_project="code-ap") as harness:
        with pytest.raises(NoDoorsProject) as refused:
            await call(harness)
        await harness.doors.send(at("amy", Door.AGENTMAIL, "/code/app"), "bob", "windows have a project of their own")

    assert refused.value.message == "FACADES_PROJECT names no project: 'code-ap'."
    assert refused.value.hint.startswith(
        "Did you mean /code/app or /code/lib? Let the operator set it to a path, or to a slug"
    )
    assert refused.value.data == {"setting": "FACADES_PROJECT", "nearest": ["/code/app", "/code/lib"]}


async def test_a_project_that_a_caller_names_is_not_taken_for_the_setting(harness: DoorsHarness) -> None:
    with pytest.raises(UnknownProject, match="Unknown project: no-such-slug") as refused:
        await harness.doors.link(OPERATOR, "alice", Door.POSTAL, "no-such-slug")

    assert not isinstance(refused.value, NoDoorsProject)


async def test_a_refusal_of_the_unit_is_no_reason_to_run_it_again(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    runs: list[None] = []

    def unit(_tx: Tx, _project: Project, _supplies: NameSupplies) -> None:
        runs.append(None)
        raise UnknownWireName("nobody")

    with pytest.raises(UnknownWireName):
        await harness.doors.homes.write(at("alice"), unit)

    assert len(runs) == 1


async def test_a_send_looks_up_its_project_and_each_name_once(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    await harness.send("bob", "alice", "hi")

    asked = await _lookups(harness, "alice", "bob")

    assert asked == {"projects": 1, "wire_names": 2, "agents": 2}


async def test_a_caller_with_a_project_of_its_own_is_at_home_there(harness: DoorsHarness) -> None:
    homes: Homes = harness.doors.homes

    assert [homes.key_of(None), homes.key_of(at("a")), homes.key_of(at("a", project="/x"))] == [HOME, HOME, "/x"]
