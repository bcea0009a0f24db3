"""Markdown of results: readable, and nothing that an agent wrote becomes markup."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.server.rendering.markdown import to_markdown

MAIL = {
    "id": 7,
    "subject": "Plan *now*",
    "from": "BlueLake",
    "ack_required": True,
    "topic": None,
    "to": ["RedStone", "GrayFox"],
    "body_md": "# Heading of a peer\n```sh\nrm -rf\n```\n",
}


def test_plain_values_are_a_list() -> None:
    text = to_markdown("Health", {"status": "ok", "port": 8765, "ready": True, "note": None, "tags": ["a", "b"]})

    assert text == ("# Health\n\n- status: ok\n- port: 8765\n- ready: yes\n- note: none\n- tags: a, b\n")


def test_a_message_has_a_line_of_its_own_and_its_body_in_a_fence() -> None:
    text = to_markdown("Inbox", [MAIL, {**MAIL, "body_md": ""}])

    assert text == (
        "# Inbox\n\n"
        "- 7 **Plan \\*now\\***: from BlueLake, ack asked for, to RedStone and GrayFox\n"
        "````text\n# Heading of a peer\n```sh\nrm -rf\n```\n\n````\n"
        "- 7 **Plan \\*now\\***: from BlueLake, ack asked for, to RedStone and GrayFox\n"
    )


def test_an_item_of_another_kind_has_a_heading_and_its_texts_in_fences() -> None:
    text = to_markdown("Inbox", [{**MAIL, "more": {"count": 1}}])

    assert text == (
        "# Inbox\n\n"
        "## 7: Plan \\*now\\*\n\n"
        "- id: 7\n- subject: Plan \\*now\\*\n- from: BlueLake\n"
        "- ack_required: yes\n- topic: none\n"
        "- to: RedStone, GrayFox\n\n"
        "body_md:\n````text\n# Heading of a peer\n```sh\nrm -rf\n```\n\n````\n\n"
        "### more\n\n- count: 1\n"
    )


def test_small_objects_are_a_table() -> None:
    text = to_markdown("Peers", [{"name": "A|B", "unread": 2}, {"name": "C", "unread": 0}])

    assert text == "# Peers\n\n| name | unread |\n|---|---|\n| A\\|B | 2 |\n| C | 0 |\n"


@pytest.mark.parametrize(("value", "shown"), [([], "(none)"), ({}, "(nothing)"), (None, "none"), (False, "no")])
def test_nothing_is_said_to_be_nothing(value: Any, shown: str) -> None:
    assert to_markdown("T", value) == f"# T\n\n{shown}\n"


@pytest.mark.parametrize(
    "hostile", ["a\n# b", "[x](http://e)", "`code`", "<img src=x>", "a\u2028# b", "> quote", "| cell |", "~~~"]
)
def test_a_peers_line_never_becomes_markup(hostile: str) -> None:
    text = to_markdown("T", {"subject": hostile[:1] + hostile[1:].replace("\n", " ")})

    line = text.splitlines()[2]
    for sign in "`[]<>#|~":
        assert line.count(sign) == line.count(f"\\{sign}")


def test_nested_objects_get_deeper_headings() -> None:
    text = to_markdown("Health", {"archive": {"pending_events": 0, "last": {"commit": "3f2a1c"}}, "status": "ok"})

    assert text.splitlines()[2:] == [
        "- status: ok",
        "",
        "## archive",
        "",
        "- pending_events: 0",
        "",
        "### last",
        "",
        "- commit: 3f2a1c",
    ]


def test_who_has_just_named_the_result_gets_no_heading() -> None:
    assert to_markdown(None, {"status": "ok"}) == "- status: ok\n"


def test_what_is_empty_within_an_object_is_told_on_its_line() -> None:
    assert (
        to_markdown("T", {"more": {}, "tags": [], "path": None})
        == "# T\n\n- more: nothing\n- tags: none\n- path: none\n"
    )


@pytest.mark.parametrize(
    "values",
    [
        [dict.fromkeys("abcdefghi", 1)] * 2,
        [{"a": 1}, {"b": 1}],
        [{"a": 1}, 2],
        [2, {"a": 1}],
        [{}, {}],
        [{"a": "x" * 81}],
    ],
)
def test_objects_that_are_large_or_unlike_are_no_table(values: list[Any]) -> None:
    assert "|---|" not in to_markdown("T", values)


@pytest.mark.parametrize("deliveries", ["two", 5, [], [1], [{"count": 1}]])
def test_what_is_no_list_of_deliveries_is_told_like_anything(deliveries: Any) -> None:
    assert "- id: 9" in to_markdown("T", {"id": 9, "deliveries": deliveries})


def test_what_differs_from_the_delivery_is_told() -> None:
    payload = {"id": 9, "subject": "Re: Plan", "from": "BlueLake"}

    text = to_markdown("T", {"id": 8, "subject": "Re: Plan", "deliveries": [{"project": "/p", "payload": payload}]})

    assert "- id: 8" in text
    assert "subject" not in text


def test_an_object_that_has_a_line_is_a_line_under_its_heading() -> None:
    text = to_markdown("Start", {"agent": {"id": 3, "name": "BlueLake", "program": "codex"}, "resumed": True})

    assert text == '# Start\n\n- resumed: yes\n\n## agent\n\n- 3 **BlueLake**: "codex"\n'


def test_what_an_answer_says_of_its_message_is_told_once_with_the_delivery() -> None:
    payload = {
        "id": 9,
        "subject": "Re: Plan",
        "from": "BlueLake",
        "to": ["RedStone", "GrayFox"],
        "recipients": [
            {"name": "RedStone", "kind": "to", "status": "delivered", "last_active_ts": None},
            {"name": "GrayFox", "kind": "cc", "status": "held"},
        ],
    }
    result = {"id": 9, "subject": "Re: Plan", "reply_to": 3, "deliveries": [{"project": "/a_b", "payload": payload}]}

    assert to_markdown("Sent", result) == (
        "# Sent\n\n- reply_to: 3\n\n## deliveries\n\n"
        "- 9 **Re: Plan**: from BlueLake, to RedStone and GrayFox, cc, held, in `/a_b`\n"
    )


def test_what_a_caller_copies_stands_without_escapes() -> None:
    text = to_markdown("Agent", {"registration_token": "amt_a_b", "slug": "a_b", "note": "a_b"})

    assert text.splitlines()[2:] == ["- registration_token: `amt_a_b`", "- slug: `a_b`", "- note: a_b"]


def test_an_empty_object_within_a_row_is_told_as_nothing() -> None:
    assert "nothing" in to_markdown("Health", {"workers": {}, "status": "ok"})
    assert "{}" not in to_markdown("Health", {"rows": [{"name": "a", "more": {}}]})


def test_lists_within_lists_are_numbered() -> None:
    text = to_markdown("Groups", [["a", "b"], []])

    assert text == "# Groups\n\n1.\n- a\n- b\n2.\n(none)\n"


def test_text_of_one_line_stands_in_its_line_and_more_of_it_in_a_fence() -> None:
    text = to_markdown("Mail", {"one": "a b", "more": "a\nb", "many": [{"x": "a" * 81}]})

    assert text.splitlines()[2:] == [
        "- one: a b",
        "",
        "more:",
        "```text",
        "a",
        "b",
        "```",
        "",
        "## many",
        "",
        "### 1",
        "",
        f"- x: {'a' * 81}",
    ]
