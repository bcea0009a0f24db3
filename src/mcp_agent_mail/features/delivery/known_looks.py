"""What a stream's looks at the rights have found, for the short while that it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mcp_agent_mail.core.errors import AgentMailError, AuthenticationRequired, InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import Watched

KNOWN_FOR_S = 0.5
UNREADABLE = (NotFound, PermissionDenied, AuthenticationRequired, InvalidInput)
"""As reading it would be refused."""

Named = tuple[str, ...]
"""What a URI names, without what of it is to be shown."""


class KnownLooks:
    """`look` answers with what a URI shows to whoever has the credentials, or raises what reading it raises.

    URIs that differ in what of the same is to be shown are one look.
    """

    def __init__(self, look: Callable[[str, Credentials], Awaitable[Watched]]) -> None:
        self._look = look
        self._found: dict[tuple[Watched | Named, Credentials], tuple[float, Watched | None]] = {}
        self._generation = 0

    def forget(self) -> None:
        """What is shown has changed: each look is made anew. One under way may have begun before: it counts for whoever
        makes it, and no longer.
        """
        self._generation += 1
        self._found.clear()

    async def seen(self, uri: str, named: Named, watched: Watched, credentials: Credentials) -> Watched | None:
        """What the URI shows to them, by a look that is KNOWN_FOR_S old at most; None where reading it is refused.
        `watched` is what it showed when it was subscribed to. Raises what a sick store raises.
        """
        now = asyncio.get_running_loop().time()
        for what in ((watched, credentials), (named, credentials)):
            until, known = self._found.get(what, (now, None))
            if until > now:
                return known
        generation = self._generation
        try:
            found = await self._look(uri, credentials)
        except UNREADABLE:
            found = None
        if generation == self._generation:
            # By one name it may be refused, and by another not.
            is_same = found is not None and shows_same(watched, found)
            self._found[watched if is_same else named, credentials] = (now + KNOWN_FOR_S, found)
        return found

    async def find_listener(self, uri: str, credentials: Credentials) -> AgentId | None:
        """Whose own mailbox it is to them, by a look of now. None where that cannot be asked, too."""
        try:
            return (await self._look(uri, credentials)).listener
        except AgentMailError:
            return None


def shows_same(one: Watched, other: Watched) -> bool:
    """Whether both see the same, whoever they are."""
    return (one.key, one.project_id) == (other.key, other.project_id)
