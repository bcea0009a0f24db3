"""The door on its ports: which of its paths a request is for, and what stands at each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.facades.asgi import AsgiParts, DoorRequest, PlainAnswer, Receive, Send
from mcp_agent_mail.facades.claude_mailbox.callers import caller_of, header_name
from mcp_agent_mail.facades.claude_mailbox.refusals import refused
from mcp_agent_mail.facades.claude_mailbox.routes import MailboxRest
from mcp_agent_mail.facades.claude_mailbox.tools import door_tools
from mcp_agent_mail.features.doors.mailbox_service import MailboxService
from mcp_agent_mail.features.doors.service import DoorService

HEALTH = "/health"
MCP = "/mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxFacts:
    """What the door says of the server that it is part of."""

    version: str
    database_path: Path


class MailboxDoor:
    """A `DoorApp`. `keeper` works while the door is open: it lets idle mailboxes retire."""

    open_paths = frozenset({HEALTH})

    def __init__(
        self,
        doors: DoorService,
        mailboxes: MailboxService,
        parts: AsgiParts,
        facts: MailboxFacts,
        keeper: Keeper | None,
    ) -> None:
        self._parts = parts
        self._facts = facts
        self._keeper = keeper
        self._mailboxes = mailboxes
        self._mcp = parts.mcp(door_tools(doors, mailboxes))
        self._rest = MailboxRest(doors, mailboxes)

    def speaks_mcp(self, path: str) -> bool:
        return path.rstrip("/") == MCP

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Requests are answered between entry and exit."""
        if self._keeper is not None:
            self._keeper.start()
        try:
            async with self._mcp.opened():
                yield
        finally:
            if self._keeper is not None:
                await self._keeper.stop()

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """One request, whose Host, Origin and token were judged."""
        path = request.path.rstrip("/") or "/"
        if path == MCP:
            await self._answer_mcp(request, receive, send)
            return

        async def health(_: bytes) -> PlainAnswer:
            return self._health()

        async def route(body: bytes) -> PlainAnswer:
            return await self._answer_route(path, request, body)

        await self._parts.answer_plain(request, receive, send, health if path == HEALTH else route)

    async def _answer_mcp(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """As of whom the header says, who is there and was seen by that, whatever is asked. A name that is not this
        door's to speak as is refused where a tool is called by it.
        """
        try:
            name = header_name(request)
        except AgentMailError as unfit:
            refusal = refused(self._parts.fitted(unfit))
            await self._parts.answer_plain(request, receive, send, _answering(refusal))
            return
        if name is not None:
            with suppress(AgentMailError):
                await self._mailboxes.touch(caller_of(name))
            request = request.named(name)
        await self._mcp.answer(request, receive, send)

    def _health(self) -> PlainAnswer:
        return PlainAnswer(
            value={"status": "ok", "version": self._facts.version, "dbPath": str(self._facts.database_path)}
        )

    async def _answer_route(self, path: str, request: DoorRequest, body: bytes) -> PlainAnswer:
        route = self._rest.routes.get(path) or self._rest.routes.get(path[: path.rfind("/") + 1])
        if route is None:
            return PlainAnswer(value={"error": f"Nothing is served at {request.path!r:.200}"}, status=404)
        if request.method != route.method:
            return PlainAnswer(
                value={"error": f"{path} takes {route.method}"},
                status=405,
                headers=((b"allow", route.method.encode()),),
            )
        if (route.has_body or body) and not self._parts.is_json(request):
            return PlainAnswer(value={"error": "Send Content-Type: application/json"}, status=415)
        try:
            return await route.handle(request, body)
        except AgentMailError as error:
            return refused(self._parts.fitted(error), of_rename=path == "/v1/rename")


def _answering(answer: PlainAnswer) -> Callable[[bytes], Awaitable[PlainAnswer]]:
    async def work(_: bytes) -> PlainAnswer:
        return answer

    return work
