"""Calls of tools of other packages: who calls is judged first, as by every tool, and what a tool gives is looked at."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from enum import Enum

import orjson

from mcp_agent_mail.bootstrap.custom_tools import CustomTools
from mcp_agent_mail.bootstrap.left_calls import CustomToolUnfinished, LeftCalls, running_tool
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Handler, Json, ToolSpec, current_credentials
from mcp_agent_mail.domain.identity.caller import require_proof
from mcp_agent_mail.extending import ToolCaller
from mcp_agent_mail.features.identity.service import IdentityService

TIME_LIMIT_S = 60.0
"""Of one call, longer than any wait for mail."""
MAX_RESULT_BYTES = 1024 * 1024
"""Of an answer or a refusal."""
_NULL = b"null"


class UnfitResult(Exception):
    """A tool gave what cannot be answered: a bug of the package's, so that the caller is told of none of it."""


def custom_specs(
    custom: CustomTools, identity: IdentityService, *, time_limit_s: float = TIME_LIMIT_S
) -> Iterable[ToolSpec]:
    """The tools as the table runs them. Without a good token nobody calls one under AGENT_AUTH=strict, and a wrong one
    is refused always: the tool itself need not ask.
    """
    custom.host.identify = lambda: _caller(identity)
    return [replace(spec, handler=_judged(spec, identity, custom.left, time_limit_s)) for spec in custom.specs]


async def _caller(identity: IdentityService) -> ToolCaller:
    caller, credentials = await identity.caller(), current_credentials()
    proven = await identity.find_proven(credentials) if caller.agent_name is not None else None
    return ToolCaller(
        agent=credentials.said_agent if proven is None else proven.agent,
        project=credentials.said_project if proven is None else proven.project,
        is_verified=proven is not None,
        is_operator=caller.is_operator,
        is_remote=caller.is_remote,
    )


def _judged(spec: ToolSpec, identity: IdentityService, left: LeftCalls, time_limit_s: float) -> Handler:
    """In a task of its own: whoever waits for it can leave, also where the tool will not be cancelled."""

    async def run(**arguments: object) -> Json:
        require_proof(await identity.caller(), f"Calling {spec.name}")
        left.require_room(spec.name)
        call = asyncio.create_task(_outcome(spec, arguments), name=f"custom tool {spec.name}")
        try:
            is_heard = await _ended_or_left(call, time_limit_s)
        finally:
            if not (is_done := call.done()):
                left.leave(call, spec.name)
        if not is_done:
            why = f"took more than {time_limit_s:g} s and" if is_heard else "lost its caller, who has hung up, and"
            raise CustomToolUnfinished(
                f"{spec.name} {why} was told to stop.",
                hint="What it did until then may stand, and it may still be at work. Ask whoever wrote it.",
            )
        return _given(spec, call)

    return run


async def _ended_or_left(call: asyncio.Task[Json], time_limit_s: float) -> bool:
    """Wait until the call ends, its time is over, or its caller has left. Whether the caller is still there."""
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell() -> None:
        if not gone.done():
            gone.set_result(None)

    with current_hearing().watched(tell):
        await asyncio.wait({call, gone}, timeout=time_limit_s, return_when=asyncio.FIRST_COMPLETED)
    return not gone.done()


def _given(spec: ToolSpec, call: asyncio.Task[Json]) -> Json:
    """The result of a call that has ended. Nobody has told it to, so that whatever ended it came of the tool."""
    try:
        return _plain(spec, call.result())
    except AgentMailError as refused:
        _require_words(refused)
        raise
    except Exception:
        raise
    except BaseException as ended:
        raise UnfitResult(f"{spec.name} ended by {type(ended).__name__}") from ended


async def _outcome(spec: ToolSpec, arguments: dict[str, object]) -> Json:
    try:
        with running_tool(spec.name):
            return await spec.handler(**arguments)
    except (SystemExit, KeyboardInterrupt) as ended:
        # The only ones that a task hands on to the event loop, which would end with the server.
        raise UnfitResult(f"{spec.name} ended by {type(ended).__name__}") from ended


def _plain(spec: ToolSpec, result: Json) -> Json:
    """The result as plain JSON values. Raises UnfitResult for what is none, or has another form than was declared."""
    plain = orjson.loads(_written(result))
    if not isinstance(plain, list if spec.result_list else dict):
        raise UnfitResult(f"{spec.name} gave no {'array' if spec.result_list else 'object'}")
    return plain


def _require_words(refused: AgentMailError) -> None:
    """Raises UnfitResult for a refusal that is none: its fact or its next step is no text, its data no JSON."""
    said: tuple[object, ...] = (refused.message, refused.hint)
    if not all(isinstance(one, str) for one in said):
        raise UnfitResult("what it refused with is no text") from refused
    _written(refused.to_wire())


def _written(value: Json) -> bytes:
    try:
        written = orjson.dumps(value)
    except (TypeError, RecursionError) as unfit:
        raise UnfitResult("what it gave is no JSON") from unfit
    if len(written) > MAX_RESULT_BYTES:
        raise UnfitResult(f"what it gave is more than {MAX_RESULT_BYTES} bytes")
    if _NULL in written and _has_no_number(value):
        raise UnfitResult("what it gave has a number that JSON cannot write")
    return written


def _has_no_number(value: Json) -> bool:
    """Whether a float in it is infinite or none: what writes JSON makes null of those, without a word."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, float):
            if not math.isfinite(one):
                return True
        elif isinstance(one, dict):
            rest += one.values()
        elif isinstance(one, list | tuple):
            rest += one
        elif isinstance(one, Enum):
            rest.append(one.value)
        elif is_dataclass(one):
            rest += [getattr(one, field.name) for field in fields(one)]
    return False
