"""Looks again and again, whoever serves: a server that goes away is told, and one that comes is found."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import MISREAD, Misread, NoServer, WireError
from mcp_agent_mail.cli.gateway.busy_server import is_busy
from mcp_agent_mail.cli.gateway.http import Server, Stranger
from mcp_agent_mail.cli.gateway.known_owner import NAME_IT
from mcp_agent_mail.cli.gateway.port import find_server, require_server
from mcp_agent_mail.cli.top.full_look import FullLook
from mcp_agent_mail.cli.top.server_look import ANSWER_WITHIN_S, ServerLook
from mcp_agent_mail.core.errors import AgentMailError


class LookSource:
    """`require_first` once, then `look` as often as wanted; `close` at the end."""

    def __init__(self, context: CliContext) -> None:
        self._context = context
        self._first: Server | None = None
        self._server: ServerLook | None = None

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def require_first(self) -> None:
        """Find where to look, before anything is shown. Raises NoServer where neither a server nor a store is there."""
        try:
            self._first = require_server(self._context, within_s=ANSWER_WITHIN_S)
        except NoServer:
            if self._context.named_url() is not None or not self._context.store_exists():
                raise

    def require_look(self, *, projects: int) -> FullLook:
        """One look, in which so many projects are asked about. Raises what stands in the way."""
        server = self._connected()
        if server is None:
            return self._of_store()
        return server.look(projects=projects)

    def look(self) -> FullLook:
        """One look; what stands in the way is its `problem`."""
        try:
            server = self._connected()
            if server is not None:
                return server.look()
        except (AgentMailError, *MISREAD) as failed:
            if isinstance(failed, WireError) and not isinstance(failed, Stranger):
                return self._refused(failed)
            self.close()
            told = failed if isinstance(failed, AgentMailError) else Misread.because(failed)
            return self._without_server(told.message)
        return self._without_server(None)

    def _connected(self) -> ServerLook | None:
        if self._server is None:
            found = find_server(self._context) or self._first
            self._server = None if found is None else ServerLook(found)
        return self._server

    def _refused(self, refused: WireError) -> FullLook:
        """By a server that is there: what it has told before it keeps, unless it is asked by somebody else now."""
        url = None if self._server is None else self._server.url
        if not is_busy(refused):
            self.close()
        told = self._without_server(refused.message)
        return replace(told, server="busy" if is_busy(refused) else "refusing", url=url)

    def _without_server(self, problem: str | None) -> FullLook:
        try:
            found = self._of_store()
        except AgentMailError as failed:
            return FullLook(server="none", problem=problem or failed.message)
        return replace(found, problem=problem or found.problem)

    def _of_store(self) -> FullLook:
        """Raises NoServer where there is no store, and what reading a damaged one raises."""
        self._context.require_store()
        # The store's modules: 0.1 s, which a running server spares.
        from mcp_agent_mail.cli.top.store_look import look_into_store

        found = look_into_store(self._context.settings.database_path)
        owner = self._context.owner()
        if owner is None or owner.url is not None:
            return found
        whose = f"process {owner.pid}" if owner.pid else "another process"
        return replace(found, problem=f"{whose} has the store. {NAME_IT}")
