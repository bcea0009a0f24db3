"""Windows: the terminal windows (or tabs, or panes) of clients, by a UUID that the client makes.

A window keeps the name under which its agent came, so that who comes back in it needs to know nothing.
"""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.ids import ProjectId, WindowId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

DAY = Micros(24 * 3_600 * SECOND)
DEFAULT_TTL = Micros(30 * DAY)

_UUID = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A client's window in one project. `expired_ts`: when a call ended it; else it lapses when it is not used."""

    id: WindowId
    project_id: ProjectId
    uuid: str
    display_name: str
    created_ts: Micros
    last_active_ts: Micros
    expired_ts: Micros | None

    def ends(self, ttl: Micros) -> Micros:
        """When the window ended, or will end unless it is used."""
        lapse = Micros(self.last_active_ts + ttl)
        return lapse if self.expired_ts is None else min(self.expired_ts, lapse)

    def is_live(self, now: Micros, ttl: Micros) -> bool:
        return self.ends(ttl) > now


class UnfitWindow(InvalidInput):
    """The text is no window's UUID."""


class UnknownWindow(NotFound):
    """No live window of the project has this UUID."""


class WindowNameTaken(Conflict):
    """Another live window of the project has the name."""


def parse_window_uuid(text: str) -> str:
    """The UUID in lower case. Raises UnfitWindow."""
    uuid = text.strip().lower()
    if not _UUID.fullmatch(uuid):
        raise UnfitWindow(
            f"{text!r:.100} is no window id.",
            hint="It is a UUID like 3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11, sent as X-Agent-Window by the client.",
            data={"parameter": "window_uuid"},
        )
    return uuid


def find_window_uuid(text: str | None) -> str | None:
    """The UUID in lower case; None for no text and for what is no UUID."""
    uuid = "" if text is None else text.strip().lower()
    return uuid if _UUID.fullmatch(uuid) else None
