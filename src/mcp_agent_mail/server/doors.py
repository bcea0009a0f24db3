"""Doors in HTTP: which of them a request is for, and what they are handed to answer it with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING

import orjson
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.concurrency.outside_end import is_from_outside, running_task
from mcp_agent_mail.core.errors import AgentMailError, NotFound, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.profiles import NONE_OF_OURS
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import Json, call_as
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.asgi import DoorApp, DoorRequest, PlainAnswer
from mcp_agent_mail.server.dispatch import Calls, masked
from mcp_agent_mail.server.plain_calls import is_json, send_error
from mcp_agent_mail.server.rendering.profile_texts import fitted_error
from mcp_agent_mail.server.rendering.responses import send_json
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.limits import read_body, replay

if TYPE_CHECKING:
    from mcp_agent_mail.facades.tool_door import DoorTools
    from mcp_agent_mail.server.door_mcp import DoorMcp


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The doors that are open: on this server's port below the first part of a path (`/agents/`), and on ports of
    their own, where everything is theirs but paths of other doors. `apps` are all, `open_at` says where each is.
    """

    by_part: Mapping[str, DoorApp] = field(default_factory=dict)
    by_port: Mapping[int, DoorApp] = field(default_factory=dict)
    apps: Mapping[Door, DoorApp] = field(default_factory=dict)
    open_at: Mapping[Door, tuple[str, ...]] = field(default_factory=dict)

    def find(self, path: str, server: tuple[str, int | None] | None) -> DoorApp | None:
        """Whose request it is that came to `server`, as ASGI calls it; None for one of this server's own."""
        if self.by_port and server and server[1] and (own := self.by_port.get(server[1])) is not None:
            return own
        return self.by_part.get(path[: path.find("/", 1) + 1]) if self.by_part else None

    def find_missed(self, scope: Scope) -> ClosedDoor | None:
        """What is told of a path that nothing is served at where the request came in, and a door has: where that is
        open, else what opens it.
        """
        path: str = scope["path"]
        door, way = _PATHS.get(path[: path.find("/", 1) + 1], (None, ""))
        if door is None or (
            (served := self.find(path, scope.get("server"))) is not None and served is self.apps.get(door)
        ):
            return None
        places = self.open_at.get(door, ())
        return ClosedDoor(
            f"The door {door.value} is not open here.",
            hint=f"This server has it open at {listed(places, 'and')}." if places else way,
            data={"door": door.value, **({"at": list(places)} if places else {})},
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Requests are answered between entry and exit. A door that has several places is opened once."""
        async with AsyncExitStack() as stack:
            for door in {id(one): one for one in (*self.by_part.values(), *self.by_port.values())}.values():
                await stack.enter_async_context(door.opened())
            yield


NO_DOORS = Doors()


class ClosedDoor(NotFound):
    """The path is one of a door that is closed, or open in another place."""


_PATHS: Mapping[str, tuple[Door, str]] = MappingProxyType(
    {
        "/agents/": (Door.POSTAL, "Set POSTAL_ENABLED=true in its settings, and start it anew."),
        "/agentmail/": (Door.AGENTMAIL, "Set AGENTMAIL_ENABLED=true in its settings, and start it anew."),
        "/v1/": (
            Door.CLAUDE_MAILBOX,
            "CLAUDE_MAILBOX_ENABLED=true in its settings opens it, at the ports that CLAUDE_MAILBOX_PORTS names.",
        ),
    }
)
"""The first parts of paths that doors have, and what opens each."""


class ServerParts:
    """`AsgiParts`, over the parts that this server's own routes are made of."""

    def __init__(self, calls: Calls, *, has_fast_path: bool) -> None:
        self._calls = calls
        self._has_fast_path = has_fast_path

    def mcp(self, tools: DoorTools) -> DoorMcp:
        from mcp_agent_mail.server.door_mcp import DoorMcp  # noqa: PLC0415  # doors that are shut cost no start

        return DoorMcp(tools, self._calls, has_fast_path=self._has_fast_path)

    async def read(self, receive: Receive) -> tuple[bytes, Receive]:
        body = await read_body(receive)
        return body, replay(body, receive)

    async def answer_plain(
        self, request: DoorRequest, receive: Receive, send: Send, work: Callable[[bytes], Awaitable[PlainAnswer]]
    ) -> None:
        """See `AsgiParts`. Raises what `read_body` raises."""
        hearing = RequestHearing(receive, send, request.scope)
        try:
            with heard_by(hearing):
                try:
                    answer, content = await self._run(request, await read_body(receive), work)
                except AgentMailError as error:
                    await send_error(hearing.send, self.fitted(error))
                else:
                    await send_json(hearing.send, answer.status, content, *answer.headers)
        finally:
            hearing.close()

    async def _run(
        self, request: DoorRequest, body: bytes, work: Callable[[bytes], Awaitable[PlainAnswer]]
    ) -> tuple[PlainAnswer, bytes]:
        """What is to be answered, and as which bytes."""

        async def run(body: bytes) -> Json:
            return await work(body)

        task = running_task()
        try:
            with self._calls.places.at_work():
                answer = await call_as(request.credentials, run, {"body": body})
            assert isinstance(answer, PlainAnswer)
            return answer, orjson.dumps(answer.value)
        except AgentMailError:
            raise
        except BaseException as error:  # a bug becomes INTERNAL, as for tools
            if is_from_outside(error, task):
                raise
            raise masked(error, what="a door's request", request_id=request.request_id) from None

    def fitted(self, error: AgentMailError) -> AgentMailError:
        """See `AsgiParts`."""
        return fitted_error(error, NONE_OF_OURS)

    def is_json(self, request: DoorRequest) -> bool:
        return is_json(request.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a door is made: of settings, services, the calls that it is told and counted with, and `AsgiParts`. `part`
    is the first part of its paths on this server's own port; None where it has ports of its own only.
    """

    is_on: Callable[[Settings], bool]
    make: Callable[[Settings, Services, Calls, ServerParts], DoorApp]
    part: str | None = None


def _make_postal(settings: Settings, services: Services, _calls: Calls, parts: ServerParts) -> DoorApp:
    from mcp_agent_mail.facades.postal.endpoint import make_postal  # noqa: PLC0415  # as above, here and below
    from mcp_agent_mail.facades.postal.options import PostalOptions  # noqa: PLC0415

    of_postal = PostalOptions(max_wait_s=settings.postal_max_wait_seconds, mailbox_max=settings.postal_mailbox_max)
    return make_postal(services.doors, of_postal, parts)


def _make_agentmail(_settings: Settings, services: Services, _calls: Calls, parts: ServerParts) -> DoorApp:
    from mcp_agent_mail.facades.agentmail.door import AgentMailDoor  # noqa: PLC0415

    return AgentMailDoor(services, parts)


def _make_mailbox(settings: Settings, services: Services, calls: Calls, parts: ServerParts) -> DoorApp:
    from mcp_agent_mail.server.mailbox_door import make_mailbox  # noqa: PLC0415

    return make_mailbox(settings, services, calls, parts)


OPENINGS: Mapping[Door, Opening] = MappingProxyType(
    {
        Door.POSTAL: Opening(is_on=lambda settings: settings.postal_enabled, make=_make_postal, part="/agents/"),
        Door.AGENTMAIL: Opening(
            is_on=lambda settings: settings.agentmail_enabled, make=_make_agentmail, part="/agentmail/"
        ),
        Door.CLAUDE_MAILBOX: Opening(is_on=lambda settings: settings.claude_mailbox_enabled, make=_make_mailbox),
    }
)


def open_doors(
    settings: Settings,
    services: Services,
    calls: Calls,
    ports: Mapping[int, Door],
    openings: Mapping[Door, Opening] = OPENINGS,
) -> Doors:
    """The doors that the settings switch on. `ports` are those that are bound for doors of their own."""
    parts = ServerParts(calls, has_fast_path=settings.http_fast_path_enabled)
    apps = {door: one.make(settings, services, calls, parts) for door, one in openings.items() if one.is_on(settings)}
    if not apps:
        return NO_DOORS
    return Doors(
        by_part={part: app for door, app in apps.items() if (part := openings[door].part) is not None},
        by_port={port: apps[door] for port, door in ports.items()},
        apps=apps,
        open_at={door: _places(openings[door], door, settings.facades_host, ports) for door in apps},
    )


def _places(opening: Opening, door: Door, host: str, ports: Mapping[int, Door]) -> tuple[str, ...]:
    own = [f"port {port} of {host}" for port, owner in ports.items() if owner is door]
    return (*([] if opening.part is None else [f"{opening.part} of the server's own port"]), *own)
