"""The filters of a search: what its SQL is asked with, and which of them leave so little that they are asked first."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mcp_agent_mail.core.params import MAX_ID
from mcp_agent_mail.domain.search.query import Filters, SearchScope
from mcp_agent_mail.domain.threads import root_of_thread, topic_key
from mcp_agent_mail.store.engine.port import Connection

FEW = 200
"""Filters that leave at most so many messages are asked first: the index then looks at these alone."""

_OF_THREAD = """
SELECT message_id FROM message_projects INDEXED BY message_projects_thread WHERE thread_id = :thread
UNION ALL SELECT :root WHERE :root IS NOT NULL LIMIT :limit
"""
_OF_SENDER = "SELECT id FROM messages INDEXED BY messages_sender WHERE sender_id = :sender LIMIT :limit"
_OF_PARTICIPANT = """
SELECT id FROM messages INDEXED BY messages_sender WHERE sender_id = :participant
UNION ALL SELECT message_id FROM recipients INDEXED BY recipients_inbox
          WHERE agent_id = :participant AND delivery_seq IS NOT NULL LIMIT :limit
"""


def is_for_several(filters: Filters) -> bool:
    """Whether several projects can be searched with these: what is left out is of one project, or one agent."""
    left_out = (filters.participant_id, filters.sender_id, filters.since_ts)
    return all(one is None for one in left_out)


def search_parameters(reader: SearchScope, filters: Filters) -> dict[str, object]:
    """What the SQL of a search is asked with, but for its words."""
    return {
        "project": reader.project_id,
        "projects": json.dumps([reader.project_id, *reader.more_projects]),
        "agent": reader.agent_id,
        "since": filters.since_ts,
        "importance": filters.importance,
        "is_system": filters.is_system,
        "thread": filters.thread_id,
        "root": None if filters.thread_id is None else root_of_thread(filters.thread_id),
        "sender": filters.sender_id,
        "senders": None if filters.senders is None else f",{','.join(map(str, filters.senders))},",
        "topic": None if filters.topic is None else topic_key(filters.topic),
        "participant": filters.participant_id,
        "begin": filters.begin_ts,
        "end": filters.end_ts,
        "recipients": None if filters.recipients is None else f",{','.join(map(str, filters.recipients))},",
        "with_blind": filters.with_blind,
        "low": 0,
        "high": MAX_ID,
    }


def find_few(connection: Connection, filters: Filters, parameters: dict[str, object]) -> str | None:
    """The ids (JSON) that one of the filters leaves, if they are few; None when no filter is so narrow."""
    if filters.among is not None:
        return json.dumps(sorted(filters.among[:FEW]))
    if filters.senders is not None:
        return _few_of(connection, filters.senders)
    asked = (
        (filters.thread_id, _OF_THREAD),
        (filters.sender_id, _OF_SENDER),
        (filters.participant_id, _OF_PARTICIPANT),
    )
    for wanted, sql in asked:
        if wanted is not None:
            found = connection.execute(sql, parameters | {"limit": FEW + 1}).fetchall()
            if len(found) <= FEW:
                return json.dumps(sorted({message_id for (message_id,) in found}))
    return None


def _few_of(connection: Connection, senders: Sequence[int]) -> str | None:
    ids: set[int] = set()
    for sender in senders:
        asked = {"sender": sender, "limit": FEW + 1 - len(ids)}
        ids.update(message_id for (message_id,) in connection.execute(_OF_SENDER, asked))
        if len(ids) > FEW:
            return None
    return json.dumps(sorted(ids))
