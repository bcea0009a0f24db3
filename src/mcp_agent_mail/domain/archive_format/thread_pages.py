"""A thread as one page of Markdown, for people who read an archive: heads and bodies in the order of delivery.

The page is made of a project's open mail alone, and can be made again at any time: nothing is read back from it. Every
line of a body begins with `>`, and no line of a head does, so that no body can pass for another message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.escaping import as_code, printable, visible
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.messages import Importance

THREADS_FOLDER = "messages/threads"
MAX_MESSAGES = 200
MAX_BYTES = 256 * 1024
MAX_NAMES = 40
"""Of those a head names, and of those who take part; further ones are only said to be there."""

MAX_COUNTED = 10_000
"""Older messages are counted up to here."""

_ABOVE_BYTES = 24 * 1024
"""What stands above the first message has room here, however long its names are."""

_PLAIN_ID = lazy_pattern(r"[a-z0-9][a-z0-9._-]{0,127}")
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DEVICES = frozenset({"aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_MARKUP = lazy_pattern(r"[\\`*_\[\]<>&~|]")
_TAG = lazy_pattern(r"<(?=[A-Za-z/!?])")
_TAG_ESCAPED = r"\\<"
_DEFINITION = lazy_pattern(r"^([\s>*+\-0-9.)]*)\[(?=[^\]]*(?:$|\]:))")
_DEFINITION_ESCAPED = r"\1\\["


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMessage:
    """A message as a page shows it. `to` and `cc` are names as the archive's project calls them, MAX_NAMES together and
    one more at most; `late_ts` is when one that was held at first could be read.
    """

    id: MessageId
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    created_ts: Micros
    late_ts: Micros | None
    reply_to: MessageId | None
    purged_ts: Micros | None
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHead:
    """`subject` is that of its first message. `messages`: how many there are, MAX_COUNTED and one more at most."""

    thread_id: str
    project_slug: str
    subject: str
    messages: int


def page_path(thread_id: str) -> str:
    """Where the page of a thread lies: `<id>.md`, if that is a name everywhere and no other thread's.

    Letter case counts in ids, and not in the names of files on some systems: which letters are large is said behind a
    `+`, as the sum of 1 for the first character, 2 for the second, 4 for the third, in hexadecimal.
    """
    if not _ID.fullmatch(thread_id):
        name = f"other+{hashlib.sha256(thread_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
    elif _PLAIN_ID.fullmatch(thread_id) and thread_id.partition(".")[0] not in _DEVICES:
        name = thread_id
    else:
        large = sum(1 << place for place, letter in enumerate(thread_id) if letter.isupper())
        name = f"{thread_id}+{large:x}"
    return f"{THREADS_FOLDER}/{name}.md"


def thread_page(head: ThreadHead, newest_first: Iterable[PageMessage]) -> bytes:
    """The page of a thread, at most MAX_BYTES of its newest messages, of which no more are taken than are shown."""
    shown: list[PageMessage] = []
    blocks: list[str] = []
    room = MAX_BYTES - _ABOVE_BYTES
    for message in newest_first:
        block = _block(message)
        size = len(block.encode())
        if size > room:
            if blocks:
                break
            block = _block(message, is_too_long=True)
            size = room
        room -= size
        shown.append(message)
        blocks.append(block)
        if len(blocks) == MAX_MESSAGES:
            break
    above = _above(head, shown[::-1])
    return "\n".join([above, *reversed(blocks)]).encode()


def _above(head: ThreadHead, shown: Sequence[PageMessage]) -> str:
    parties = dict.fromkeys(
        [message.sender for message in shown] + [name for message in shown for name in (*message.to, *message.cc)]
    )
    lines = [
        f"# {_inline(head.subject)}",
        "",
        f"- Thread: {as_code(printable(head.thread_id))} of {as_code(head.project_slug)}",
        f"- Participants: {_names(tuple(parties))}",
        f"- Messages: {_counted(head.messages)}, in the order of their delivery",
    ]
    if older := head.messages - len(shown):
        files = as_code(f'git grep -lF \'"thread_id": "{printable(head.thread_id)}"\' main -- messages agents')
        lines += [
            f"- Not on this page: the {_counted(older)} older ones. Each is a file of its own, which {files} names.",
        ]
    lines += ["", "This page is made anew as mail comes. What mail says byte for byte stands in its own files.", ""]
    return "\n".join(lines)


def _counted(count: int) -> str:
    return f"more than {MAX_COUNTED}" if count > MAX_COUNTED else str(count)


def _block(message: PageMessage, *, is_too_long: bool = False) -> str:
    lines = [f"## Message {message.id}: {_inline(message.subject)}", "", *_facts(message), ""]
    if is_too_long:
        lines += [
            f"The body, {len(message.body_md.encode())} bytes, is too long for this page: see the message's file."
        ]
    else:
        lines += _quoted(message.body_md)
    return "\n".join([*lines, ""])


def _facts(message: PageMessage) -> list[str]:
    facts = [f"- From: {_inline(message.sender)}"]
    room = MAX_NAMES
    for word, names in (("To", message.to), ("Cc", message.cc)):
        if names and room:
            facts.append(f"- {word}: {_names(names, room)}")
            room = max(0, room - len(names))
    facts.append(f"- Sent: {iso(message.created_ts)}")
    if message.late_ts is not None:
        facts.append(f"- Delivered: {iso(message.late_ts)}")
    if message.importance is not Importance.NORMAL:
        facts.append(f"- Importance: {message.importance.value}")
    if message.ack_required:
        facts.append("- Acknowledgement: asked for")
    if message.reply_to is not None:
        facts.append(f"- Answers: message {message.reply_to}")
    if message.purged_ts is not None:
        facts.append(f"- Purged: {iso(message.purged_ts)}")
    return [*facts, *map(_attachment, message.attachments)]


def _attachment(one: Attachment) -> str:
    return f"- Attachment: {_inline(one.name)}, {one.content.bytes} bytes, {as_code(one.content.path)}"


def _names(names: Sequence[str], room: int = MAX_NAMES) -> str:
    shown = ", ".join(_inline(name) for name in names[:room])
    return f"{shown} and others" if len(names) > room else shown


def _inline(text: str) -> str:
    """One line in which nothing is read as Markdown."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", printable(text))


def _quoted(body: str) -> list[str]:
    """Each line as part of a quotation. It stays Markdown, but no tag hides what follows, and no name for a link made
    here is one elsewhere on the page.
    """
    lines = visible(body.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    return [f"> {_DEFINITION.sub(_DEFINITION_ESCAPED, _TAG.sub(_TAG_ESCAPED, line))}".rstrip() for line in lines]
