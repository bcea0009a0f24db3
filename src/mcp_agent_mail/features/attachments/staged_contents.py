"""What one call has staged: kept together, or gone together; and what it has kept, until its mail is stored."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from mcp_agent_mail.archive.attachments import AttachmentFiles, StagedContent
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.features.attachments.recent_contents import RecentContents
from mcp_agent_mail.features.attachments.staged_limit import StagedLimit

_log = logging.getLogger("mcp_agent_mail.attachments")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPlace:
    """Where contents are staged and kept, and what bounds that for all calls together."""

    files: AttachmentFiles
    max_bytes: int
    budget: StagedLimit
    pending: RecentContents


class StagedContents:
    """For threads. A thread that comes back after the end, because its disk was slow, leaves nothing either.

    `require_room` is asked with the bytes that the call would add to what is kept, and raises where that is too much.
    """

    def __init__(self, room: ContentPlace, require_room: Callable[[int], None]) -> None:
        self._room = room
        self._files = room.files
        self._require_room = require_room
        self._lock = threading.Lock()
        self._left: list[StagedContent] = []
        self._made: list[Path] = []
        self._pending: dict[str, None] = {}
        self._is_over = False

    def stage(self, source: int | Iterable[bytes]) -> StagedContent:
        """Raises what `AttachmentFiles.stage` raises, and TooMuchStaged."""
        if isinstance(source, int):
            # What it says is what it has, but for a file that grows: each is bounded by itself.
            self._room.budget.take(self, min(os.fstat(source).st_size, self._room.max_bytes))
        else:
            source = self._counted(source)
        staged = self._files.stage(source, self._room.max_bytes)
        with self._lock:
            self._left.append(staged)
            is_over = self._is_over
        if is_over:
            self.discard_all()
        return staged

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._room.budget.take(self, len(piece))
            yield piece

    def keep(self, contents: Collection[StagedContent]) -> dict[str, StoredContent]:
        """These are on disk then, by their digests; the others are gone. Say `settle` when their mail is stored, or is
        not.
        """
        new = {staged.sha256: staged.bytes for staged in contents if self._files.size(staged.sha256) is None}
        self._require_room(sum(new.values()))
        kept = {}
        for staged in contents:
            self._begin(staged.sha256)
            kept[staged.sha256] = self._files.keep(staged)
        self.discard_all()
        return kept

    def _begin(self, sha256: str) -> None:
        with self._lock:
            if sha256 not in self._pending:
                self._room.pending.begin(sha256)
                self._pending[sha256] = None

    def pending(self) -> list[str]:
        """The digests of what `keep` was asked for, until `settle`."""
        with self._lock:
            return list(self._pending)

    def settle(self, carried: Collection[str]) -> None:
        """Of what was kept mail carries `carried`; what nobody else keeps of the rest goes, if it was new."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for sha256 in pending:
            try:
                self._room.pending.end(sha256, is_carried=sha256 in carried)
            except OSError as failed:
                facts = {"sha256": sha256, "why": str(failed)}
                _log.warning("a content that no mail carries stays on disk", extra={"facts": facts})

    def place_beside(self, staged: StagedContent) -> Path:
        """Where a file may be made out of `staged`: it is discarded with it, by whoever comes first."""
        place = staged.path.with_name(f"{staged.path.name}.webp")
        with self._lock:
            self._made.append(place)
        return place

    def end(self) -> bool:
        """From now on nothing is staged. Is anything? Then `discard_all` has work to do."""
        with self._lock:
            self._is_over = True
            has_work = bool(self._left or self._made)
        if not has_work:
            self._room.budget.give_back(self)
        return has_work

    def discard_all(self) -> None:
        """What was kept stays."""
        with self._lock:
            left, self._left = self._left, []
            made, self._made = self._made, []
        for staged in left:
            self._files.discard(staged)
        for path in made:
            path.unlink(missing_ok=True)
        self._room.budget.give_back(self)
