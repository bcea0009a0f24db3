"""Mail, agents and leases in Markdown: one line an item, with what is not as usual."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.server.rendering.item_lines import WRITTEN_BY_AGENTS, are_lines, item_lines, plain

MAIL = {
    "id": 7,
    "thread_id": "SHOP-42",
    "topic": None,
    "subject": "Plan *now*",
    "from": "BlueLake",
    "importance": "normal",
    "ack_required": False,
    "created_ts": "2026-11-23T09:25:04.550936+00:00",
    "attachments": [],
    "kind": "to",
    "age_s": 60,
}


def line_of(item: dict[str, Any]) -> str:
    ((line, _),) = item_lines([item])
    return line


def test_usual_mail_is_id_subject_thread_sender_and_minute() -> None:
    assert line_of(MAIL) == "- 7 **Plan \\*now\\***: thread SHOP-42, from BlueLake, 2026-11-23T09:25Z"


def test_mail_says_what_is_not_as_usual() -> None:
    unusual = {
        **MAIL,
        "importance": "urgent",
        "ack_required": True,
        "kind": "bcc",
        "topic": "release",
        "attachments": [{"type": "file", "path": "a_b.webp"}, {"type": "inline", "media_type": "image/webp"}],
        "newer_from_sender": 2,
        "read_at": "2026-11-23T10:00:00+00:00",
        "expired": True,
    }

    assert line_of(unusual) == (
        "- 7 **Plan \\*now\\***: thread SHOP-42, topic release, from BlueLake, urgent, ack asked for, "
        '2026-11-23T09:25Z, attached "a_b.webp", "image/webp", bcc, 2 newer from the sender, read 2026-11-23T10:00Z, '
        "expired yes"
    )


def test_mail_that_ended_says_how_and_a_reason_is_its_senders_words() -> None:
    ended = {
        **MAIL,
        "valid_until": "2026-11-23T11:00:00+00:00",
        "supersedes": 3,
        "superseded_by": 9,
        "withdrawn_at": "2026-11-23T10:00:00+00:00",
        "withdrawn_reason": "Wrong *branch*",
    }

    assert line_of(ended).removeprefix(line_of(MAIL)) == (
        ", valid until 2026-11-23T11:00Z, replaces 3, replaced by 9, withdrawn 2026-11-23T10:00Z, "
        'because "Wrong \\*branch\\*"'
    )


def test_a_body_comes_beside_its_line_and_an_empty_one_not() -> None:
    lines = item_lines([{**MAIL, "body_md": "a\nb"}, {**MAIL, "body_md": ""}])

    assert [body for _, body in lines] == ["a\nb", None]


@pytest.mark.parametrize(
    ("item", "line"),
    [
        (
            {"name": "RedStone", "program": "codex", "model": "gpt-5", "status": "ready", "unread_count": 3},
            '- **RedStone**: "codex", "gpt-5", 3 unread',
        ),
        (
            {"id": 4, "path_pattern": "src/**", "exclusive": False, "reason": "", "fencing": 9},
            "- 4 `src/**`: shared, fencing 9",
        ),
        (
            {
                "id": 4,
                "agent": "A",
                "path_pattern": "src/a",
                "stale": False,
                "stale_reasons": ["agent_recently_active"],
            },
            "- 4 `src/a`: A",
        ),
        (
            {"id": 4, "agent": "A", "path_pattern": "src/a", "stale": True, "stale_reasons": ["no_mail", "idle"]},
            "- 4 `src/a`: A, stale, no_mail and idle",
        ),
        (
            {"path": "a.py", "holders": [{"agent": "A", "reservation_id": 5}, {"agent": "B", "reservation_id": 6}]},
            "- `a.py`: held by A, reservation 5 and B, reservation 6",
        ),
        ({"thread_id": "T-1", "participants": ["A", "B"]}, "- **T-1**: participants A and B"),
        ({"name": "A", "program": "p"}, '- **A**: "p"'),
        ({"id": 1, "path_pattern": "a"}, "- 1 `a`"),
        ({"id": 1, "subject": None, "from": "A"}, "- 1: from A"),
        ({"id": 2, "slug": "a-b_c", "human_key": "/a/b_c"}, "- 2 `/a/b_c`: slug `a-b_c`"),
        (
            {"project": "/a", "payload": {"id": 9, "subject": "S", "from": "A", "to": ["B"], "cc": []}},
            "- 9 **S**: from A, to B, in `/a`",
        ),
    ],
)
def test_each_kind_has_its_line(item: dict[str, Any], line: str) -> None:
    assert are_lines([item])
    assert line_of(item) == line


def test_a_long_text_is_cut_and_says_so() -> None:
    assert line_of({**MAIL, "snippet": "a" * 63}).endswith(', "' + "a" * 61 + '…"')
    assert line_of({**MAIL, "snippet": "a" * 62}).endswith(', "' + "a" * 62 + '"')


@pytest.mark.parametrize(
    ("path", "shown"), [("src/`rm`", "src/\\`rm\\`"), ("a\n# b", "a \\# b"), ("[x](y)", "`[x](y)`")]
)
def test_a_path_that_a_code_span_cannot_hold_is_escaped(path: str, shown: str) -> None:
    assert line_of({"id": 1, "path_pattern": path}) == f"- 1 {shown}"


def test_an_underscore_within_a_word_is_none_and_one_at_its_edge_is_escaped() -> None:
    assert plain("wait_seconds=50 of src/a_1.py") == "wait_seconds=50 of src/a_1.py"
    assert plain("_so_ or __init__") == r"\_so\_ or \_\_init\_\_"


def test_a_contact_and_a_renewed_lease_are_a_line_each() -> None:
    link = {"direction": "outbound", "to": "RedStone", "from": "BlueLake", "project": "/code/app", "status": "approved"}
    renewed = {"id": 4, "path_pattern": "src/a", "old_expires_ts": "2026-11-23T10:00:00+00:00", "new_expires_ts": None}

    assert line_of(link) == "- outbound, to RedStone, from BlueLake, in `/code/app`, approved"
    assert line_of(renewed) == "- 4 `src/a`: before 2026-11-23T10:00Z"


@pytest.mark.parametrize("hostile", ["a\n# b", "[x](http://e)", "`code`", "<img src=x>", "a\u2028# b", "a\x85b"])
def test_what_agents_wrote_is_no_markup_and_no_line_of_its_own(hostile: str) -> None:
    line = line_of({**MAIL, "subject": hostile, "topic": hostile, "snippet": hostile})

    assert len(line.splitlines()) == 1
    assert line.count(plain(hostile)) == 3


@pytest.mark.parametrize("key", sorted(WRITTEN_BY_AGENTS))
def test_what_agents_wrote_stands_in_quotes_that_it_cannot_end(key: str) -> None:
    """Else `reason: shared` of an exclusive lease reads as the server's own word does."""
    assert line_of({"name": "A", "program": "p", key: 'x", retired 2026-01-01T00:00Z'}).endswith(
        '"x\\", retired 2026-01-01T00:00Z"'
    )


def test_a_lease_is_not_shared_because_its_reason_says_so() -> None:
    held = {"path_pattern": "a.py", "agent": "Ben", "exclusive": True, "reason": "shared"}
    shared = {"path_pattern": "a.py", "agent": "Ann", "exclusive": False, "reason": "x"}

    assert line_of(held) == '- `a.py`: Ben, "shared"'
    assert line_of(shared) == '- `a.py`: Ann, shared, "x"'


def test_what_nobody_would_see_is_written_out() -> None:
    assert "\\\\u202e" in line_of({**MAIL, "subject": "a\u202eb"})


@pytest.mark.parametrize(
    "item",
    [
        {"count": 1},
        {**MAIL, "more": {"a": 1}},
        {"path": "a", "holders": [{"agent": {"name": "A"}}]},
        {"path": "a", "holders": [["A"]]},
        "text",
    ],
)
def test_what_is_of_no_known_kind_or_holds_more_has_no_line(item: Any) -> None:
    assert not are_lines([MAIL, item])
