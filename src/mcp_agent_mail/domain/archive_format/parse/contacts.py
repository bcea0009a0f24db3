"""`contacts/<from>/<to>.json`: one link."""

from __future__ import annotations

import re
from typing import Any

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedContact, ArchivedParty
from mcp_agent_mail.domain.archive_format.contacts import contact_document
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.parse.fields import Fields, Unfit, read_object, require_same
from mcp_agent_mail.domain.archive_format.parse.names import is_foreign, split_name
from mcp_agent_mail.domain.contacts import LinkStatus

_PLACE = re.compile(r"contacts/([^/]+)/([^/]+)\.json")


def parse_contact(path: str, content: bytes) -> ArchivedContact:
    """Raises ValueError."""
    fields = read_object(content)
    contact = ArchivedContact(
        id=fields.number("id"),
        source=_party(fields, "from"),
        target=_party(fields, "to"),
        status=fields.choice("status", LinkStatus).value,
        reason=fields.text("reason"),
        created_ts=fields.time("created_ts"),
        updated_ts=fields.time("updated_ts"),
        expires_ts=fields.time_or_none("expires_ts"),
    )
    require_same(content, fields, render_contact(contact), document)
    _require_place(path, contact)
    return contact


def _party(fields: Fields, key: str) -> ArchivedParty:
    return ArchivedParty(
        agent_id=AgentId(fields.number(f"{key}_id")),
        name=fields.text(key),
        project_id=ProjectId(fields.number(f"{key}_project_id")),
        project_key=fields.text(f"{key}_project"),
    )


def _require_place(path: str, contact: ArchivedContact) -> None:
    """The slug of another project stands in the path alone."""
    place = _PLACE.fullmatch(path)
    if place is None:
        raise Unfit("it does not lie where links belong")
    named = (contact.source.name, contact.target.name)
    if tuple(split_name(part)[0] for part in place.groups()) != named:
        raise Unfit("it does not lie where its agents say")
    is_across = contact.source.project_id != contact.target.project_id
    if [is_foreign(part) for part in place.groups()].count(True) != int(is_across):
        raise Unfit("it does not lie where its projects say")


def render_contact(contact: ArchivedContact) -> bytes:
    """What rendering makes of the same values."""
    return document(
        contact_document(
            {
                "id": contact.id,
                "source": _shown(contact.source),
                "target": _shown(contact.target),
                "status": contact.status,
                "reason": contact.reason,
                "created_ts": contact.created_ts,
                "updated_ts": contact.updated_ts,
                "expires_ts": contact.expires_ts,
            }
        )
    )


def _shown(party: ArchivedParty) -> dict[str, Any]:
    return {
        "agent_id": party.agent_id,
        "name": party.name,
        "project_id": party.project_id,
        "project": party.project_key,
    }
