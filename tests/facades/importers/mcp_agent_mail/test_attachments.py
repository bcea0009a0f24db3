"""Attachments as a message lists them, in whatever form."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.facades.importers.mcp_agent_mail.attachments import AttachmentReader
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes

_CONTENT = b"\x00picture"
_BASE64 = base64.b64encode(_CONTENT).decode()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"data_base64": _BASE64, "media_type": "image/webp"}, "attachment.webp"),
        ({"data_uri": f"data:image/png;base64,{_BASE64}"}, "attachment.png"),
        ({"content": f"data:;base64,{_BASE64[:4]}\n {_BASE64[4:]}", "name": "a.bin"}, "a.bin"),
    ],
)
def test_base64_within_the_list_is_its_content(fields: dict[str, str], name: str) -> None:
    (one,) = AttachmentReader(None, ReadingNotes()).attachments(json.dumps([fields]), "app")

    assert (one.content, one.name, one.is_inline) == (_CONTENT, name, True)


@pytest.mark.parametrize("listed", [None, "", b"", "[]", "null", []])
def test_nothing_listed_is_nothing(listed: object) -> None:
    notes = ReadingNotes()

    assert AttachmentReader(None, notes).attachments(listed, "app") == ()
    assert list(notes.left_out()) == []


def test_what_cannot_be_found_has_no_content() -> None:
    found = AttachmentReader(None, ReadingNotes()).attachments(
        ["attachments/ab/x.webp", {"url": "https://a.b/c", "name": "c"}], "app"
    )

    assert [(one.name, one.content) for one in found] == [("attachments/ab/x.webp", None), ("c", None)]


def test_a_list_that_cannot_be_read_and_too_many_are_counted() -> None:
    notes = ReadingNotes()
    carried = AttachmentReader(None, notes)

    assert carried.attachments("[{", "app") == ()
    assert len(carried.attachments([{}] * 300, "app")) == 200
    assert sum(one.count for one in notes.left_out()) == 101


@given(
    st.recursive(
        st.one_of(st.none(), st.text(), st.integers()),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
        max_leaves=8,
    )
)
def test_no_list_makes_it_fail(listed: object) -> None:
    AttachmentReader(None, ReadingNotes()).attachments(json.dumps(listed), "app")
