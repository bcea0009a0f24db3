"""Sessions that the server does not know any more: one object each, bounded, for ids as servers give them out."""

from __future__ import annotations

import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.mcp import create_mcp
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.sessions.forgotten_sessions import ForgottenSessions
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions
from tests.server.hosted import VERSION, always_ready, hosted, toy_edge, toy_tools
from tests.server.test_mcp import HANDSHAKE, MODERN


def _id(number: int) -> bytes:
    return b"%032x" % number


def test_an_id_names_one_object_and_another_id_another_one() -> None:
    sessions = ForgottenSessions(most=10)

    first, second = sessions.find(_id(1)), sessions.find(_id(2))

    assert first is not None
    assert first is not second
    assert sessions.find(_id(1)) is first


def test_those_that_were_named_last_are_kept() -> None:
    sessions = ForgottenSessions(most=2)
    first, second = sessions.find(_id(1)), sessions.find(_id(2))
    sessions.find(_id(1))

    sessions.find(_id(3))

    assert sessions.find(_id(1)) is first
    assert sessions.find(_id(2)) is not second


@pytest.mark.parametrize("word", [b"", b"null", b"undefined", _id(1).upper()[:-1] + b"F", _id(1)[1:], _id(1) + b"\n"])
def test_a_word_that_no_server_gives_out_names_nobody(word: bytes) -> None:
    sessions = ForgottenSessions(most=10)

    assert sessions.find(word) is None


async def test_only_calls_that_no_session_of_ours_serves_name_a_forgotten_one() -> None:
    calls = Calls(ToolTable(toy_tools()), ResourceTable([]))
    endpoint = McpEndpoint(create_mcp(calls, version=VERSION), max_sessions=2)
    app = HttpApp(endpoint, calls, toy_edge(), HttpOptions(), is_ready=always_ready)
    async with hosted(app):
        forgotten = {b"mcp-session-id": b"0" * 32, b"mcp-protocol-version": HANDSHAKE.encode()}
        modern = {**forgotten, b"mcp-protocol-version": MODERN.encode()}
        endpoint._open.end(b"1" * 32)

        named = [
            endpoint.forgotten_session("POST", forgotten),
            endpoint.forgotten_session("OPTIONS", forgotten),
            endpoint.forgotten_session("POST", modern),
            endpoint.forgotten_session("POST", {**forgotten, b"mcp-session-id": b"1" * 32}),
            endpoint.forgotten_session("POST", {}),
        ]

    assert [one is not None for one in named] == [True, False, False, False, False]


async def test_calls_in_a_session_take_no_place_of_forgotten_ones() -> None:
    calls = Calls(ToolTable(toy_tools()), ResourceTable([]))
    endpoint = McpEndpoint(create_mcp(calls, version=VERSION), max_sessions=1)
    app = HttpApp(endpoint, calls, toy_edge(), HttpOptions(), is_ready=always_ready)
    forgotten = {b"mcp-session-id": b"0" * 32}
    async with (
        hosted(app) as url,
        streamable_http_client(f"{url}/mcp", terminate_on_close=False) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        before = endpoint.forgotten_session("POST", forgotten)
        await session.initialize()
        await session.call_tool("count", {"limit": 1})

        assert endpoint.forgotten_session("POST", forgotten) is before
