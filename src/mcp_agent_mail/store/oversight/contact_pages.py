"""Contacts as whoever watches over the projects reads them: who asks, of one project and of all, and all links."""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ContactId, MessageId, ProjectId
from mcp_agent_mail.domain.contacts import Contact
from mcp_agent_mail.store.contacts import CONTACT_COLUMNS, CONTACT_JOINS, to_contact
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.held_mail import IS_HELD

REACH = 20_000
"""So many ids one page of links looks back: a store has those of all projects."""

# Mail goes on waiting when the request that came with it has ended.
_WAITS = f"""c.status = 'pending' AND (
    c.expires_ts IS NULL OR c.expires_ts > :now OR EXISTS (
        SELECT 1 FROM recipients r INDEXED BY recipients_held
        WHERE r.agent_id = c.target_id AND r.sender_id = c.source_id AND {IS_HELD}))"""
_REQUESTS_TO = f"""
SELECT {CONTACT_COLUMNS} FROM agents asked INDEXED BY agents_last_active
CROSS JOIN contacts c INDEXED BY contacts_target ON c.target_id = asked.id {CONTACT_JOINS}
WHERE asked.project_id = :project AND {_WAITS} ORDER BY c.id DESC LIMIT :limit
"""
_REQUESTS = f"""
SELECT {CONTACT_COLUMNS} FROM contacts c INDEXED BY contacts_pending {CONTACT_JOINS}
WHERE c.id > :after AND {_WAITS} ORDER BY c.id LIMIT :limit
"""
_COUNT = f"""
SELECT count(*) FROM (
    SELECT 1 FROM contacts c INDEXED BY contacts_pending WHERE {_WAITS} ORDER BY c.id DESC LIMIT :limit) AS waiting
"""
_REQUESTS_ABOUT = f"""
SELECT {CONTACT_COLUMNS} FROM recipients r
CROSS JOIN contacts c ON c.source_id = r.sender_id AND c.target_id = r.agent_id {CONTACT_JOINS}
WHERE r.message_id = :message AND {IS_HELD} ORDER BY r.position, r.agent_id LIMIT :limit
"""
_NUMBERED = f"SELECT {CONTACT_COLUMNS} FROM contacts c {CONTACT_JOINS} WHERE c.id = ?"
_LINKS = f"""
SELECT {CONTACT_COLUMNS} FROM contacts c {CONTACT_JOINS}
WHERE c.id < :before AND c.id >= :floor AND (s.project_id = :project OR t.project_id = :project)
ORDER BY c.id DESC LIMIT :limit
"""
_NEWEST = "SELECT coalesce(max(id), 0) FROM contacts"


class ContactSlice(NamedTuple):
    """`next_before` is where the next page begins, None where nothing older is left."""

    links: list[Contact]
    next_before: ContactId | None


class ContactPages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def requests_to(self, project_id: ProjectId, now: Micros, limit: int) -> list[Contact]:
        """The requests that wait for an agent of the project, and those that ended while mail goes on waiting; newest
        first.
        """
        values = {"project": project_id, "now": now, "limit": limit}
        return [to_contact(row) for row in self._connection.execute(_REQUESTS_TO, values)]

    def requests(self, now: Micros, *, after: ContactId, limit: int) -> list[Contact]:
        """Those of all projects, oldest first, behind the one `after`."""
        values = {"now": now, "after": after, "limit": limit}
        return [to_contact(row) for row in self._connection.execute(_REQUESTS, values)]

    def count_requests(self, now: Micros, limit: int) -> int:
        """How many there are of all projects, counted as far as `limit`."""
        (count,) = self._connection.execute(_COUNT, {"now": now, "limit": limit}).fetchone()
        return int(count)

    def requests_about(self, message_id: MessageId, limit: int) -> list[Contact]:
        """Those whose answer decides over held copies of the message, in the order addressed."""
        values = {"message": message_id, "limit": limit}
        return [to_contact(row) for row in self._connection.execute(_REQUESTS_ABOUT, values)]

    def numbered(self, contact_id: ContactId) -> Contact | None:
        row = self._connection.execute(_NUMBERED, (contact_id,)).fetchone()
        return None if row is None else to_contact(row)

    def links_of(self, project_id: ProjectId, *, before: ContactId, limit: int) -> ContactSlice:
        """The links from and to agents of the project, from below `before` on."""
        (newest,) = self._connection.execute(_NEWEST).fetchone()
        begin = min(before, newest + 1)
        floor = max(0, begin - REACH)
        values = {"project": project_id, "before": begin, "floor": floor, "limit": limit + 1}
        found = [to_contact(row) for row in self._connection.execute(_LINKS, values)]
        if len(found) > limit:
            return ContactSlice(found[:limit], found[limit - 1].id)
        return ContactSlice(found, ContactId(floor) if floor > 0 else None)
