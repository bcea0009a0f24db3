"""What a message is to carry is made ready before it is stored: read, converted, and kept on disk."""

from __future__ import annotations

from functools import partial

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.markdown_images import find_images, may_show_images
from mcp_agent_mail.features.attachments.images import ImageConverter
from mcp_agent_mail.features.attachments.preparation import AttachmentRules, Preparation
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import PreparedAttachments
from mcp_agent_mail.features.attachments.sources import Lender
from mcp_agent_mail.features.attachments.staged_contents import StagedContents
from mcp_agent_mail.features.attachments.threads import AttachmentThreads


class AttachmentNotStored(Unavailable):
    """A disk failed, or is full: the server's own, or the one that the file lies on."""


class AttachmentService:
    """For one event loop, on which nothing of this waits for a disk or computes. `close()` when the server stops."""

    def __init__(
        self,
        files: AttachmentFiles,
        converter: ImageConverter,
        *,
        lender: Lender,
        rules: AttachmentRules,
        threads: AttachmentThreads | None = None,
    ) -> None:
        self._files = files
        self._converter = converter
        self._lender = lender
        self._rules = rules
        self._threads = threads or AttachmentThreads()

    def close(self) -> None:
        """Whoever waits for a file is told that the server stops."""
        self._threads.close()

    async def prepare(self, request: AttachmentRequest) -> PreparedAttachments:
        """All that the message is to carry, each content once and on disk; or an error, and nothing is left.

        Call it before the unit of work that stores the message. Raises InvalidInput (a limit, a path that is not lent,
        an image that cannot be converted), NotFound for a named file that is missing, and Unavailable.
        """
        converts = self._converts(request)
        has_images = converts and may_show_images(request.body_md)
        if not request.paths and not has_images:
            return PreparedAttachments(items=(), body_md=request.body_md)
        contents = StagedContents(self._files, self._rules.max_bytes)
        preparation = Preparation(
            request, contents, self._converter, lender=self._lender, rules=self._rules, threads=self._threads
        )
        try:
            images = await self._threads.compute(partial(find_images, request.body_md)) if has_images else []
            return await preparation.make(images, converts=converts)
        except OSError as failed:
            raise AttachmentNotStored(
                f"An attachment cannot be read or stored: {failed.strerror or failed}.",
                hint="See whether the disk of the file or that of the server is full or failing.",
            ) from failed
        finally:
            if contents.end():
                await computed(contents.discard_all)

    def _converts(self, request: AttachmentRequest) -> bool:
        if request.convert is not None:
            return request.convert
        return request.policy is not AttachmentsPolicy.AUTO or self._rules.converts
