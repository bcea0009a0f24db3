"""A session of the SDK's beside which something else answers."""

from __future__ import annotations

import asyncio
import math

import anyio
import pytest
from mcp.server.streamable_http import StreamableHTTPServerTransport

from mcp_agent_mail.server.fast_path.held_session import answers_in_json, held


@pytest.fixture
async def session() -> StreamableHTTPServerTransport:
    """Connected, as far as its idle time goes."""
    made = StreamableHTTPServerTransport("one", is_json_response_enabled=True, idle_timeout=1.5)
    made.idle_scope = anyio.CancelScope()
    return made


async def test_one_that_streams_ends_or_has_ended_is_left_alone(session: StreamableHTTPServerTransport) -> None:
    assert answers_in_json(session)

    session.is_json_response_enabled = False
    assert not answers_in_json(session)

    session.is_json_response_enabled = True
    assert session.idle_scope is not None
    with session.idle_scope:
        session.idle_scope.cancel()
        assert not answers_in_json(session)


async def test_one_that_was_terminated_is_left_alone(session: StreamableHTTPServerTransport) -> None:
    await session.terminate()

    assert not answers_in_json(session)


async def test_its_idle_time_stands_still_and_begins_anew_with_the_last_that_holds_it(
    session: StreamableHTTPServerTransport,
) -> None:
    idle = session.idle_scope
    assert idle is not None
    began_s = asyncio.get_running_loop().time()
    with held(session):
        with held(session):
            pass
        meanwhile = idle.deadline
    assert meanwhile == math.inf
    assert began_s + 1.5 <= idle.deadline <= asyncio.get_running_loop().time() + 1.5


async def test_one_that_never_idles_is_not_touched() -> None:
    session = StreamableHTTPServerTransport("one", is_json_response_enabled=True, idle_timeout=None)

    with held(session):
        assert answers_in_json(session)
