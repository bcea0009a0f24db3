"""How many bytes all calls together may have staged: written down, and neither kept nor discarded."""

from __future__ import annotations

import threading

from mcp_agent_mail.core.errors import Busy

MAX_STAGED_BYTES = 512 * 1024 * 1024
_RETRY_AFTER_S = 5


class TooMuchStaged(Busy):
    """Other calls have staged so much that there is no room for this one's attachments just now."""


class StagedLimit:
    """For threads. The call that has held bytes for longest always goes on: so one does, whatever comes."""

    def __init__(self, max_bytes: int = MAX_STAGED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._taken: dict[object, int] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """Of all calls together."""
        return self._bytes

    def take(self, call: object, size_bytes: int) -> None:
        """Count them for the call, before they are written. Raises TooMuchStaged; then none of them count."""
        with self._lock:
            first = next(iter(self._taken), call)
            if self._bytes + size_bytes > self._max_bytes and first is not call:
                raise TooMuchStaged(
                    "The attachments of other calls take up all room for those on their way.",
                    retry_after_s=_RETRY_AFTER_S,
                )
            self._taken[call] = self._taken.get(call, 0) + size_bytes
            self._bytes += size_bytes

    def give_back(self, call: object) -> None:
        """Nothing of the call's is staged any more. Safe to repeat."""
        with self._lock:
            self._bytes -= self._taken.pop(call, 0)
