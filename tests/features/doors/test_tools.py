"""The operator's tools of doors, over a real store; nobody else runs them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.doors.names import Door, NameOwnedElsewhere
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.doors.results import DoorPlace
from mcp_agent_mail.features.doors.tools import door_tools
from tests.features.doors.harness import OPERATOR, DoorsHarness, at

HERE = Credentials(via="local")
PLACES = (
    DoorPlace(door=Door.POSTAL.value, is_open=True, setting="POSTAL_ENABLED", at=("/agents/{agent}/mcp", "port 7777")),
    DoorPlace(door=Door.AGENTMAIL.value, is_open=False, setting="AGENTMAIL_ENABLED", at=()),
)


async def call(harness: DoorsHarness, tool: str, by: Caller = OPERATOR, **arguments: Any) -> Any:
    async def current_caller() -> Caller:
        return by

    harness.doors.places = PLACES
    return await ToolTable(door_tools(harness.doors, current_caller)).run(tool, arguments, HERE)


async def test_every_door_is_listed_with_where_it_is(harness: DoorsHarness) -> None:
    assert await call(harness, "list_doors") == [
        {"door": "postal", "open": True, "setting": "POSTAL_ENABLED", "at": ["/agents/{agent}/mcp", "port 7777"]},
        {"door": "agentmail", "open": False, "setting": "AGENTMAIL_ENABLED", "at": []},
    ]


async def test_names_are_listed_with_their_owner_from_the_oldest_on(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "ping")

    first, second = await call(harness, "list_door_names")

    assert [(one["name"], one["owner"], one["linked"], one["agent"]) for one in (first, second)] == [
        ("alice", "postal", [], "alice"),
        ("bob", None, [], "bob"),
    ]
    assert await call(harness, "list_door_names", after_id=first["id"]) == [second]


async def test_a_linked_name_is_spoken_as_by_the_other_door_until_it_is_unlinked(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "ping")
    other = at("alice", Door.CLAUDE_MAILBOX)
    with pytest.raises(NameOwnedElsewhere):
        await harness.doors.pop(other, wait_s=0)

    linked = await call(harness, "link_door_name", name="alice", door="claude-mailbox")
    taken = await harness.doors.pop(other, wait_s=0)
    unlinked = await call(harness, "unlink_door_name", name="alice", door="claude-mailbox")

    assert (linked["owner"], linked["linked"], unlinked["linked"], taken) == ("postal", ["claude-mailbox"], [], None)
    with pytest.raises(NameOwnedElsewhere):
        await harness.doors.pop(other, wait_s=0)


async def test_a_name_and_a_door_that_there_are_not_are_refused(harness: DoorsHarness) -> None:
    with pytest.raises(NotFound):
        await call(harness, "link_door_name", name="nobody", door="postal")
    with pytest.raises(InvalidInput, match="postal"):
        await call(harness, "link_door_name", name="nobody", door="pigeon")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_doors", {}),
        ("list_door_names", {}),
        ("link_door_name", {"name": "alice", "door": "postal"}),
        ("unlink_door_name", {"name": "alice", "door": "postal"}),
    ],
)
async def test_they_are_the_operators_alone(harness: DoorsHarness, tool: str, arguments: dict[str, Any]) -> None:
    nobody = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)

    with pytest.raises(PermissionDenied):
        await call(harness, tool, nobody, **arguments)
