"""Contents of attachments on their way in: piece by piece, whole and on disk before a message carries them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from functools import partial

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.attachments import HEAD_BYTES, StoredContent, kind_of
from mcp_agent_mail.domain.importing.steps import ContentStep
from mcp_agent_mail.features.importing.unit_of_work import ReadyContent

MOST_OPEN = 4
"""Contents of which some pieces have come; what is begun beyond lets go of the one that was begun first."""


class BrokenContent(InvalidInput):
    """Its pieces do not follow one another, or are not what their hash says."""


class ImportedContents:
    """For one event loop. What no message carries in the end is removed with all that nobody carries, in a day.
    `require_room` is asked before so many bytes are kept.
    """

    def __init__(self, files: AttachmentFiles, max_bytes: int, *, require_room: Callable[[int], None]) -> None:
        self._files = files
        self._max_bytes = max_bytes
        self._require_room = require_room
        self._open: OrderedDict[str, bytearray] = OrderedDict()

    async def add(self, step: ContentStep) -> None:
        """Raises BrokenContent, AttachmentTooLarge, and what `require_room` raises."""
        if step.offset == 0:
            self._open[step.sha256] = bytearray()
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        begun = self._open.get(step.sha256)
        if begun is None or len(begun) != step.offset or step.offset + len(step.piece) > self._max_bytes:
            self._open.pop(step.sha256, None)
            raise _broken(step.sha256, "its pieces do not follow one another, or are too many")
        begun += step.piece
        if step.is_last:
            del self._open[step.sha256]
            self._require_room(len(begun))
            await computed(partial(self._keep, step.sha256, bytes(begun)))

    async def lacking(self, digests: Collection[str]) -> list[str]:
        """Those that are not on disk."""
        return await computed(lambda: [one for one in digests if self._files.size(one) is None]) if digests else []

    async def ready(self, digests: Collection[str]) -> dict[str, ReadyContent]:
        """What is there of them, by digest."""
        return await computed(lambda: dict(self._each_ready(digests))) if digests else {}

    def _each_ready(self, digests: Collection[str]) -> Iterator[tuple[str, ReadyContent]]:
        for sha256 in digests:
            with self._files.open(sha256) as file:
                kind = kind_of(file.read(HEAD_BYTES))
            size = self._files.size(sha256)
            assert size is not None, sha256
            yield (
                sha256,
                ReadyContent(content=StoredContent(sha256=sha256, bytes=size, extension=kind.extension), kind=kind),
            )

    def _keep(self, sha256: str, content: bytes) -> None:
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _broken(sha256, "it is not what its hash says")
        self._files.keep(self._files.stage([content], self._max_bytes))


def _broken(sha256: str, why: str) -> BrokenContent:
    return BrokenContent(
        f"The content {sha256:.64} was not kept: {why}.",
        hint="Start the import again: it goes on where it was.",
        data={"sha256": sha256[:64]},
    )
