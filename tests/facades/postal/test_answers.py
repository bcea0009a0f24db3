"""The words of this door: those its users know stay bare, any other refusal has a next step."""

from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.tools import Credentials, Json, UnknownTool, tool
from mcp_agent_mail.domain.doors.ids import IdTaken
from mcp_agent_mail.domain.doors.names import NameOfNoProject, NameOwnedElsewhere, UnfitWireName
from mcp_agent_mail.facades.postal.answers import show_error, show_result
from mcp_agent_mail.facades.tool_door import DoorToolTable, UnfitArguments
from mcp_agent_mail.features.doors.send import MailboxFull


async def send_to_agent(name: Annotated[str, Text()], msg: Annotated[str, Text()]) -> Json:
    """Never called."""
    return name + msg


SPEC = tool(send_to_agent, cluster="postal", title="Send")


def test_an_id_is_shown_as_it_is_a_message_as_indented_json_and_nothing_as_null() -> None:
    assert show_result(SPEC, "m-1").text == "m-1"
    assert show_result(SPEC, {"id": "m-1", "content": "é"}).text == '{\n  "id": "m-1",\n  "content": "é"\n}'
    assert show_result(SPEC, None).text == "null"
    assert show_result(SPEC, None).structured is None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnfitWireName("Invalid agent name.", hint="A name has letters."), "Invalid agent name."),
        (
            NameOfNoProject("Invalid agent name.", hint="Did you mean BlueLake@app-1f?"),
            "Invalid agent name. Did you mean BlueLake@app-1f?",
        ),
        (MailboxFull("Mailbox of bob is full (3 unread).", hint="Wait."), "Mailbox of bob is full (3 unread)."),
        (IdTaken("It was sent.", hint="Use another id."), "It was sent. Use another id."),
        (
            NameOwnedElsewhere(
                "bob is a name of claude-mailbox.", hint="Let the operator run: am facade link bob postal"
            ),
            "bob is a name of claude-mailbox. Let the operator run: am facade link bob postal",
        ),
    ],
)
def test_a_refusal_is_an_error_of_the_tool_by_the_name_that_was_called(error: AgentMailError, text: str) -> None:
    assert show_error("send_message", error).text == f"Error calling tool 'send_message': {text}"


def test_an_unknown_tool_is_named_and_nothing_else_is_said() -> None:
    assert show_error("nope", UnknownTool("Unknown tool: nope", hint="There are: …")).text == (
        "Unknown tool: nope\nThere are: send_to_agent, check_mail."
    )


async def test_what_is_wrong_with_the_arguments_is_counted_and_told_of_the_tool_itself() -> None:
    with pytest.raises(UnfitArguments) as refused:
        await DoorToolTable([SPEC]).run("send_to_agent", {"nmae": "bob"}, Credentials(via="mcp"))

    assert show_error("send_message", refused.value).text == (
        "Error calling tool 'send_message': 3 validation errors for call[send_to_agent]\n"
        "send_to_agent has no argument 'nmae' and needs msg. Did you mean name? Accepted: name, msg."
    )
