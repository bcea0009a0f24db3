"""A message's file: what it says, and that anything else is none."""

from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_file import parse_filed_mail


def _file(body: str = "Hello\n", **fields: object) -> bytes:
    front = json.dumps({"id": 7, "from": "BlueLake", "to": ["RedStone"]} | fields, indent=2)
    return f"---json\n{front}\n---\n\n{body}\n".encode()


def test_fields_and_body_are_read() -> None:
    mail = parse_filed_mail(_file(body="Hello\n---\nend\n", cc="A, B", thread_id=12, created="2026-03-01T08:00:00Z"))

    assert mail is not None
    assert (mail.number, mail.sender, mail.to, mail.cc, mail.bcc) == (7, "BlueLake", ("RedStone",), ("A", "B"), ())
    assert (mail.thread_id, mail.created_ts, mail.body) == ("12", 1772352000000000, "Hello\n---\nend\n")
    assert mail.names == ("BlueLake", "RedStone", "A", "B")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# Title\n",
        b"---json\n{}\n---\n",
        b"---json\n[]\n---\nx",
        b"---json\n{broken\n---\nx",
        b'---json\n{"from": "A"}',
        b"---json\n" + b"[" * 200_000 + b"\n---\nx",
        _file().replace(b"BlueLake", b"\xff"),
        _file(**{"from": ""}),
    ],
)
def test_what_is_no_message_is_none(content: bytes) -> None:
    assert parse_filed_mail(content) is None


def test_a_file_that_another_system_checked_out_says_the_same() -> None:
    content = _file(body="Hello\n---\nend", cc=["A"])

    for other in (content.replace(b"\n", b"\r\n"), codecs.BOM_UTF8 + content, codecs.BOM_UTF8 + content + b"\r\n"):
        mail = parse_filed_mail(other)
        assert mail is not None
        assert (mail.sender, mail.cc, mail.body.strip()) == ("BlueLake", ("A",), "Hello\n---\nend")


def test_line_ends_of_a_body_are_its_own_where_the_file_has_others() -> None:
    mail = parse_filed_mail(_file(body="one\r\ntwo"))

    assert mail is not None
    assert mail.body == "one\r\ntwo"


@given(st.binary(max_size=300), st.binary(max_size=50))
def test_no_bytes_make_it_fail(front: bytes, body: bytes) -> None:
    parse_filed_mail(b"---json\n" + front + b"\n---\n" + body)


@given(st.text(max_size=200))
def test_a_body_comes_back_as_it_was(body: str) -> None:
    mail = parse_filed_mail(_file(body=body))

    assert mail is not None
    assert mail.body == body
