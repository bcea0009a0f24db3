"""Sessions that clients go on with and this server does not know (any more): behind a restart, or idle for too long."""

from __future__ import annotations

from collections import OrderedDict

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

_GIVEN_OUT = lazy_pattern(rb"[0-9a-f]{32}")
"""As the SDK writes the ids of sessions; a test keeps it so."""


class ForgottenSession:
    """Told apart by identity."""


class ForgottenSessions:
    """One object for each id, as long as it is among the `most` that were named last."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._known: OrderedDict[bytes, ForgottenSession] = OrderedDict()

    def find(self, session_id: bytes) -> ForgottenSession | None:
        """The same object as before for an id that is kept, else a new one: then the one named longest ago goes. None
        for what no server of ours has given out: whole fleets may send one word, and are not one client.
        """
        if not _GIVEN_OUT.fullmatch(session_id):
            return None
        session = self._known.setdefault(session_id, ForgottenSession())
        self._known.move_to_end(session_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return session
