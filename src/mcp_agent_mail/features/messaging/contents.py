"""What mail carries, read from beside the database: never on the event loop, and so much at a time."""

from __future__ import annotations

import hashlib
import logging
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import BinaryIO, TypeVar

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import Busy, InvalidInput, Unavailable
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import current_turn
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.messages import NO_INLINE, Bodies, InlineContents, Message, MessageHead, inline_that_fits
from mcp_agent_mail.features.messaging.attachments import Prepare, SeenAttachment

T = TypeVar("T")

MAX_WHOLE_BYTES = 4 * 1024 * 1024
"""Of a content that one answer carries whole."""
CHUNK_BYTES = 256 * 1024
MAX_OPEN = 32

_READS = TurnBounds(places=4, places_each=2, waiting_each=64, waiting=256, within_s=20.0)
_log = logging.getLogger("mcp_agent_mail.contents")
# A command has no log: its refusal says the same, and Python would write these lines to its terminal.
_log.addHandler(logging.NullHandler())


class ContentTooLarge(InvalidInput):
    """A content that no single answer carries."""


class AttachmentLost(Unavailable):
    """Mail that the reader sees carries the content, and it is gone beside the database, or is not what it was."""


class TooManyOpenContents(Busy):
    """`MAX_OPEN` contents are being sent."""


class ContentLost(Unavailable):
    """A content that mail carries is not there any more, or not what it was: it cannot be sent on by its digest."""


class ContentReader:
    """For one event loop. `open_file` opens a content by its SHA-256; it may block, and raises OSError for one that is
    not there. What is sent piece by piece keeps a place, and its file, until then.
    """

    def __init__(self, open_file: Callable[[str], BinaryIO]) -> None:
        self._open_file = open_file
        self._turns = Turns("reads of attachments", _READS)
        self._open_count = 0

    async def load_inline(self, shown: Iterable[MessageHead | Message], bodies: Bodies | None) -> InlineContents:
        """What is shown beside these bodies, as far as there is room; nothing without bodies."""
        if bodies is None:
            return NO_INLINE
        wanted = inline_that_fits(shown, bodies)
        return await self._in_turn(lambda: self._encoded(wanted)) if wanted else NO_INLINE

    async def require_there(self, contents: Sequence[StoredContent]) -> None:
        """Raise ContentLost where one of them is gone, or is not what it was: all of each is read."""
        if not contents:
            return
        lost = await self._in_turn(
            lambda: next((one for one in dict.fromkeys(contents) if not self._is_whole(one)), None)
        )
        if lost is not None:
            raise ContentLost(
                f"The content of attachment {lost.sha256} is lost or damaged on this server: it cannot be sent on.",
                hint="Attach the file itself, by its path: that writes it anew. Operators: `am doctor repair` brings "
                "back what Git has, and `am doctor verify` names the rest.",
                data={"sha256": lost.sha256},
            )

    async def whole(self, seen: SeenAttachment) -> bytes:
        """The whole content. Raises ContentTooLarge, and AttachmentLost for one that is gone."""
        content = seen.content
        if content.bytes > MAX_WHOLE_BYTES:
            raise ContentTooLarge(
                f"Attachment {content.sha256} has {content.bytes} bytes; one answer carries {MAX_WHOLE_BYTES}.",
                hint=f"GET /attachments/<project slug>/{content.sha256} of this server streams it, and so does "
                f"`am mail attachment {content.sha256} -o FILE`.",
                data={"sha256": content.sha256, "bytes": content.bytes, "max_bytes": MAX_WHOLE_BYTES},
            )
        data = await self._in_turn(lambda: self._read(content))
        if data is None:
            raise _lost(content)
        return data

    @asynccontextmanager
    async def opened(self, seen: SeenAttachment) -> AsyncIterator[OpenContent]:
        """The content, to be read piece by piece. Raises TooManyOpenContents, and AttachmentLost where it is gone."""
        if self._open_count >= MAX_OPEN:
            raise TooManyOpenContents(f"{MAX_OPEN} attachments are being sent just now.", retry_after_s=5)
        self._open_count += 1
        held: list[BinaryIO] = []

        def open_and_hold() -> None:
            file = self._open(seen.content)
            if file is not None:
                held.append(file)

        try:
            await computed(open_and_hold)
            if not held:
                raise _lost(seen.content)
            yield OpenContent(held[0])
        finally:
            self._open_count -= 1
            for file in held:  # Opened for a caller too that has left meanwhile.
                file.close()

    async def _in_turn(self, work: Callable[[], T]) -> T:
        async with self._turns.turn(current_turn()):
            return await computed(work)

    def _encoded(self, wanted: Mapping[MessageId, Iterable[StoredContent]]) -> InlineContents:
        read: dict[str, str | None] = {}
        for content in (content for contents in wanted.values() for content in contents):
            if content.sha256 not in read:
                data = self._read(content)
                read[content.sha256] = None if data is None else b64encode(data).decode()
        return {
            message_id: {one.sha256: text for one in contents if (text := read[one.sha256]) is not None}
            for message_id, contents in wanted.items()
        }

    def _read(self, content: StoredContent) -> bytes | None:
        """None for a content that is gone, or is not what it was."""
        file = self._open(content)
        if file is None:
            return None
        with file:
            return file.read(content.bytes)

    def _is_whole(self, content: StoredContent) -> bool:
        file = self._open(content)
        if file is None:
            return False
        found = hashlib.sha256()
        try:
            with file:
                while piece := file.read(CHUNK_BYTES):
                    found.update(piece)
        except OSError as failed:
            _tell_lost(content, failed.strerror or type(failed).__name__)
            return False
        is_same = found.hexdigest() == content.sha256
        if not is_same:
            _tell_lost(content, "its bytes are not what they were")
        return is_same

    def _open(self, content: StoredContent) -> BinaryIO | None:
        try:
            file = self._open_file(content.sha256)
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
        except OSError as failed:
            _tell_lost(content, failed.strerror or type(failed).__name__)
            return None
        if size == content.bytes:
            return file
        file.close()
        _tell_lost(content, f"{size} bytes, not {content.bytes}")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAttachments:
    """What makes ready what mail is to carry, and reads what it carries; without them it carries nothing."""

    prepare: Prepare | None = None
    contents: ContentReader | None = None


NO_ATTACHMENTS = MailAttachments()


class OpenContent:
    """One of them. Its reads are one after another."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def chunks(self, first: int, size_bytes: int) -> AsyncIterator[bytes]:
        """`size_bytes` from byte `first` on; fewer only where the file has been cut."""
        await computed(partial(self._file.seek, first))
        while size_bytes > 0:
            piece = await computed(partial(self._file.read, min(CHUNK_BYTES, size_bytes)))
            if not piece:
                return
            size_bytes -= len(piece)
            yield piece


def _lost(content: StoredContent) -> AttachmentLost:
    """For those alone who see mail that carries it: to all others it is unknown."""
    return AttachmentLost(
        f"The content of attachment {content.sha256} cannot be read: it is gone from the server's disk, or damaged.",
        hint="Tell the operator: am doctor verify says what is lost, and am doctor repair brings back what Git has.",
        data={"sha256": content.sha256},
    )


def _tell_lost(content: StoredContent, why: str) -> None:
    facts = {"sha256": content.sha256, "why": why}
    _log.error(
        "the content of an attachment cannot be read: am doctor verify tells what is lost", extra={"facts": facts}
    )
