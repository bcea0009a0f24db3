"""Who is calling, as far as headers say: read here once per request, judged by `features/identity`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from mcp_agent_mail.core.tools import Credentials

Headers = Mapping[bytes, bytes]
"""The headers of a request, names in lower case; of a repeated one the last."""


def bearer_token(headers: Headers) -> str | None:
    """The token of `Authorization: Bearer …`, or None for no or another scheme."""
    value = headers.get(b"authorization")
    if value is None:
        return None
    scheme, _, token = value.partition(b" ")
    return token.strip().decode("latin-1") or None if scheme.lower() == b"bearer" else None


def read_credentials(
    headers: Headers, *, via: Literal["mcp", "rpc"], bearer_is_servers: bool, origin: str | None = None
) -> Credentials:
    """`bearer_is_servers`: the Authorization header held the server's own token, so it names no agent."""
    return Credentials(
        via=via,
        bearer_token=None if bearer_is_servers else bearer_token(headers),
        agent_token=_text(headers, b"x-agent-token"),
        window_id=_text(headers, b"x-agent-window"),
        origin=origin,
    )


def _text(headers: Headers, name: bytes) -> str | None:
    return headers.get(name, b"").strip().decode("latin-1") or None
