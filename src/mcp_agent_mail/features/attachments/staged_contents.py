"""What one call has staged: kept together, or gone together."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from mcp_agent_mail.archive.attachments import AttachmentFiles, StagedContent
from mcp_agent_mail.domain.attachments import StoredContent


class StagedContents:
    """For threads. A thread that comes back after the end, because its disk was slow, leaves nothing either."""

    def __init__(self, files: AttachmentFiles, max_bytes: int) -> None:
        self._files = files
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._left: list[StagedContent] = []
        self._made: list[Path] = []
        self._is_over = False

    def stage(self, source: int | Iterable[bytes]) -> StagedContent:
        """Raises what `AttachmentFiles.stage` raises."""
        staged = self._files.stage(source, self._max_bytes)
        with self._lock:
            self._left.append(staged)
            is_over = self._is_over
        if is_over:
            self.discard_all()
        return staged

    def keep(self, contents: Iterable[StagedContent]) -> dict[str, StoredContent]:
        """These are on disk then, by their digests; the others are gone."""
        kept = {staged.sha256: self._files.keep(staged) for staged in contents}
        self.discard_all()
        return kept

    def place_beside(self, staged: StagedContent) -> Path:
        """Where a file may be made out of `staged`: it is discarded with it, by whoever comes first."""
        place = staged.path.with_name(f"{staged.path.name}.webp")
        with self._lock:
            self._made.append(place)
        return place

    def end(self) -> bool:
        """From now on nothing is held. Is anything? Then `discard_all` has work to do."""
        with self._lock:
            self._is_over = True
            return bool(self._left or self._made)

    def discard_all(self) -> None:
        """What was kept stays."""
        with self._lock:
            left, self._left = self._left, []
            made, self._made = self._made, []
        for staged in left:
            self._files.discard(staged)
        for path in made:
            path.unlink(missing_ok=True)
