from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.server.observability.call_words import (
    MAX_WORDS,
    caller_of,
    named_project,
    project_of,
    shown,
    tool_named,
    what_was_done,
    why_refused,
)


def sent(*, to: list[str], cc: list[str] = [], bcc: list[str] = [], held: list[str] = [], **keys: Any) -> Any:  # noqa: B006
    payload = {"id": 38, "subject": "Plan", "to": to, "cc": cc, "bcc": bcc, **keys}
    return {"deliveries": [{"project": "/code/shop", "payload": payload}], "held": [{"agent": name} for name in held]}


def leases(*patterns: str) -> list[dict[str, str]]:
    return [{"path_pattern": pattern} for pattern in patterns]


@pytest.mark.parametrize(
    ("tool", "given", "result", "words"),
    [
        ("send_message", {}, sent(to=["RedStone"], cc=["Human"]), 'wrote to RedStone, cc Human: "Plan" (#38)'),
        ("reply_message", {}, sent(to=["A", "B"]), 'wrote to A, B: "Plan" (#38)'),
        ("send_message", {}, sent(to=list("ABCDEFG")), 'wrote to A, B, C, D, E, 2 more: "Plan" (#38)'),
        ("fetch_inbox", {"mark_read": True}, [], "read its inbox"),
        ("mark_message_read", {}, {"message_id": 7, "read": True}, "read 1 message"),
        (
            "acknowledge_message",
            {},
            {"results": [{"acknowledged": True}, {"acknowledged": True}, {"acknowledged": False}]},
            "acknowledged 2 messages",
        ),
        (
            "acknowledge_message",
            {},
            {"message_id": 7, "acknowledged": False, "reason": "not_a_recipient"},
            "acknowledged nothing: not a recipient",
        ),
        (
            "mark_message_read",
            {},
            {"results": [{"read": True}, {"read": False, "reason": "expired"}]},
            "read 1 message, not all: expired",
        ),
        ("mark_message_read", {}, {"read": False, "reason": "held"}, "read nothing"),
        ("send_message", {}, {"deliveries": []}, "wrote to nobody"),
        ("acquire_build_slot", {"slot": "ci"}, {"granted": {"slot": "ci"}, "conflicts": []}, "took build slot ci"),
        (
            "acquire_build_slot",
            {"slot": "ci"},
            {"granted": None, "conflicts": [{"agent": "RedStone"}]},
            "was not given build slot ci, held by RedStone",
        ),
        (
            "file_reservation_paths",
            {},
            {
                "granted": leases("src/**"),
                "conflicts": [{"path": "docs/", "holders": [{"agent": "RedStone"}, {"agent": "RedStone"}]}],
            },
            "reserved src/**; was not given docs/, held by RedStone",
        ),
        ("release_file_reservations", {}, {"file_reservations": leases("a", "b")}, "released a, b"),
        ("release_file_reservations", {}, {"file_reservations": []}, "released nothing"),
        ("register_agent", {"program": "codex", "model": "m1"}, {}, "is here (codex, m1)"),
        ("respond_contact", {}, {"approved": False, "from": "A", "to": "B"}, "did not let A write to B"),
        (
            "macro_start_session",
            {},
            {"file_reservations": {"granted": leases("src/**")}},
            "began a session, reserved src/**",
        ),
        ("macro_start_session", {}, {"file_reservations": None}, "began a session"),
        ("expire_window", {}, {}, "expire_window"),
        ("send_message", {}, {"deliveries": 7}, "send_message"),
        ("send_message", {}, None, "send_message"),
    ],
)
def test_what_a_call_did_is_said_in_words(tool: str, given: Any, result: Any, words: str) -> None:
    assert what_was_done(tool, given, result) == words


def test_blind_recipients_and_held_copies_are_not_named() -> None:
    result = sent(to=["RedStone", "GreenField"], bcc=["QuietFox"], held=["GreenField@lib"])

    assert what_was_done("send_message", {}, result) == 'wrote to RedStone: "Plan" (#38)'


def test_of_mail_that_reached_nobody_who_may_be_named_the_id_alone_is_told() -> None:
    words = [
        what_was_done("send_message", {}, sent(to=[], bcc=["QuietFox"])),
        what_was_done("send_message", {}, sent(to=["GreenField"], held=["GreenField"])),
    ]

    assert words == ["wrote #38", "wrote #38"]


def test_who_reads_or_acknowledges_which_message_is_not_told() -> None:
    words = what_was_done("acknowledge_message", {"message_id": 4711}, {"message_id": 4711, "acknowledged": True})

    assert "4711" not in words


def test_a_refusal_of_mail_with_blind_recipients_tells_nothing_that_may_name_them() -> None:
    error = InvalidInput("No agent QuietFox.", hint="Did you mean QuietFix?")

    assert why_refused({"bcc": ["QuietFox"]}, error) == ("", "")
    assert why_refused({"to": ["QuietFox"]}, error) == ("No agent QuietFox.", "Did you mean QuietFix?")


@pytest.mark.parametrize(
    ("arguments", "project"),
    [
        ({"project_key": "/code/shop"}, "shop"),
        ({"human_key": "code-shop-1a2b"}, "code-shop-1a2b"),
        ({"project_key": "/"}, "/"),
        ({"project_key": 7}, ""),
        ({}, ""),
    ],
)
def test_a_project_is_called_by_the_last_part_of_its_path(arguments: Any, project: str) -> None:
    assert project_of(arguments, None) == project


def test_a_call_that_names_no_project_is_in_that_of_its_connection() -> None:
    assert project_of({}, "/code/shop") == "shop"
    assert project_of({"project_key": "/code/lib"}, "/code/shop") == "lib"


def test_who_called_is_as_recorded_else_as_registered_else_as_said() -> None:
    arguments = {"agent_name": "Said"}

    assert caller_of(arguments, {"agent": {"name": "Registered"}}, "Recorded") == "Recorded"
    assert caller_of(arguments, {"agent": {"name": "Registered"}}, None) == "Registered"
    assert caller_of(arguments, {"agent": "other"}, None) == "Said"
    assert caller_of({}, None, None) == "someone"


def test_words_of_peers_drive_no_terminal_write_no_lines_and_show_no_tokens() -> None:
    assert shown("\x1b[31mred\nnext\u202e amt_secret-1 [bold]") == "\\x1b[31mred\\nnext\\u202e *** [bold]"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Blue Lake", '"Blue Lake"'),
        ("15:41:00 core Human", '"15:41:00 core Human"'),
        ('a" refused', '"a\' refused"'),
        ("Blue\u2800Lake", '"Blue\\u2800Lake"'),
        ("Blue-Lake_2", "Blue-Lake_2"),
    ],
)
def test_a_name_that_nobody_can_have_is_quoted(name: str, told: str) -> None:
    assert caller_of({"agent_name": name}, None, None) == told
    assert tool_named(name, is_known=False) == (told if told.startswith('"') else f'"{told}"')


def test_a_project_of_several_words_is_quoted_and_a_tool_that_there_is_is_not() -> None:
    assert project_of({"project_key": "/code/15:41:00 core Human"}, None) == '"15:41:00 core Human"'
    assert project_of({"project_key": "/code/my-shop_2.0"}, None) == "my-shop_2.0"
    assert tool_named("whois", is_known=True) == "whois"


def test_words_have_a_bound() -> None:
    assert len(shown("x" * 100_000)) == MAX_WORDS
    assert shown("abcdef", 4) == "abc…"


def test_a_project_given_as_null_counts_as_left_out() -> None:
    assert named_project({"project_key": None, "human_key": "/a"}, "/said") == "/a"
    assert named_project({"project_key": None}, "/said") == "/said"
    assert named_project({}, None) is None
