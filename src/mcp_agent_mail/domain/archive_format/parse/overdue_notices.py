"""`agents/<Sender>/overdue/…/id-<message id>.json`: that the sender was told of acknowledgements that do not come."""

from __future__ import annotations

import re

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedOverdueNotice
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_content
from mcp_agent_mail.domain.archive_format.parse.fields import Unfit, read_object, require_same
from mcp_agent_mail.domain.archive_format.versions import block_folder

_PLACE = re.compile(r"agents/([^/]+)/overdue/[0-9]{4}/(?:0[1-9]|1[0-2])/([^/]+)/id-([0-9]+)\.json")
ESCALATIONS = ("log", "file_reservation", "mail")


def parse_overdue_notice(path: str, content: bytes, version: int) -> ArchivedOverdueNotice:
    """Raises ValueError. Whose message it is and of which month says the path alone."""
    fields = read_object(content)
    notice = ArchivedOverdueNotice(
        message_id=MessageId(fields.number("message_id")),
        noted_ts=fields.time("noted_ts"),
        escalation=fields.text_or_none("escalation"),
    )
    if notice.escalation not in (None, *ESCALATIONS):
        raise Unfit(f"escalation cannot be {notice.escalation!r:.100}")
    require_same(content, fields, render_overdue_notice(notice), document)
    place = _PLACE.fullmatch(path)
    if place is None or (place[2], place[3]) != (block_folder(notice.message_id, version), str(notice.message_id)):
        raise Unfit("it does not lie where its message's id says")
    safe_name(place[1])
    return notice


def render_overdue_notice(notice: ArchivedOverdueNotice) -> bytes:
    """What rendering makes of the same values."""
    return overdue_content({"id": notice.message_id, "noted_ts": notice.noted_ts, "escalation": notice.escalation})
