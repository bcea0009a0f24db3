"""Tools and resources without a server: the same services over the store, which this process owns meanwhile.

What was written goes into Git before the command ends, by the drain that the archiver runs beside a server.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.owned_store import owned_store
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.gateway.fault_log import tell_faults_once
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX, new_token
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import Credentials, Json, call_as
from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.features.archiving.lost_database import require_database
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.features.messaging.attachments import SeenAttachment
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.migrate import require_current

_DRAIN_TIMEOUT_S = 30.0


class InProcessGateway:
    """`open` takes the store's lock (raises StoreInUse) and `close` gives it back. `is_rehearsal`: of a store that is
    thrown away, nothing is brought into Git. `caller`: who calls, as a server would be shown it, else the operator.
    """

    is_in_process = True

    def __init__(self, settings: Settings, *, is_rehearsal: bool = False, caller: Credentials | None = None) -> None:
        self._settings = settings
        self._is_rehearsal = is_rehearsal
        self._caller = caller
        self._runner = asyncio.Runner()
        self._held = AsyncExitStack()
        self._has_written = False

    def open(self) -> None:
        """Open the store and the services over it; what was opened is closed again when that fails. Raises StoreInUse
        while another process owns the store, OlderStore where a server has to migrate it first. Once per gateway.
        """
        tell_faults_once()
        try:
            self._runner.run(self._open())
        except BaseException:
            self._runner.close()
            raise

    async def _open(self) -> None:
        settings = self._settings
        async with AsyncExitStack() as opened:
            opened.enter_context(owned_store(settings))
            require_database(settings.storage_root, settings.database_path)
            if settings.database_path.is_file():
                require_current(settings.database_path)
            self._store = await opened.enter_async_context(Store(settings.database_path, echo=settings.database_echo))
            went_on = await go_on_above_archives(self._store, settings.storage_root)
            if (unnoted := went_on.unnoted) is not None:
                sys.stderr.write(f"Warning: {visible(unnoted.message)}\nHint: {visible(unnoted.hint)}\n")
            # A token of this moment: the services ask for proof, and nobody else can have seen it.
            operator_token = new_token(OPERATOR_TOKEN_PREFIX)
            self._services = build_services(
                settings, self._store, place=_place(settings), operator_token=operator_token
            )
            opened.push_async_callback(self._services.close, timeout_s=_DRAIN_TIMEOUT_S)
            self._credentials = self._caller or Credentials(via="local", bearer_token=operator_token)
            self._held = opened.pop_all()

    def close(self) -> None:
        """Bring what was written into Git, then let go of the store."""
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _close(self) -> None:
        async with self._held:
            if self._has_written and not self._is_rehearsal:
                await self._drain()

    async def _drain(self) -> None:
        archiver = archiver_settings(self._settings)
        for failed in await drain_in_process(self._store, archiver, timeout_s=_DRAIN_TIMEOUT_S):
            sys.stderr.write(
                f"Warning: the archive of {visible(failed.project)} is behind: {visible(failed.message)}\n"
                f"Hint: {visible(failed.hint)} Nothing is lost: the next start goes on with it.\n"
            )

    # The answer is plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """The tool's plain result, as the operator. Raises AgentMailError."""
        # A command that only reads leaves a backlog to whoever writes next: it must not take its time.
        if not self._has_written and not self._services.tools.require(tool, self._credentials).read_only:
            self._runner.run(self._find_room())
            self._has_written = True
        return self._runner.run(self._services.tools.run(tool, arguments, self._credentials))

    async def _find_room(self) -> None:
        """Whether the store may grow: one bounded look, where a server looks again and again."""
        with suppress(Unavailable, OSError):
            await self._services.workers.store_size.look()

    # The answer is plain JSON.
    def read(self, uri: str) -> Any:
        return self._runner.run(self._services.resources.read(uri, self._credentials))

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        """As `Gateway.download`; the content stays open until it is read or given up."""
        pieces = self._pieces(slug, sha256)
        try:
            while (piece := self._runner.run(anext(pieces, None))) is not None:
                yield piece
        finally:
            self._runner.run(pieces.aclose())

    async def _pieces(self, slug: str, sha256: str) -> AsyncGenerator[bytes]:
        async def find() -> Json:
            return await messaging.attachment(await self._services.identity.caller(), sha256, slug)

        messaging = self._services.messaging
        seen: SeenAttachment = await call_as(self._credentials, find, {})
        async with messaging.opened(seen) as content:
            async for piece in content.chunks(0, seen.content.bytes):
                yield piece


def _place(settings: Settings) -> ServerPlace:
    return ServerPlace(
        environment=settings.app_environment,
        http_host=settings.http_host,
        http_port=settings.http_port,
        http_path=settings.http_path,
        database_url=settings.database_url,
        version=__version__,
    )
