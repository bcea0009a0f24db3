"""What a failed read of a resource is called over JSON-RPC."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import AgentMailError, Internal, InvalidInput, NotFound, Unavailable
from mcp_agent_mail.server.rendering.wire import resource_error_code


@pytest.mark.parametrize(
    ("error", "handshake", "modern"),
    [
        (Internal("a bug"), -32603, -32603),
        (Unavailable("stopping"), -32603, -32603),
        (NotFound("nobody"), -32002, -32602),
        (InvalidInput("no"), -32602, -32602),
    ],
)
def test_the_code_tells_a_fault_of_the_server_from_one_of_the_question(
    error: AgentMailError, handshake: int, modern: int
) -> None:
    assert resource_error_code(error, is_modern=False) == handshake
    assert resource_error_code(error, is_modern=True) == modern
