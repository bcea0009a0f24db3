from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.archive_format.parse.mail import parse_mail, render_mail
from mcp_agent_mail.domain.messages import RecipientKind

GOLDEN = Path(__file__).parents[3] / "golden" / "archive" / "app-1a2b3c"
TAIL = "2026/11/500-999/2026-11-21T21-00-00Z__plan-for-the-week__742.md"
SENT = f"agents/BlueLake/outbox/{TAIL}"


@pytest.fixture
def sent() -> ArchivedMail:
    return parse_mail(SENT, (GOLDEN / SENT).read_bytes(), 2)


def test_only_the_copy_of_its_sender_may_name_blind_recipients(sent: ArchivedMail) -> None:
    assert RecipientKind.BCC in {one.kind for one in sent.recipients}

    with pytest.raises(ValueError, match="bcc"):
        parse_mail(f"messages/{TAIL}", (GOLDEN / SENT).read_bytes(), 2)


def test_a_recipient_who_has_not_got_it_has_no_copy(sent: ArchivedMail) -> None:
    held = replace(sent.recipients[0], delivery_seq=None)
    path = f"agents/{held.name}/inbox/{TAIL}"
    content = render_mail(replace(sent, recipients=(held,)), path, 2)

    with pytest.raises(ValueError, match="has not got it"):
        parse_mail(path, content, 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"project_id": 1', b'"private": false,\n  "project_id": 1'),
        (b'"cc": [', b'"cc": ["Mallory", '),
        (b'"kind": "to"', b'"kind": "cc"'),
        (b'"name": "RedStone"', b'"name": "../../x"'),
        (b'"name": "RedStone"', b'"name": "RedStone@../x"'),
        (b"}\n---\n", b"}\n--\n"),
        (b"---json\n", b"---\n"),
    ],
)
def test_what_does_not_fit_together_is_not_read(before: bytes, after: bytes) -> None:
    content = (GOLDEN / SENT).read_bytes()
    assert before in content

    with pytest.raises(ValueError, match=r"."):
        parse_mail(SENT, content.replace(before, after, 1), 2)


def test_an_attachment_is_what_its_path_says() -> None:
    folder = GOLDEN.parent / "attachments-4d5e6f"
    (path,) = folder.glob("messages/2026/11/*/*.md")
    name = path.relative_to(folder).as_posix()
    content = path.read_bytes()
    type_of = b'"type": "inline"'
    assert type_of in content

    with pytest.raises(ValueError, match="an attachment is not"):
        parse_mail(name, content.replace(type_of, b'"type": "other"', 1), 2)
