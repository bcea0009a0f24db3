"""The messages of a thread, with the one that it is named by, in their order.

A thread that began with an answer is named by the message that was answered, which carries no thread id.
"""

from __future__ import annotations

from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import MessageHead
from mcp_agent_mail.domain.threads import root_of_thread
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.messages import BEGINNING, HEAD_COLUMNS, HEAD_JOINS, DeliveryPosition, to_head


def mail_of_thread(condition: str = "") -> str:
    """SQL of `delivery_seq, message_id` of the mail in a thread, for what `thread_key` asks. Ordered by these it walks
    the index.
    """
    return f"""
SELECT delivery_seq, message_id FROM message_projects INDEXED BY message_projects_thread
WHERE thread_id = :thread AND project_id = :project {condition}
UNION ALL SELECT delivery_seq, message_id FROM message_projects
WHERE project_id = :project AND message_id = :root AND thread_id IS NOT :thread {condition}"""


_BEHIND = "AND (delivery_seq, message_id) > (:seq, :message)"
_BEFORE = "AND (delivery_seq, message_id) < (:seq, :message)"
_UP_TO = "AND (delivery_seq, message_id) <= (:seq, :message)"
_LIST = f"""
SELECT {HEAD_COLUMNS} FROM ({mail_of_thread(_BEHIND)} ORDER BY delivery_seq, message_id LIMIT :limit) AS mail
CROSS JOIN messages m ON m.id = mail.message_id {HEAD_JOINS} ORDER BY mail.delivery_seq, mail.message_id
"""
_NEWEST_FIRST = "ORDER BY delivery_seq DESC, message_id DESC LIMIT 1"
_FIND_BEFORE = f"{mail_of_thread(_BEFORE)} {_NEWEST_FIRST}"
_FIND_BACK = f"{mail_of_thread(_UP_TO)} {_NEWEST_FIRST} OFFSET :steps"
_COUNT_UP_TO = f"SELECT count(*) FROM ({mail_of_thread(_UP_TO)}) AS mail"
_COUNT = f"SELECT count(*) FROM ({mail_of_thread()}) AS mail"


def thread_key(project_id: ProjectId, thread_id: str) -> dict[str, object]:
    """What `mail_of_thread` is asked with."""
    return {"project": project_id, "thread": thread_id, "root": root_of_thread(thread_id)}


class ThreadMessages:
    """In the order in which they became the project's mail, which for the first one is not always the first place: it
    may have been held longer than an answer to it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_(
        self, project_id: ProjectId, thread_id: str, *, after: DeliveryPosition = BEGINNING, limit: int
    ) -> list[MessageHead]:
        asked = {**_at(project_id, thread_id, after), "limit": limit}
        return [to_head(row) for row in self._connection.execute(_LIST, asked)]

    def count(self, project_id: ProjectId, thread_id: str) -> int:
        (number,) = self._connection.execute(_COUNT, thread_key(project_id, thread_id)).fetchone()
        return int(number)

    def count_up_to(self, project_id: ProjectId, thread_id: str, place: DeliveryPosition) -> int:
        """How many do not stand behind this place."""
        (number,) = self._connection.execute(_COUNT_UP_TO, _at(project_id, thread_id, place)).fetchone()
        return int(number)

    def find_before(self, project_id: ProjectId, thread_id: str, place: DeliveryPosition) -> MessageId | None:
        """The last one before this place."""
        row = self._connection.execute(_FIND_BEFORE, _at(project_id, thread_id, place)).fetchone()
        return None if row is None else MessageId(row[1])

    def find_back(
        self, project_id: ProjectId, thread_id: str, place: DeliveryPosition, *, steps: int
    ) -> MessageId | None:
        """The one that stands so many before the last of those not behind this place."""
        asked = {**_at(project_id, thread_id, place), "steps": steps}
        row = self._connection.execute(_FIND_BACK, asked).fetchone()
        return None if row is None else MessageId(row[1])


def _at(project_id: ProjectId, thread_id: str, place: DeliveryPosition) -> dict[str, object]:
    return {**thread_key(project_id, thread_id), "seq": place[0], "message": place[1]}
