"""Where this door is: a path for every agent. What comes there is MCP, or one call as plain JSON."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from urllib.parse import unquote_to_bytes

import orjson

from mcp_agent_mail.core.errors import AgentMailError, Internal, InvalidInput, Unavailable
from mcp_agent_mail.core.tools import Json, JsonObject, UnknownTool
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName, require_wire_name
from mcp_agent_mail.facades.asgi import AsgiParts, DoorRequest, PlainAnswer, Receive, Send
from mcp_agent_mail.facades.postal.answers import show_error, show_result
from mcp_agent_mail.facades.postal.options import PostalOptions
from mcp_agent_mail.facades.postal.tools import ALIASES, postal_tools
from mcp_agent_mail.facades.tool_door import DoorTools, DoorToolTable
from mcp_agent_mail.features.doors.service import DoorService

SERVER_NAME = "generic"
"""As that system's server calls itself."""

_PARSE_ERROR = -32700
_FORM = 'Send {"tool": "send_to_agent" | "check_mail", "args": {…}}.'
_NOT_FOUND = {"detail": "Nothing is served there. A mailbox is at /agents/<name>/mcp."}
_NO_JSON = {"detail": "Send Content-Type: application/json."}


def make_postal(doors: DoorService, options: PostalOptions, parts: AsgiParts) -> PostalDoor:
    """The door, over services that are open."""
    over_mcp = DoorTools(
        server_name=SERVER_NAME,
        tools=postal_tools(doors, options, wait_s=options.max_wait_s),
        aliases=ALIASES,
        show_result=show_result,
        show_error=show_error,
    )
    return PostalDoor(over_mcp, DoorToolTable(postal_tools(doors, options, wait_s=0)), parts)


class PostalDoor:
    """`plain` are the tools of the plain form, which never waits."""

    open_paths: frozenset[str] = frozenset()

    def __init__(self, over_mcp: DoorTools, plain: DoorToolTable, parts: AsgiParts) -> None:
        self._mcp = parts.mcp(over_mcp)
        self._plain = plain
        self._parts = parts

    def speaks_mcp(self, path: str) -> bool:
        return _segment_in(path.encode("utf-8", "surrogatepass")) is not None

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Requests are answered between entry and exit."""
        return self._mcp.opened()

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """Answer one request as that of the agent whose path it came by, whatever its session was opened as."""
        segment = _segment_of(request)
        if segment is None:
            await self._refuse(request, receive, send, PlainAnswer(status=404, value=_NOT_FOUND))
            return
        try:
            request = request.named(_name_in(segment))
        except UnfitWireName as unfit:
            await self._refuse(request, receive, send, PlainAnswer(status=400, value={"error": unfit.to_wire()}))
            return
        if request.method != "POST":
            await self._mcp.answer(request, receive, send)
        elif not self._parts.is_json(request):
            await self._refuse(request, receive, send, PlainAnswer(status=415, value=_NO_JSON))
        else:
            await self._answer_post(request, receive, send)

    async def _answer_post(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        body, receive = await self._parts.read(receive)
        try:
            call = find_plain_call(body)
        except orjson.JSONDecodeError as broken:
            error = {"code": _PARSE_ERROR, "message": f"Parse error: {broken}. {_FORM}"}
            refusal = PlainAnswer(status=400, value={"jsonrpc": "2.0", "id": None, "error": error})
            await self._refuse(request, receive, send, refusal)
            return
        if call is None:
            await self._mcp.answer(request, receive, send)
            return

        async def work(_body: bytes) -> PlainAnswer:
            return await self._run(request, call)

        await self._parts.answer_plain(request, receive, send, work)

    async def _run(self, request: DoorRequest, call: Json) -> PlainAnswer:
        """The tool's bare result. What is refused is 400, as there; what this server cannot do just now is its own."""
        try:
            tool, arguments = _asked(call)
            return PlainAnswer(value=await self._plain.run(ALIASES.get(tool, tool), arguments, request.credentials))
        except (Unavailable, Internal):
            raise
        except AgentMailError as error:
            status = 404 if isinstance(error, UnknownTool) else 400
            return PlainAnswer(status=status, value={"error": self._parts.fitted(error).to_wire()})

    async def _refuse(self, request: DoorRequest, receive: Receive, send: Send, refusal: PlainAnswer) -> None:
        async def work(_body: bytes) -> PlainAnswer:
            return refusal

        await self._parts.answer_plain(request, receive, send, work)


def find_plain_call(body: bytes) -> Json | None:
    """What is to be read as a call in the plain form: it has no `jsonrpc`. None for what may be MCP's, which is read by
    who answers it: a batch too. Raises JSONDecodeError for what is no JSON at all.
    """
    if b'"jsonrpc"' in body and b'"tool"' not in body and body.lstrip().startswith(b"{"):
        return None
    value = orjson.loads(body)
    messages = value if isinstance(value, list) else [value]
    if any(isinstance(one, dict) and "jsonrpc" in one for one in messages):
        return None
    return {} if value is None else value  # `null` names no tool either.


def _asked(call: Json) -> tuple[str, JsonObject]:
    """Raises InvalidInput for what is no call."""
    if not isinstance(call, dict) or "tool" not in call:
        raise InvalidInput("The body names no tool.", hint=_FORM)
    tool, arguments = call["tool"], call.get("args")
    if not isinstance(tool, str):
        raise InvalidInput("tool must be the name of a tool.", hint=_FORM)
    if arguments is not None and not isinstance(arguments, dict):
        raise InvalidInput("args must be an object.", hint=_FORM)
    return tool, arguments or {}


def _segment_of(request: DoorRequest) -> bytes | None:
    """The part of the path that names the agent, as it was written: what it hides behind `%2F` is no other path."""
    raw: bytes = request.scope.get("raw_path") or request.path.encode()
    return _segment_in(raw.partition(b"?")[0])


def _segment_in(path: bytes) -> bytes | None:
    parts = path.split(b"/")
    if parts[-1:] == [b""]:
        parts.pop()
    is_ours = len(parts) == 4 and parts[:2] == [b"", b"agents"] and parts[3] == b"mcp"
    return parts[2] if is_ours else None


def _name_in(segment: bytes) -> str:
    """Raises UnfitWireName, for what is no UTF-8 too."""
    return require_wire_name(Door.POSTAL, unquote_to_bytes(segment).decode("utf-8", "surrogateescape"))
