"""How tables show themselves over MCP: ours greets and takes `format`, a door's has its own words and no more."""

from __future__ import annotations

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.profiles import FULL
from mcp_agent_mail.facades.tool_door import DoorAnswer, DoorTools
from mcp_agent_mail.server.rendering.formats import PLAIN, OutputFormat
from mcp_agent_mail.server.rendering.mcp_words import OURS, words_of
from tests.server.hosted import toy_tools

ECHO = toy_tools()[0]
DOOR = words_of(
    DoorTools(
        server_name="toys",
        tools=[ECHO],
        show_result=lambda spec, result: DoorAnswer(text=f"{spec.name}: {result}", structured={"result": result}),
        show_error=lambda name, error: DoorAnswer(text=f"{name}! {error.message}"),
        aliases={"say": "echo"},
    )
)


def test_a_door_greets_nobody_and_ours_everybody() -> None:
    assert (DOOR.server_name, DOOR.greeting(FULL)) == ("toys", None)
    assert (OURS.greeting(FULL) or "").startswith("Mail between coding agents.")


def test_only_ours_takes_the_words_of_the_result_out_of_the_arguments() -> None:
    given = {"text": "hi", "format": "md"}

    ours, output = OURS.read_arguments(given, PLAIN)

    assert (ours, output.format) == ({"text": "hi"}, OutputFormat.MD)
    assert DOOR.read_arguments(given, PLAIN) == (given, PLAIN)


def test_a_doors_answers_have_structured_content_where_the_door_has_it_so() -> None:
    result = DOOR.show_result(ECHO, "hi", PLAIN)
    error = DOOR.show_error("say", Conflict("It is taken.", hint="Take another."))

    assert result == {
        "content": [{"type": "text", "text": "echo: hi"}],
        "structuredContent": {"result": "hi"},
        "isError": False,
        "resultType": "complete",
    }
    assert error == {
        "content": [{"type": "text", "text": "say! It is taken."}],
        "isError": True,
        "resultType": "complete",
    }


def test_a_refusal_at_a_door_leads_to_no_tool_of_this_servers_own() -> None:
    door = words_of(
        DoorTools(
            server_name="toys",
            tools=[ECHO],
            show_result=lambda _spec, _result: DoorAnswer(text=""),
            show_error=lambda name, error: DoorAnswer(text=f"{name}: {error.text}"),
        )
    )

    told = [
        door.show_error("say", Conflict("It is taken.", hint=hint))["content"][0]["text"].strip()
        for hint in ("Leave it out. list_contacts shows where you stand.", "Call list_contacts.")
    ]

    assert told == ["say: It is taken. Leave it out.", "say: It is taken."]
