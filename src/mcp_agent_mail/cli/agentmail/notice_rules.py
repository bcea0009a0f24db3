"""When a window is told of its mail: pure decisions over what the server says of mailboxes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    # Any: JSON of the server.
    Json = Any

COALESCED_S = 0.5
"""What comes so soon after another is told with it."""
FLOOR_S = 60.0
"""Between two notices to one window, unless its agent was not ready in between."""
LOOK_AGAIN_S = 3.0
"""At a window in whose prompt something stood."""
SLICE_S = 10.0
"""Windows are opened and renamed: who listens learns of it by then."""


class Notices:
    """What each window was told last, by its name. Times are those of the clock on the wall, as the server's are."""

    __slots__ = ("_held_back", "_told")

    def __init__(self) -> None:
        self._told: dict[str, float] = {}
        self._held_back: set[str] = set()

    def due(self, mailboxes: Sequence[dict[str, Json]], now: float) -> list[str]:
        """The windows to tell now: ready, with unread mail, and not told for a while."""
        return [one["name"] for one in mailboxes if self._in_s(one, now) == 0.0]

    def wait_s(self, mailboxes: Sequence[dict[str, Json]], now: float) -> float:
        """Until the next is due, SLICE_S at most."""
        waits = [wait for one in mailboxes if (wait := self._in_s(one, now)) is not None]
        if self._held_back:
            waits.append(LOOK_AGAIN_S)
        return min([SLICE_S, *(wait for wait in waits if wait > 0)])

    def note_told(self, name: str, now: float) -> None:
        """The window has been told."""
        self._told[name] = now
        self._held_back.discard(name)

    def note_held_back(self, name: str) -> None:
        """Something stood in its prompt: it is looked at again soon."""
        self._held_back.add(name)

    def keep(self, names: Sequence[str]) -> None:
        """Forget windows that there are not any more."""
        self._told = {name: at for name, at in self._told.items() if name in names}
        self._held_back &= set(names)

    def _in_s(self, mailbox: dict[str, Json], now: float) -> float | None:
        """In how many seconds it is due; None for never, as things are."""
        if mailbox["status"] != "ready" or not mailbox["unread"]:
            self._held_back.discard(mailbox["name"])
            return None
        told, since = self._told.get(mailbox["name"]), mailbox["status_since"]
        if told is None or not 0 <= now - told < FLOOR_S or (since is not None and since > told):
            return 0.0
        return FLOOR_S - (now - told)
