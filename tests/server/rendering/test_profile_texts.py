"""No text of a profile names a tool that it lacks: descriptions, instructions, and every hint that there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mcp_agent_mail.core.arguments import WrongArguments
from mcp_agent_mail.core.errors import NotFound, suggest_call
from mcp_agent_mail.core.profiles import FULL, NAMED, NONE_OF_OURS, TOOLS, ToolProfile, custom_profile
from mcp_agent_mail.facades.claims.profile import CLAIMS
from mcp_agent_mail.server.rendering.profile_texts import (
    INSTRUCTIONS,
    fitted,
    fitted_error,
    instead_of,
    instructions,
    way_to,
)
from tests.server.reference_pages import declared
from tests.server.tool_list import tools_of

SOURCE = Path(__file__).parents[3] / "src" / "mcp_agent_mail"
SMALL = {name: ToolProfile(name=name, tools=tools) for name, tools in NAMED.items() if name != "full"}
SMALL["one tool"] = custom_profile(mode="include", clusters=[], tools=["fetch_inbox"])
SMALL["claims"] = CLAIMS
MINIMAL = SMALL["minimal"]
PROFILES = pytest.mark.parametrize("profile", SMALL.values(), ids=SMALL)
NAME = re.compile(rf"\b({'|'.join(sorted(TOOLS, key=len, reverse=True))})\b")


def lacking(text: str, profile: ToolProfile) -> list[str]:
    return [name for name in NAME.findall(text) if not profile.shows(name)]


def texts(node: ast.AST) -> Iterator[str]:
    """What an expression may say: constants, formatted ones with `X` for each value, both sides of a choice."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "in_sentences":
        for part in node.args:
            yield from texts(part)


@cache
def hints() -> list[str]:
    """Every text in the source that is given as `hint`, or assigned to such a name, and names a tool."""
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        if "cli" in path.relative_to(SOURCE).parts or not NAME.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                found += texts(node.value)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "hint":
                found += texts(node.value)
            if isinstance(node, ast.Return) and node.value is not None:
                # Functions that word a hint, or a part of one.
                found += (text for text in texts(node.value) if " " in text)
    return [hint for hint in dict.fromkeys(found) if NAME.search(hint)]


def test_there_are_hints_to_look_at() -> None:
    assert len(hints()) > 15


@PROFILES
@pytest.mark.parametrize("hint", hints())
def test_a_hint_names_no_tool_that_the_profile_lacks_and_still_says_what_to_do(hint: str, profile: ToolProfile) -> None:
    shown = fitted_error(NotFound("It is gone.", hint=hint), profile).hint

    assert lacking(shown, profile) == []
    assert shown.strip()
    assert shown[-1] not in ",;:"


@PROFILES
def test_a_description_names_no_tool_that_the_profile_lacks(profile: ToolProfile) -> None:
    specs, resources = declared()

    told = [tool["description"] for tool in tools_of(specs, profile)] + [spec.description for spec in resources]

    assert [(text, names) for text in told if (names := lacking(text, profile))] == []


@PROFILES
def test_the_instructions_name_no_tool_that_the_profile_lacks(profile: ToolProfile) -> None:
    assert lacking(instructions(profile), profile) == []


def test_a_profile_with_words_of_its_own_greets_in_them_within_120_words() -> None:
    greeting = instructions(CLAIMS, is_known=True)

    assert greeting == CLAIMS.greeting
    assert len(greeting.split()) <= 120
    assert fitted("First: register_agent. Then fetch_inbox.", CLAIMS) == "First: create_agent. Then check_my_messages."
    assert way_to("fetch_inbox", CLAIMS) == "Use check_my_messages."


def test_the_instructions_say_the_whole_round_in_120_words() -> None:
    assert len(INSTRUCTIONS.split()) <= 120
    assert instructions(FULL) == INSTRUCTIONS
    assert set(NAME.findall(INSTRUCTIONS)) == {
        "macro_start_session",
        "fetch_inbox",
        "file_reservation_paths",
        "release_file_reservations",
        "send_message",
        "reply_message",
        "acknowledge_message",
    }
    assert "Answer with send_message with reply_to." in instructions(MINIMAL)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "list_agents names those, register_agent adds one.",
            "macro_start_session names those, macro_start_session adds one.",
        ),
        ("Ids come from fetch_inbox, search_messages and send_message.", "Ids come from fetch_inbox and send_message."),
        ("First: macro_start_session or register_agent.", "First: macro_start_session."),
        ("Name fewer, or ask with request_contact before.", "Name fewer."),
        ("Ask: request_contact(to_agent='A'), or send it again.", "Send it again."),
        ("Gone; ask: request_contact(), or send it again.", "Gone; send it again."),
        ("Leave it out. list_contacts shows more.", "Leave it out."),
        ("Leave it out; list_contacts shows more.", "Leave it out."),
        ("whois", ""),
    ],
)
def test_a_lacking_tool_gives_way_to_another_or_its_clause_is_left_out(text: str, shown: str) -> None:
    assert fitted(text, MINIMAL) == shown
    assert fitted(text, FULL) == text


def test_a_hint_of_which_nothing_is_left_says_that_the_profile_lacks_the_tool() -> None:
    error = fitted_error(NotFound("Gone.", hint="products_link makes it part."), MINIMAL)

    assert error.hint == (
        "That takes a tool which the tool profile minimal lacks: connect with ?profile=full, or ask Human."
    )


def test_suggested_calls_are_those_that_the_profile_can_make() -> None:
    calls = [
        suggest_call("register_agent", {"project_key": "/p", "name": "BlueLake"}),
        suggest_call("send_message", {"to": ["A"]}),
        suggest_call("list_contacts", {}),
    ]
    error = NotFound("Gone.", hint="Look.", data={"suggested_tool_calls": calls, "nearest": []})

    assert fitted_error(error, FULL).data["suggested_tool_calls"] == calls
    assert fitted_error(error, MINIMAL).data == {
        "nearest": [],
        "suggested_tool_calls": [
            suggest_call("macro_start_session", {"human_key": "/p", "agent_name": "BlueLake"}),
            suggest_call("send_message", {"to": ["A"]}),
        ],
    }


def test_the_refusal_itself_stays_as_it_is() -> None:
    calls = [suggest_call("register_agent", {"project_key": "/p"})]
    error = NotFound("Gone.", hint="First: register_agent.", data={"suggested_tool_calls": calls})

    shown = fitted_error(error, MINIMAL)

    assert (type(shown), shown.message, shown.hint) == (NotFound, "Gone.", "First: macro_start_session.")
    assert (error.hint, error.data) == ("First: register_agent.", {"suggested_tool_calls": calls})


def test_at_a_door_nobody_is_told_to_send_a_token() -> None:
    hint = "Send your registration_token, or read with fetch_inbox. Try again in 5 s."

    assert fitted_error(NotFound("Full.", hint=hint), NONE_OF_OURS).hint == "Try again in 5 s."


def test_a_refusal_without_a_hint_gets_none() -> None:
    assert fitted_error(NotFound("Gone."), MINIMAL).hint == ""


def test_a_suggested_call_is_not_carried_over_to_a_tool_that_calls_its_arguments_otherwise() -> None:
    # The hint says `send_message with reply_to`; the call would be a letter without recipients.
    calls = [suggest_call("reply_message", {"message_id": 3, "body_md": "Yes"}), suggest_call("list_agents", {})]
    error = NotFound("Gone.", data={"suggested_tool_calls": calls})

    assert fitted_error(error, MINIMAL).data == {}


def test_suggestions_that_all_take_other_tools_are_left_out() -> None:
    error = NotFound("Gone.", data={"suggested_tool_calls": [suggest_call("list_contacts", {})]})

    assert fitted_error(error, MINIMAL).data == {}


def test_what_stands_in_for_a_tool_is_there_only_where_the_profile_has_it() -> None:
    assert instead_of("reply_message", MINIMAL) == "send_message with reply_to"
    assert instead_of("reply_message", SMALL["one tool"]) is None
    assert instead_of("whois", MINIMAL) is None


def test_whoever_calls_a_tool_that_the_profile_lacks_is_told_another_or_the_profile_that_has_it() -> None:
    assert way_to("mark_message_read", MINIMAL) == "Use fetch_inbox with mark_read=true."
    assert way_to("respond_contact", MINIMAL) == (
        "That takes a tool which the tool profile minimal lacks: connect with ?profile=core, or ask Human."
    )
    assert "?profile=full" in (way_to("ensure_product", SMALL["messaging"]) or "")
    assert way_to("no_such_tool", MINIMAL) is None


def test_the_instructions_explain_no_key_to_a_connection_that_has_said_who_calls() -> None:
    told = instructions(FULL, is_known=True)

    assert told.startswith("Mail between coding agents. Begin with macro_start_session (this connection says ")
    assert not re.search("human_key|project_key|registration_token", told)
    assert told.endswith(INSTRUCTIONS[-200:])


@PROFILES
def test_no_sentence_of_the_instructions_is_torn(profile: ToolProfile) -> None:
    sentences = re.split(r"(?<=[.!?;]) ", instructions(profile))

    assert [one for one in sentences if not one[0].isupper() and not NAME.match(one)] == []


def test_a_parameter_that_has_the_name_of_a_tool_is_told_whatever_the_profile() -> None:
    messaging = SMALL["messaging"]
    accepted = "Did you mean file_reservation_paths? Accepted: human_key, file_reservation_paths."

    assert not messaging.shows("file_reservation_paths")
    assert fitted_error(WrongArguments("m has no argument 'files'.", hint=accepted), messaging).hint == accepted


def test_the_way_of_a_refusal_names_no_tool_that_the_profile_lacks() -> None:
    error = WrongArguments("m has no argument 'x'.", hint="whois takes it. Accepted: whois.")
    error.way = "whois takes it."

    assert fitted_error(error, SMALL["messaging"]).hint == error.hint
    assert fitted_error(error, SMALL["minimal"]).hint == "Accepted: whois."
