"""Calls of tools of other packages: who calls is judged first, as by every tool, and what a tool gives is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import orjson

from mcp_agent_mail.bootstrap.custom_tools import CustomTools
from mcp_agent_mail.bootstrap.left_calls import CustomToolUnfinished, LeftCalls, running_tool
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Handler, Json, ToolSpec, current_credentials
from mcp_agent_mail.domain.identity.caller import require_proof
from mcp_agent_mail.extending import ToolCaller
from mcp_agent_mail.features.identity.service import IdentityService

TIME_LIMIT_S = 60.0
"""Of one call, longer than any wait for mail."""
MAX_RESULT_BYTES = 1024 * 1024


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
            await asyncio.wait({call}, timeout=time_limit_s)
        finally:
            if not (is_done := call.done()):
                left.leave(call, spec.name)
        if not is_done:
            raise CustomToolUnfinished(
                f"{spec.name} took more than {time_limit_s:g} s and was told to stop.",
                hint="What it did until then may stand, and it may still be at work. Ask whoever wrote it.",
            )
        try:
            return _plain(spec, call.result())
        except AgentMailError as refused:
            _written(refused.to_wire())
            raise

    return run


async def _outcome(spec: ToolSpec, arguments: dict[str, object]) -> Json:
    try:
        with running_tool(spec.name):
            return await spec.handler(**arguments)
    except (Exception, GeneratorExit):
        raise
    except BaseException as ended:
        # Let through it would end the server, or the answer alone. Who calls may have left, though.
        if isinstance(ended, asyncio.CancelledError) and _is_cancelled():
            raise
        raise UnfitResult(f"{spec.name} ended by {type(ended).__name__}") from ended


def _is_cancelled() -> bool:
    """Whether the running call itself is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _plain(spec: ToolSpec, result: Json) -> Json:
    """The result as plain JSON values. Raises UnfitResult for what is none, or has another form than was declared."""
    written = _written(result)
    if len(written) > MAX_RESULT_BYTES:
        raise UnfitResult(f"{spec.name} gave more than {MAX_RESULT_BYTES} bytes")
    plain = orjson.loads(written)
    if not isinstance(plain, list if spec.result_list else dict):
        raise UnfitResult(f"{spec.name} gave no {'array' if spec.result_list else 'object'}")
    return plain


def _written(value: Json) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, RecursionError) as unfit:
        raise UnfitResult("what it gave is no JSON") from unfit
