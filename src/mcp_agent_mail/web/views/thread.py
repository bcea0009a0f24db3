"""A page of a thread as a tree: each message below the one that it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.web.views.message import MessageView

DEEPEST = 4
"""Answers to answers are indented so far."""
_ANSWERS = re.compile(r"^(?:\s*re\s*:\s*)+", re.IGNORECASE)
_READ = ("read", "acknowledged", "answered")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRow:
    """`depth` is 0 to DEEPEST. `subject` is None where it is the thread's own. `is_near`: what it answers is on the
    same page. `receipts` is what became of its copies, in short.
    """

    message: MessageView
    depth: int
    subject: str | None
    is_near: bool
    receipts: str


def thread_rows(
    messages: Sequence[MessageView], subject: str, statuses: Mapping[MessageId, MessageStatus]
) -> list[ThreadRow]:
    """Each answer behind what it answers; beside each other as they were delivered."""
    here = {one.id for one in messages}
    return [
        ThreadRow(
            message=one,
            depth=depth,
            subject=None if _plain(one.subject) == _plain(subject) else one.subject,
            is_near=one.reply_to in here,
            receipts=receipts_of(statuses[one.id]) if one.id in statuses else "",
        )
        for one, depth in _tree(messages, here)
    ]


def _tree(messages: Sequence[MessageView], here: set[MessageId]) -> Iterator[tuple[MessageView, int]]:
    """What answers mail of an earlier page begins one step in."""
    answers: dict[MessageId | None, list[MessageView]] = {}
    roots = []
    for one in messages:
        if one.reply_to in here and one.reply_to != one.id:
            answers.setdefault(one.reply_to, []).append(one)
        else:
            roots.append(one)
    told = set()
    waiting = [(one, 0 if one.reply_to is None else 1) for one in reversed(roots)]
    while waiting:
        one, depth = waiting.pop()
        told.add(one.id)
        yield one, min(depth, DEEPEST)
        waiting += [(answer, depth + 1) for answer in reversed(answers.get(one.id, ()))]
    # Nothing answers what came later, unless somebody wrote the store by hand.
    yield from ((one, 1) for one in messages if one.id not in told)


def receipts_of(status: MessageStatus) -> str:
    """`2 of 3 read`, or what became of all."""
    if not status.total:
        return ""
    read = sum(status.counts.get(step, 0) for step in _READ)
    if read == 0 and len(status.counts) == 1:
        return next(iter(status.counts)).replace("_", " ")
    if status.total == 1:
        return "read"
    return f"{read} of {status.total} read"


def _plain(subject: str) -> str:
    return " ".join(_ANSWERS.sub("", subject).casefold().split())
