"""Threads and topics: the words that gather messages.

A thread is named by its first sender, or starts by itself when somebody answers a message that has
none: then it is named by that message's id. So all-digit ids are reserved: "7" is message 7 with
the replies to it.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.params import MAX_ID

_THREAD = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TOPIC = lazy_pattern(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_NUMBER = lazy_pattern(r"[0-9]+")


class UnfitThread(InvalidInput):
    """The text cannot be a thread's id."""


class ReservedThread(InvalidInput):
    """An all-digit thread id whose message does not exist here."""


class ThreadMismatch(InvalidInput):
    """`thread_id` and `reply_to` name different threads."""


class UnfitTopic(InvalidInput):
    """The text cannot be a topic."""


class UnknownThread(NotFound):
    """The project has no mail in this thread."""


def parse_thread_id(text: str) -> str:
    """The id less outer blanks. Letter case counts."""
    cleaned = text.strip()
    if not _THREAD.fullmatch(cleaned):
        raise UnfitThread(
            f"thread_id {cleaned!r:.100} is not a letter or digit followed by at most 127 of A-Z a-z 0-9 . _ -.",
            hint="Use an id like TKT-123.",
            data={"parameter": "thread_id", "pattern": _THREAD.pattern},
        )
    return cleaned


def parse_topic(text: str) -> str:
    """The topic less outer blanks, as written; topics are compared ignoring letter case."""
    cleaned = text.strip()
    if not _TOPIC.fullmatch(cleaned):
        raise UnfitTopic(
            f"topic {cleaned!r:.100} is not 1 to 64 of A-Z a-z 0-9 . _ - (the first no dot).",
            hint="Use a word like build or api-design.",
            data={"parameter": "topic", "pattern": _TOPIC.pattern},
        )
    return cleaned


def topic_key(topic: str) -> str:
    """What topics are compared by: A-Z as a-z, and every other character as it is."""
    return topic.encode().lower().decode()


def root_of_thread(thread_id: str) -> MessageId | None:
    """The message that an all-digit thread is named by; None for every other thread.

    `007` is not how any id is written: it stands for message 0, which never exists.
    """
    if not _NUMBER.fullmatch(thread_id):
        return None
    is_id = not thread_id.startswith("0") and len(thread_id) <= len(str(MAX_ID)) and int(thread_id) <= MAX_ID
    return MessageId(int(thread_id) if is_id else 0)


def thread_of(message_id: MessageId, thread_id: str | None) -> str:
    """The thread that an answer to this message joins: its own, else the one that is named by it."""
    return thread_id or str(message_id)


def is_in_thread(thread: str, message_id: MessageId, thread_id: str | None) -> bool:
    """Whether a message that carries `thread_id` is mail of `thread`."""
    return thread_id == thread or message_id == root_of_thread(thread)


def require_same_thread(thread_id: str | None, joined: str, reply_to: MessageId) -> None:
    """Raise ThreadMismatch when a thread is named and it is not the one that the reply joins."""
    if thread_id not in (None, joined):
        raise ThreadMismatch(
            f"reply_to={reply_to} joins thread {joined}, and thread_id says {thread_id}.",
            hint="Leave thread_id out: a reply joins the thread of the message it answers.",
            data={"parameter": "thread_id", "thread_id": joined},
        )


def reserved_thread(thread_id: str) -> ReservedThread:
    """The refusal of an all-digit thread id without such a message."""
    return ReservedThread(
        f"Thread {thread_id} is message {thread_id} with the replies to it, and this project has no such message.",
        hint="All-digit thread ids are reserved. Use another id, like task-12.",
        data={"parameter": "thread_id"},
    )
