"""Mail: the copies of one message, each of which says all that its archive may show."""

from __future__ import annotations

import re
from typing import Any

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail, ArchivedRecipient
from mcp_agent_mail.domain.archive_format.doors import external_id_record
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.layout import mail_file, mail_tail
from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.parse.doors import parse_external_id
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit, read_object, require_same
from mcp_agent_mail.domain.archive_format.parse.names import is_foreign, split_name
from mcp_agent_mail.domain.archive_format.terms import terms_record
from mcp_agent_mail.domain.archive_format.versions import mail_end
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, attachment_path, is_content_path, to_record
from mcp_agent_mail.domain.messages import Importance, RecipientKind, Terms

_BEGIN = b"---json\n"
_END_OF_FRONT = b"\n}\n"
_RULE = b"---\n"
_PLACE = re.compile(r"(?:messages|agents/([^/]+)/(inbox|outbox))/(.+)")
_ELSEWHERE, _THIRD = -1, -2
"""Stand for projects whose ids a file does not say."""

_TYPES = {"inline": True, "file": False}


def parse_mail(path: str, content: bytes, version: int) -> ArchivedMail:
    """Raises ValueError."""
    front, body = _split(content, version)
    fields = read_object(front)
    mail = _read(fields, body)
    require_same(front, fields, _split(render_mail(mail, path, version), version)[0], document)
    _require_place(path, mail, version)
    if mail.wire_place is not None and all(one.agent_id != mail.wire_place.recipient_id for one in mail.recipients):
        raise Unfit("it came by a door for somebody who is no recipient")
    return mail


def _split(content: bytes, version: int) -> tuple[bytes, str]:
    """Front matter and body. No line of front matter but its last is a lone `}`."""
    end = content.find(_END_OF_FRONT) + len(_END_OF_FRONT)
    after, last = end + len(_RULE), mail_end(version)
    if not content.startswith(_BEGIN) or end < len(_BEGIN) or content[end:after] != _RULE:
        raise Unfit("it has no front matter")
    if len(content) - after < len(last) or not content.endswith(last):
        raise Unfit("its last newline is missing")
    return content[len(_BEGIN) : end], content[after : len(content) - len(last)].decode()


def _read(fields: Fields, body: str) -> ArchivedMail:
    return ArchivedMail(
        id=MessageId(fields.number("id")),
        project_id=ProjectId(fields.number("project_id")),
        project_slug=fields.text("project_slug"),
        project_key=fields.text("project"),
        sender_id=AgentId(fields.number("sender_id")),
        sender=fields.text("from"),
        thread_id=fields.text_or_none("thread_id"),
        topic=fields.text_or_none("topic"),
        subject=fields.text("subject"),
        body_md=body,
        importance=fields.choice("importance", Importance),
        ack_required=fields.flag("ack_required"),
        created_ts=fields.time("created"),
        reply_to=_message_or_none(fields.number_or_none("reply_to")),
        is_system=fields.flag("system"),
        is_private=fields.has("private") and _is_private(fields),
        purged_ts=fields.time("purged") if fields.has("purged") else None,
        terms=_terms(fields),
        wire_place=parse_external_id(fields, AgentId(fields.number("sender_id"))),
        attachments=tuple(_attachment(item) for item in fields.items("attachments")),
        recipients=tuple(_recipient(item) for item in fields.items("recipients")),
    )


def _message_or_none(number: int | None) -> MessageId | None:
    return None if number is None else MessageId(number)


def _terms(fields: Fields) -> Terms:
    if fields.has("withdrawn_reason") and not fields.has("withdrawn"):
        raise Unfit("it says why it was withdrawn, and was not")
    return Terms(
        valid_until=fields.time("valid_until") if fields.has("valid_until") else None,
        supersedes=MessageId(fields.number("supersedes")) if fields.has("supersedes") else None,
        withdrawn_ts=fields.time("withdrawn") if fields.has("withdrawn") else None,
        withdrawn_reason=fields.text("withdrawn_reason") if fields.has("withdrawn_reason") else None,
    )


def _is_private(fields: Fields) -> bool:
    if not fields.flag("private"):
        raise Unfit("private cannot be false")
    return True


def _recipient(item: Fields) -> ArchivedRecipient:
    was_held = item.has("held_code")
    return ArchivedRecipient(
        agent_id=AgentId(item.number("agent_id")),
        name=item.text("name"),
        kind=item.choice("kind", RecipientKind),
        delivery_seq=item.number_or_none("delivery_seq"),
        delivered_ts=item.time_or_none("delivered_ts"),
        held_code=item.text("held_code") if was_held else None,
        status=item.text("status") if was_held else None,
        refused_ts=item.time_or_none("refused_ts") if was_held else None,
        expired_ts=item.time("expired_ts") if item.has("expired_ts") else None,
    )


def _attachment(item: Fields) -> Attachment:
    content = _content(item.text("path"), item.number("bytes"))
    if item.text("sha256") != content.sha256 or item.text("type") not in _TYPES:
        raise Unfit(f"an attachment is not what {content.path} has")
    has_original = item.has("original_path")
    return Attachment(
        content=content,
        name=item.text("name"),
        media_type=item.text("media_type"),
        width=item.number_or_none("width"),
        height=item.number_or_none("height"),
        is_inline=_TYPES[item.text("type")],
        original=_content(item.text("original_path"), item.number("original_bytes")) if has_original else None,
    )


def _content(path: str, size: int) -> StoredContent:
    if not is_content_path(path):
        raise Unfit(f"{path!r:.100} is no path of an attachment")
    digest, _, extension = path.rpartition("/")[2].partition(".")
    assert attachment_path(digest, extension) == path, path
    return StoredContent(sha256=digest, bytes=size, extension=extension)


def _require_place(path: str, mail: ArchivedMail, version: int) -> None:
    place = _PLACE.fullmatch(path)
    if place is None or place[3] != mail_tail(_snapshot(mail), version):
        raise Unfit("it does not lie where its id, time and subject belong")
    owner, box = place[1], place[2]
    if box == "inbox":
        _require_inbox(safe_name(owner), mail)
    elif is_foreign(mail.sender) or (box == "outbox" and mail.sender != owner):
        raise Unfit("it is not its sender's")


def _require_inbox(owner: str, mail: ArchivedMail) -> None:
    """Of whoever is named, or of a blind recipient, whom no copy of an inbox names."""
    if any(one.name == owner and one.delivery_seq is None for one in mail.recipients):
        raise Unfit(f"{owner} has not got it")


def render_mail(mail: ArchivedMail, path: str, version: int) -> bytes:
    """What rendering makes of the same values for `path`. Raises ValueError for names that no agent can have."""
    return mail_file(_snapshot(mail), version, with_blind="/outbox/" in path)


def _snapshot(mail: ArchivedMail) -> dict[str, Any]:
    sender, slug = split_name(mail.sender)
    if slug not in ("", mail.project_slug):
        raise Unfit(f"{mail.sender!r:.100} is not of {mail.project_slug!r:.100}")
    home = _ELSEWHERE if is_foreign(mail.sender) else mail.project_id
    return {
        "archive_project_id": home,
        "id": mail.id,
        "project_id": mail.project_id,
        "project_slug": mail.project_slug,
        "project": mail.project_key,
        "sender_id": mail.sender_id,
        "sender": sender,
        "thread_id": mail.thread_id,
        "topic": mail.topic,
        "subject": mail.subject,
        "body_md": mail.body_md,
        "importance": mail.importance.value,
        "ack_required": mail.ack_required,
        "created_ts": mail.created_ts,
        "reply_to": mail.reply_to,
        "is_system": mail.is_system,
        **({"is_private": True} if mail.is_private else {}),
        **({} if mail.purged_ts is None else {"purged_ts": mail.purged_ts}),
        **terms_record(mail.terms),
        **external_id_record(mail.wire_place),
        "attachments": [to_record(one) for one in mail.attachments],
        "recipients": [_entry(one, home) for one in mail.recipients],
    }


def _entry(one: ArchivedRecipient, home: int) -> dict[str, Any]:
    name, slug = split_name(one.name)
    held = {"held_code": one.held_code, "status": one.status, "refused_ts": one.refused_ts}
    return {
        "name": name,
        "project_id": _THIRD if slug else home,
        "project_slug": slug,
        "agent_id": one.agent_id,
        "kind": one.kind.value,
        "delivery_seq": one.delivery_seq,
        "delivered_ts": one.delivered_ts,
        **({} if one.held_code is None else held),
        **({} if one.expired_ts is None else {"expired_ts": one.expired_ts}),
    }
