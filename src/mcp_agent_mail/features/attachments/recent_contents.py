"""Contents that calls have kept for mail which is not stored yet: whoever was refused takes back what it brought."""

from __future__ import annotations

import threading

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class _Pending:
    calls: int
    is_new: bool
    """Nothing lay there before, and none of the calls is known to have stored its mail."""


class RecentContents:
    """For all threads of the one process that keeps contents.

    A content is removed when the last of the calls that keep it at the same time ends, if none of them stored its mail
    and it was not there before them.
    """

    def __init__(self, files: AttachmentFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._pending: dict[str, _Pending] = {}

    def begin(self, sha256: str) -> None:
        """A call is about to keep it. Whoever says this says `end`."""
        with self._lock:
            pending = self._pending.get(sha256)
            if pending is None:
                is_new = self._files.size(sha256) is None
                pending = self._pending[sha256] = _Pending(calls=0, is_new=is_new)
            pending.calls += 1

    def end(self, sha256: str, *, is_carried: bool) -> None:
        """The call's mail is stored or refused. `is_carried`: mail was seen to carry it after that, or may."""
        with self._lock:
            pending = self._pending[sha256]
            pending.calls -= 1
            pending.is_new = pending.is_new and not is_carried
            if pending.calls:
                return
            del self._pending[sha256]
            # Under the lock: who begins meanwhile finds it gone.
            if pending.is_new:
                self._files.remove(sha256)
