"""What a message is to carry is made ready before it is stored: read, converted, and kept on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.markdown_images import find_images, may_show_images
from mcp_agent_mail.features.attachments.images import ImageConverter
from mcp_agent_mail.features.attachments.preparation import AttachmentRules, Preparation
from mcp_agent_mail.features.attachments.recent_contents import RecentContents
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import PreparedAttachments
from mcp_agent_mail.features.attachments.sources import FindFolders, Lender
from mcp_agent_mail.features.attachments.staged_contents import ContentPlace, StagedContents
from mcp_agent_mail.features.attachments.staged_limit import StagedLimit
from mcp_agent_mail.features.attachments.threads import AttachmentThreads

RETRY_AFTER_S = 30
"""A disk that failed or is full is another one in minutes, if at all."""


class AttachmentNotStored(Busy):
    """A disk failed, or is full: the server's own, or the one that the file lies on. Nothing of the call is kept."""


class MessageStore(Protocol):
    """Where the messages are stored that carry what is kept here."""

    def require_room(self, more_bytes: int) -> None:
        """Return where the store may grow by these; called on threads. Raises QuotaExceeded, Unavailable."""

    async def find_carried(self, digests: Collection[str]) -> Collection[str]:
        """Those that a message carries by now."""


class AttachmentService:
    """For one event loop, on which nothing of this waits for a disk or computes. `close()` when the server stops."""

    def __init__(
        self,
        files: AttachmentFiles,
        converter: ImageConverter,
        *,
        lender: Lender,
        look: FindFolders,
        rules: AttachmentRules,
        threads: AttachmentThreads | None = None,
        budget: StagedLimit | None = None,
    ) -> None:
        self._room = ContentPlace(
            files=files,
            max_bytes=rules.max_bytes,
            budget=budget or StagedLimit(),
            pending=RecentContents(files),
        )
        self._converter = converter
        self._lender = lender
        self._look = look
        self._rules = rules
        self._threads = threads or AttachmentThreads()

    def close(self) -> None:
        """Whoever waits for a file is told that the server stops."""
        self._threads.close()

    @asynccontextmanager
    async def prepared(self, request: AttachmentRequest, store: MessageStore) -> AsyncIterator[PreparedAttachments]:
        """All that the message is to carry, each content once and on disk; or an error, and nothing is left.

        Store the message inside the block. What it brought and no message carries in the end is gone again, unless the
        call was cancelled: then what became of its message is not known. Raises InvalidInput (a limit, a path that is
        not lent, an image that cannot be converted), NotFound for a named file that is missing, Unavailable, and what
        `store.require_room` raises.
        """
        converts = self._converts(request)
        has_images = converts and may_show_images(request.body_md)
        if not request.paths and not has_images:
            yield PreparedAttachments(items=(), body_md=request.body_md)
            return
        contents = StagedContents(self._room, store.require_room)
        is_known = True
        try:
            yield await self._make(request, contents, converts=converts, has_images=has_images)
        except BaseException as ended:
            is_known = isinstance(ended, Exception)
            raise
        finally:
            if pending := contents.pending():
                carried = await _find_carried(store, pending) if is_known else pending
                await computed(partial(contents.settle, carried))

    async def _make(
        self, request: AttachmentRequest, contents: StagedContents, *, converts: bool, has_images: bool
    ) -> PreparedAttachments:
        preparation = Preparation(
            request,
            contents,
            self._converter,
            lender=self._lender,
            look=self._look,
            rules=self._rules,
            threads=self._threads,
        )
        try:
            images = await self._threads.read_body(partial(find_images, request.body_md)) if has_images else []
            return await preparation.make(images, converts=converts)
        except OSError as failed:
            raise AttachmentNotStored(
                f"An attachment cannot be read or stored: {failed.strerror or failed}.",
                first="See whether the disk of the file or that of the server is full or failing.",
                retry_after_s=RETRY_AFTER_S,
                otherwise=", or send it without the attachment",
            ) from failed
        finally:
            if contents.end():
                await computed(contents.discard_all)

    def _converts(self, request: AttachmentRequest) -> bool:
        if request.convert is not None:
            return request.convert
        return request.policy is not AttachmentsPolicy.AUTO or self._rules.converts


async def _find_carried(store: MessageStore, pending: Collection[str]) -> Collection[str]:
    """All of them, where that cannot be told."""
    try:
        return await store.find_carried(pending)
    except Unavailable:
        return pending
