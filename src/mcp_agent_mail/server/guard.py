"""`POST /guard/check` and `POST /guard/events`: what a Git hook asks and reports. Admitted like `/rpc`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.roles import Role, require_role
from mcp_agent_mail.core.tools import Json, call_as
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.guarding.schemas import check_value, read_check, read_events
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.projects.path_resolution import PathResolver
from mcp_agent_mail.server.dispatch import RequestFacts, masked
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.plain_calls import is_json, parse_object, refuse_type, send_error
from mcp_agent_mail.server.rendering.responses import send_json
from mcp_agent_mail.server.transport.limits import read_body

CHECK = "/guard/check"
EVENTS = "/guard/events"


Answering = Callable[[Json], Awaitable[Json]]


class GuardEndpoint:
    """`check` and `record` answer one request each. They raise what `read_body` raises."""

    def __init__(
        self, service: GuardingService, resolver: PathResolver, current_caller: Callable[[], Awaitable[Caller]]
    ) -> None:
        self._service = service
        self._resolver = resolver
        self._current_caller = current_caller

    async def check(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:
        await self._answer(self._check, scope, facts, receive, send)

    async def record(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:
        """What guards have done, kept. It needs a writer, as all that writes."""

        async def record(value: Json) -> Json:
            require_role(facts.credentials.role, Role.WRITER, "What a guard reports")
            return await self._record(value)

        await self._answer(record, scope, facts, receive, send)

    async def _answer(
        self, answering: Answering, scope: Scope, facts: RequestFacts, receive: Receive, send: Send
    ) -> None:
        headers: Headers = dict(scope["headers"])
        if not is_json(headers):
            await refuse_type(send)
        else:
            try:
                value = parse_object(await read_body(receive), hint="docs/reference/http.md shows it.")
                result = await self._run(answering, value, facts)
            except AgentMailError as error:
                await send_error(send, error)
            else:
                await send_json(send, 200, orjson.dumps(result))

    async def _run(self, answering: Answering, value: Json, facts: RequestFacts) -> Json:
        try:
            return await call_as(facts.credentials, answering, {"value": value})
        except AgentMailError:
            raise
        except Exception as error:  # noqa: BLE001  # a bug becomes INTERNAL, as for tools
            raise masked(error, what="the guard's question", request_id=facts.request_id) from None

    async def _check(self, value: Json) -> Json:
        request, caller = read_check(value), await self._current_caller()

        async def check() -> Json:
            return check_value(await self._service.check(caller, request))

        return await self._resolver.run(check)

    async def _record(self, value: Json) -> Json:
        return await self._service.record(await self._current_caller(), read_events(value))
