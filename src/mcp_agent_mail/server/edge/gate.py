"""Who may speak HTTP with this server at all: Host and Origin.

Below the tools: a refusal here is `{"detail": ...}` with 400 or 403, before anything is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from ipaddress import IPv6Address

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.settings.addresses import is_loopback
from mcp_agent_mail.server.edge.admitted import HttpRefusal
from mcp_agent_mail.server.edge.bearers import Bearers
from mcp_agent_mail.server.edge.browsers import NO_ORIGINS, Origins
from mcp_agent_mail.server.identity import Headers

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


_AUTHORITY = lazy_pattern(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*[a-z0-9_-])\.?)(?::([0-9]{1,5}))?", re.IGNORECASE)
"""`host[:port]` as a browser writes it: no user, no zone, nothing behind the bracket. A closing dot changes no name."""

_LAST_PORT = 65_535


def host_name(authority: str) -> str | None:
    """The host of `host[:port]`, lower case, without brackets; None for anything else."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None or int(found[3] or 0) > _LAST_PORT:
        return None
    return _address(found[1]) if found[1] else found[2].lower()


def _address(text: str) -> str | None:
    """An IPv6 address in its one short form."""
    try:
        return str(IPv6Address(text))
    except ValueError:
        return None


def _origin_host(origin: str) -> str | None:
    scheme, separator, authority = origin.partition("://")
    return host_name(authority) if separator and scheme in ("http", "https") else None


class Gate:
    """Whether a request names this server, and comes from a page that may ask. Whose it is, `bearers` judges.

    Loopback names are always good `Host` values: a rebinding page arrives under its own name.
    """

    def __init__(self, *, allowed_hosts: Iterable[str], bearers: Bearers, origins: Origins = NO_ORIGINS) -> None:
        self._hosts = frozenset(_configured(host) for host in (*LOOPBACK_HOSTS, *allowed_hosts))
        self.bearers = bearers
        self.origins = origins

    def check_source(
        self, given: Collection[tuple[bytes, bytes]], headers: Headers, *, has_cors: bool = False
    ) -> HttpRefusal | None:
        """Host and Origin must name this server: else a web page could reach it through a browser. `has_cors`: pages
        that are granted it may, too.

        `given` are the headers as they came, `headers` the last of each name: of two, another reader would take the
        first.
        """
        if len(given) > len(headers) and (twice := _repeated(given)):
            return HttpRefusal(status=400, detail=f"{twice} is there more than once.")
        asked = headers.get(b"host", b"").decode("latin-1")
        host = host_name(asked) if asked else ""
        if host is None:
            return HttpRefusal(status=400, detail=f"Host {asked!r:.200} is no host name.")
        if host not in self._hosts:
            return HttpRefusal(
                status=403, detail=f"Host {host!r:.200} is not served here. HTTP_ALLOWED_HOSTS lists what is."
            )
        origin = headers.get(b"origin")
        if origin is None or (has_cors and self.origins.grants(origin)):
            return None
        if _origin_host(origin.decode("latin-1")) not in self._hosts:
            return HttpRefusal(
                status=403, detail="Requests from this Origin are not accepted. HTTP_ALLOWED_HOSTS lists what is."
            )
        return None


_ONCE = {
    b"host": "Host",
    b"origin": "Origin",
    b"authorization": "Authorization",
    b"x-agent-token": "X-Agent-Token",
    b"x-agent-window": "X-Agent-Window",
    b"x-agent-project": "X-Agent-Project",
    b"x-agent-name": "X-Agent-Name",
    b"x-mailbox": "X-Mailbox",
    b"content-type": "Content-Type",
    b"mcp-protocol-version": "MCP-Protocol-Version",
    b"mcp-session-id": "Mcp-Session-Id",
    b"last-event-id": "Last-Event-ID",
}
"""What decides who may come in, as whom, and what is kept for it: of two, the SDK reads the first and we the last."""


def _repeated(given: Collection[tuple[bytes, bytes]]) -> str | None:
    names = [name for name, _ in given]
    return next((shown for name, shown in _ONCE.items() if names.count(name) > 1), None)


def _configured(host: str) -> str:
    """A host as settings name it: an IPv6 address may stand without brackets. What is none is the name of nobody."""
    return _address(host) or host_name(host) or host.lower()


_FORWARDED = frozenset(
    (b"forwarded", b"forwarded-for", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip", b"cf-connecting-ip")
)
_FORWARDED_BEGIN = b"x-forwarded-"


def is_from_elsewhere(headers: Headers, peer: str | None) -> bool:
    """Whether a request comes from another machine, or may. A proxy on this one speaks for someone else, who is not
    local by that.
    """
    if peer is None or not is_loopback(peer) or not _FORWARDED.isdisjoint(headers):
        return True
    # A loop: a generator costs as much as all the rest.
    for name in headers:  # noqa: SIM110
        if name.startswith(_FORWARDED_BEGIN):
            return True
    return False
