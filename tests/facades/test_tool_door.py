"""What a door's tools take: what they declare, and nothing that ours take beside it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.tools import Credentials, Json, UnknownTool, current_credentials, tool
from mcp_agent_mail.facades.tool_door import DoorToolTable, UnfitArguments

BOB = Credentials(via="mcp", door_name="bob")


async def say(text: Annotated[str, Text()]) -> Json:
    """Say it."""
    return f"{current_credentials().door_name}: {text}"


TABLE = DoorToolTable([tool(say, cluster="toys", title="Say")])


async def test_a_tool_is_run_as_who_the_door_takes_its_caller_to_be() -> None:
    assert await TABLE.run("say", {"text": "hi"}, BOB) == "bob: hi"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say needs text."),
        ({"text": "hi", "format": "md"}, "say has no argument 'format'."),
        ({"text": "hi", "registration_token": "amt_1"}, "say has no argument 'registration_token'."),
        ({"text": ["hi"]}, "text must be text, not a list."),
    ],
    ids=["missing", "format", "token", "wrong type"],
)
async def test_any_other_argument_is_a_fault_of_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UnfitArguments) as refused:
        await TABLE.run("say", arguments, BOB)

    assert refused.value.message == message


async def test_a_name_that_there_is_not_is_unknown() -> None:
    with pytest.raises(UnknownTool):
        await TABLE.run("nope", {}, BOB)
