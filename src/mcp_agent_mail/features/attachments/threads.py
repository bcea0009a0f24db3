"""Where attachments are read, decoded and synced: beside the event loop, on bounded threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.tools import current_turn

T = TypeVar("T")

FILE_THREADS = 4
FILE_WITHIN_S = 60.0
"""For the largest attachment from a slow disk."""
TURNS = TurnBounds(places=4, places_each=2, waiting_each=64, waiting=256, within_s=60.0)
BODY_TURNS = TurnBounds(places=2, places_each=1, waiting_each=64, waiting=256, within_s=60.0)
"""Apart from those: a body that takes long holds up bodies alone."""


class AttachmentThreads:
    """For one event loop."""

    def __init__(self, *, file_within_s: float = FILE_WITHIN_S) -> None:
        self._looks = Looks(threads=FILE_THREADS, within_s=file_within_s)
        self._turns = Turns("calls with attachments", TURNS)
        self._bodies = Turns("bodies with images", BODY_TURNS)

    async def read(self, directory: str, work: Callable[[], T]) -> T:
        """What `work` gives, which reads a file that a caller named; of one directory one is read at a time, and one
        that hangs is given up. Raises what it raises, DirectorySilent, TooManyLooks.
        """
        return await self._looks.look(directory, work)

    async def compute(self, work: Callable[[], T]) -> T:
        """What `work` gives, which needs the processor or the server's own disk alone. Raises what it raises,
        TooMuchAtOnce.
        """
        async with self._turns.turn(current_turn()):
            return await computed(work)

    async def read_body(self, work: Callable[[], T]) -> T:
        """What `work` gives, which looks through a body. Raises what it raises, TooMuchAtOnce."""
        async with self._bodies.turn(current_turn()):
            return await computed(work)

    def close(self) -> None:
        """Whoever waits for a file is told that the server stops."""
        self._looks.close()
