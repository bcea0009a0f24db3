"""A message as a file: JSON between `---json` and `---`, then the body."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.facades.importers.values import text_of, time_of, whole_of

LONGEST_FILE = 64 << 20
"""Bytes of one message with what it carries within."""

_BEGIN = b"---json"
_MOST_PARTS = 50_000
_MOST_NAMES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MailFile:
    """What a file says, as it says it."""

    number: int | None
    project: str
    slug: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    thread_id: str
    importance: str
    ack_required: object
    created_ts: Micros | None
    attachments: object
    body: str

    @property
    def names(self) -> tuple[str, ...]:
        """All who are named, the sender first."""
        return (self.sender, *self.to, *self.cc, *self.bcc)


def parse_filed_mail(content: bytes) -> MailFile | None:
    """None for what is no such file. One blank line before the body, and the newline behind it, are the file's; so are
    a byte order mark and, where its first line ends so, lines that end in CRLF: it was checked out by another system.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.partition(b"\n")[0].endswith(b"\r"):
        content = content.replace(b"\r\n", b"\n")
    begin, _, rest = content.partition(b"\n")
    front, fence, body = rest.partition(b"\n---")
    if begin.strip() != _BEGIN or not fence or body[:1] not in (b"", b"\n"):
        return None
    try:
        fields = read_bounded(front, _MOST_PARTS, longest=LONGEST_FILE)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not text_of(fields.get("from")):
        return None
    return _mail(fields, text_of(body[1:].removeprefix(b"\n").removesuffix(b"\n")))


# As JSON has it.
def _mail(fields: Mapping[str, Any], body: str) -> MailFile:
    return MailFile(
        number=whole_of(fields.get("id")),
        project=text_of(fields.get("project")),
        slug=text_of(fields.get("project_slug")),
        sender=text_of(fields.get("from")),
        to=_names(fields.get("to")),
        cc=_names(fields.get("cc")),
        bcc=_names(fields.get("bcc")),
        subject=text_of(fields.get("subject")),
        thread_id=text_of(fields.get("thread_id")),
        importance=text_of(fields.get("importance")),
        ack_required=fields.get("ack_required"),
        created_ts=time_of(fields.get("created")),
        attachments=fields.get("attachments"),
        body=body,
    )


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    listed = value[:_MOST_NAMES] if isinstance(value, list) else []
    return tuple(name for one in listed if (name := text_of(one).strip()))
