"""What `/rpc`, `/rest/v1` and the guard's routes share: only JSON comes in, and a call is answered without an envelope.

A refusal is `{"error": {...}}` with a fitting HTTP status. The content type must be JSON: a form of a foreign web
page cannot send that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import orjson
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, RateLimited
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json, JsonObject
from mcp_agent_mail.server.dispatch import free
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.formats import Output, OutputFormat, take_argument
from mcp_agent_mail.server.rendering.responses import send_detail, send_json, send_text, send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status, retry_headers, written
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.limits import read_body

_JSON = b"application/json"
NO_JSON_TYPE = "Send Content-Type: application/json."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall:
    """One call. `parse` makes its arguments of the request's body, `run` its plain result of those; what either raises
    as AgentMailError is the answer. `title` stands above a result in Markdown.
    """

    title: str
    parse: Callable[[bytes], Mapping[str, Json]]
    run: Callable[[Mapping[str, Json]], Awaitable[Json]]
    output: Output
    charge: Callable[[RateClass], None] = free
    """Counts what is no call, since its arguments could not be read: `run` counts the others."""


def is_json(headers: Headers) -> bool:
    """Whether the request says that its body is JSON."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == _JSON


async def refuse_type(send: Send) -> None:
    """Answer a request whose body is not said to be JSON."""
    await send_detail(send, 415, NO_JSON_TYPE)


def parse_object(body: bytes, hint: str = "Send the tool's arguments as one object.") -> JsonObject:
    """The JSON object that a body is; nothing is an empty one. Raises InvalidInput, with `hint` for other JSON."""
    if not body.strip():
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as broken:
        raise InvalidInput(f"The body is no JSON: {broken}.", hint="Send one JSON object in UTF-8.") from broken
    if not isinstance(value, dict):
        raise InvalidInput("The body must be a JSON object.", hint=hint)
    return value


async def answer_call(call: PlainCall, scope: Scope, receive: Receive, send: Send, *, is_shown: bool = True) -> None:
    """Run the call and answer it, with whoever sent it being watched. Raises what `read_body` raises.

    `is_shown`: the answer is written with its result; otherwise nobody has heard what it says.
    """
    hearing = RequestHearing(receive, send, scope)
    try:
        with heard_by(hearing):
            await _answer(call, receive, hearing.send if is_shown else send)
    finally:
        hearing.close()


def _understood(call: PlainCall, body: bytes) -> tuple[Mapping[str, Json], Output]:
    try:
        return take_argument(call.parse(body), call.output)
    except AgentMailError:
        call.charge(RateClass.OTHERS)
        raise


async def _answer(call: PlainCall, receive: Receive, send: Send) -> None:
    try:
        # The body is in nobody's hands once it is parsed: the call may wait for long.
        arguments, output = _understood(call, await read_body(receive))
        result = await call.run(arguments)
    except AgentMailError as error:
        await send_error(send, error)
    else:
        if output.format is OutputFormat.JSON:
            await send_json(send, 200, orjson.dumps(result))
        else:
            media_type, text = written(call.title, result, output)
            await send_text(send, 200, media_type, text)


async def send_error(send: Send, error: AgentMailError) -> None:
    """Where the same call can succeed later, programs that know no more than HTTP are told when."""
    value = error_object(error)
    if isinstance(error, RateLimited):
        value |= {"detail": error.text, "retry_after_s": error.data["retry_after_s"]}
    await send_value(send, http_status(error), value, *retry_headers(error))
