"""Who is calling, as far as headers and URL say: read here once per request, judged by `features/identity`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal
from urllib.parse import parse_qsl

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.core.unfilled_text import said
from mcp_agent_mail.server.edge.admitted import Admitted

Headers = Mapping[bytes, bytes]
"""The headers of a request, names in lower case; of a repeated one the last."""

_NO_QUERY: Mapping[str, str] = MappingProxyType({})


def bearer_token(headers: Headers) -> str | None:
    """The token of `Authorization: Bearer …`, or None for no or another scheme."""
    value = headers.get(b"authorization")
    if value is None:
        return None
    scheme, _, token = value.partition(b" ")
    return token.strip().decode("latin-1") or None if scheme.lower() == b"bearer" else None


def read_query(query_string: bytes) -> dict[str, str]:
    """The keys of a URL's query, decoded; of a repeated one the last.

    A plus stays a plus: configurations put paths in as they are, and `c++` is a folder.
    """
    return dict(parse_qsl(query_string.decode("latin-1").replace("+", "%2B")))


def read_credentials(
    headers: Headers,
    query: Mapping[str, str] = _NO_QUERY,
    *,
    via: Literal["mcp", "rpc"],
    admitted: Admitted,
    origin: str | None = None,
    is_remote: bool = False,
    session: object | None = None,
    forgotten_session: object | None = None,
) -> Credentials:
    """`admitted` says as what the request was let in, and of whose token. `is_remote`: whoever calls is on another
    machine. `session` is the live MCP session that the request names, `forgotten_session`
    one that it names and nobody knows.

    Who the connection says it is stands in the URL, else in headers.
    """
    return Credentials(
        via=via,
        bearer_token=None if admitted.bearer_is_spent else bearer_token(headers),
        agent_token=_text(headers, b"x-agent-token"),
        window_id=_text(headers, b"x-agent-window"),
        said_project=said(query.get("project", "")) or said(_unicode(headers, b"x-agent-project")),
        said_agent=said(query.get("agent", "")) or said(_unicode(headers, b"x-agent-name")),
        role=admitted.role,
        is_operators_own=admitted.is_operators_own,
        issued_to=admitted.issued_to,
        claimed_agents=admitted.claimed_agents,
        origin=origin,
        is_remote=is_remote,
        session=session,
        forgotten_session=forgotten_session,
    )


def _text(headers: Headers, name: bytes) -> str | None:
    return headers.get(name, b"").strip().decode("latin-1") or None


def _unicode(headers: Headers, name: bytes) -> str:
    """Paths may have any letters: UTF-8, and what is none as HTTP has it."""
    value = headers.get(name, b"")
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
