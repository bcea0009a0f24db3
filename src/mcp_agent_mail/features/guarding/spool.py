"""Brings in what the guard left on disk while no server answered: at the start, and every minute."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.plain_files import read_plain
from mcp_agent_mail.domain.guard.events import NewGuardEvent, read_guard_event
from mcp_agent_mail.features.guarding.service import GuardingService

logger = logging.getLogger("mcp_agent_mail.guarding")

INTERVAL_S = 60.0
AT_ONCE = 100
MAX_EVENT_BYTES = 16 * 1024
SPOOL_FOLDER = "guard-spool"
_SUFFIX = ".json"


class SpoolDrain:
    """`start` on the running loop, `close` before the store's. A file goes when its event is on disk in the store."""

    def __init__(
        self, service: GuardingService, storage_root: Path, *, clock: Clock, interval_s: float = INTERVAL_S
    ) -> None:
        self._service = service
        self._folder = storage_root / SPOOL_FOLDER
        self._clock = clock
        self.keeper = Periodic("guard-spool", self._pass, interval_s=interval_s)
        self.start = self.keeper.start
        self.close = self.keeper.stop

    async def _pass(self) -> None:
        await self.drain()

    async def drain(self) -> int:
        """Everything that lies there now; gives how many events were new. Safe to repeat after any crash."""
        stored = 0
        for lot in _lots(await asyncio.to_thread(self._files)):
            read = await asyncio.to_thread(self._read, lot)
            stored += (await self._service.store_events([event for _, event in read]))["stored"] if read else 0
            await asyncio.to_thread(_remove, [file for file, _ in read])
        return stored

    def _files(self) -> list[Path]:
        """Oldest names last, it does not matter: the log is sorted by time. The guard keeps their number bounded."""
        try:
            return sorted(self._folder / name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))  # noqa: PTH208
        except FileNotFoundError:
            return []

    def _read(self, files: Sequence[Path]) -> list[tuple[Path, NewGuardEvent]]:
        """A file that holds no event is taken away: it would be in the way for ever."""
        found = []
        for file in files:
            try:
                content = read_plain(str(file), MAX_EVENT_BYTES, follow=False)
                if content is not None:
                    found.append((file, read_guard_event(json.loads(content), self._clock())))
            except (ValueError, RecursionError, InvalidInput):
                logger.warning("a file in the guard's spool holds no event and was removed")
                with suppress(IsADirectoryError, PermissionError):
                    file.unlink(missing_ok=True)
        return found


def _lots(files: Sequence[Path]) -> list[Sequence[Path]]:
    return [files[start : start + AT_ONCE] for start in range(0, len(files), AT_ONCE)]


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
