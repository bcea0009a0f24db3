"""Who may speak HTTP with this server at all: Host, Origin and the server's bearer token.

Below the tools: a refusal here is `{"detail": ...}` with 401 or 403, before anything is parsed.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from mcp_agent_mail.server.identity import Headers, bearer_token

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """`bearer_is_servers`: the Authorization header held the server's token, so it proves no agent."""

    bearer_is_servers: bool


_OPEN = Admitted(bearer_is_servers=False)
_WITH_TOKEN = Admitted(bearer_is_servers=True)


def host_name(authority: str) -> str:
    """The host of `host:port`, lower case, without brackets; empty when it is none."""
    text = authority.strip().lower().rstrip(".")
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name, colon, port = text.rpartition(":")
    return name.rstrip(".") if colon and port.isdigit() and ":" not in name else text


def _origin_host(origin: str) -> str:
    scheme, separator, authority = origin.partition("://")
    return host_name(authority) if separator and scheme in ("http", "https") else ""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """Decides on every request from its headers and its peer.

    Loopback names are always good `Host` values: a rebinding page arrives under its own name.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str],
        server_token: str | None,
        operator_token: str | None,
        trust_loopback: bool,
    ) -> None:
        self._hosts = {host_name(host) for host in (*LOOPBACK_HOSTS, *allowed_hosts)}
        self._server_token = server_token.encode() if server_token else None
        self._operator_token = operator_token.encode() if operator_token else None
        self._trust_loopback = trust_loopback

    def check_source(self, headers: Headers) -> Refusal | None:
        """Host and Origin must name this server: else a web page could reach it through a browser."""
        host = host_name(headers.get(b"host", b"").decode("latin-1"))
        if host not in self._hosts:
            return Refusal(403, f"Host {host!r:.200} is not served here. HTTP_ALLOWED_HOSTS lists what is.")
        origin = headers.get(b"origin")
        if origin is not None and _origin_host(origin.decode("latin-1")) not in self._hosts:
            return Refusal(403, "Requests from this Origin are not accepted. HTTP_ALLOWED_HOSTS lists what is.")
        return None

    def check_token(self, headers: Headers, peer: str | None, *, operator_may: bool) -> Admitted | Refusal:
        """The server's token, when one is set. `operator_may`: the operator's token opens this path too."""
        if self._server_token is None:
            return _OPEN
        given = bearer_token(headers)
        if given is not None:
            sent = given.encode("latin-1")
            if hmac.compare_digest(sent, self._server_token):
                return _WITH_TOKEN
            if operator_may and self._operator_token and hmac.compare_digest(sent, self._operator_token):
                return _OPEN
        if self._trust_loopback and peer is not None and is_loopback(peer) and not _is_forwarded(headers):
            return _OPEN
        if given is None:
            return Refusal(401, "This server needs its token: send Authorization: Bearer <HTTP_BEARER_TOKEN>.")
        return Refusal(401, "The bearer token is not this server's. An agent's own token belongs in X-Agent-Token.")


def _is_forwarded(headers: Headers) -> bool:
    """A proxy on this machine speaks for someone else, who is not local by that."""
    return b"x-forwarded-for" in headers or b"forwarded" in headers
