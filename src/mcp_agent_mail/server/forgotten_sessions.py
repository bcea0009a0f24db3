"""Sessions that clients go on with and this server does not know (any more): behind a restart, or idle for too long."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

MOST = 2_000


class ForgottenSession:
    """Told apart by identity."""


class ForgottenSessions:
    """One object for each id, as long as it is among the MOST that were named last. Ids are kept as digests: a client
    writes them as long as it likes.
    """

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[bytes, ForgottenSession] = OrderedDict()

    def named(self, session_id: bytes) -> ForgottenSession:
        """The same object as before for an id that is kept, else a new one: then the one named longest ago goes."""
        key = hashlib.sha256(session_id).digest()
        session = self._known.setdefault(key, ForgottenSession())
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return session
