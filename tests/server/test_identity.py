"""What a request says of who calls: tokens by header, project and name in the URL or by header."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.server.edge.admitted import Admitted
from mcp_agent_mail.server.identity import Headers, read_credentials, read_query

ANYBODY = Admitted(payer="address 127.0.0.1")


def said(query: bytes = b"", headers: Headers | None = None) -> tuple[str | None, str | None]:
    read = read_credentials(headers or {}, read_query(query), via="mcp", admitted=ANYBODY)
    return read.said_project, read.said_agent


def test_the_url_says_project_and_agent_percent_encoded() -> None:
    assert said(b"profile=core&project=%2Fcode%2Fmy%20app&agent=BlueLake") == ("/code/my app", "BlueLake")


def test_a_path_may_stand_in_the_url_as_it_is() -> None:
    assert said(b"project=/code/c++/app") == ("/code/c++/app", None)


def test_headers_say_them_too_and_the_url_wins() -> None:
    headers = {b"x-agent-project": "/code/für".encode(), b"x-agent-name": b" RedStone "}

    assert said(headers=headers) == ("/code/für", "RedStone")
    assert said(b"project=/lib&agent=BlueLake", headers) == ("/lib", "BlueLake")


def test_a_header_that_is_no_utf_8_is_read_as_http_has_it() -> None:
    assert said(headers={b"x-agent-project": "/code/für".encode("latin-1")}) == ("/code/für", None)


@pytest.mark.parametrize("unset", [b"", b"%20", b"$AGENT_NAME", b"${AGENT_NAME}", b"$%7Benv:AGENT_NAME%7D"])
def test_a_blank_or_a_variable_that_the_client_did_not_fill_in_says_nothing(unset: bytes) -> None:
    assert said(b"agent=" + unset + b"&project=" + unset) == (None, None)
    assert said(b"agent=" + unset, {b"x-agent-name": b"RedStone"}) == (None, "RedStone")


def test_of_a_repeated_key_the_last_counts() -> None:
    assert read_query(b"agent=A&agent=B") == {"agent": "B"}


def test_tokens_come_by_header_and_the_servers_own_names_no_agent() -> None:
    headers = {b"authorization": b"Bearer secret", b"x-agent-token": b" amt_1 ", b"x-agent-window": b"w"}

    assert read_credentials(headers, via="rpc", admitted=ANYBODY, origin="here:1") == Credentials(
        via="rpc", bearer_token="secret", agent_token="amt_1", window_id="w", origin="here:1"
    )
    opened = Admitted(
        payer="issued 1", role=Role.READER, bearer_is_spent=True, issued_to=AgentId(7), claimed_agents=("A@b",)
    )
    assert read_credentials(headers, via="mcp", admitted=opened) == Credentials(
        via="mcp", agent_token="amt_1", window_id="w", role=Role.READER, issued_to=AgentId(7), claimed_agents=("A@b",)
    )
