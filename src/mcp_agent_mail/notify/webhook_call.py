"""One call of a webhook: signed, over a connection to the very address that was judged, and never redirected.

Names are looked up for each call, on threads that may hang. Whoever owns a name chooses where it leads: so it is the
address that is judged, after the look-up, and nothing looks the name up again. (docs/adr/0159)
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from urllib.parse import urlsplit

from mcp_agent_mail import __version__
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.kinds import Secret

CALL_WITHIN_S = 10.0
CONNECT_WITHIN_S = 4.0
ANSWER_WITHIN_S = 0.5
"""What the rest of an answer gets to come: a receiver that is cut off while it writes logs an error."""
MOST_ADDRESSES = 4
"""Of one name: what two tries to connect leave of a call's time is too short for more."""
MAX_LINE = 8_192
MAX_REST = 65_536

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NOBODYS = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "fec0::/10", "3fff::/20", "64:ff9b:1::/48", "192.88.99.0/24", "168.63.129.16/32"),
    )
)
"""What Python calls global, or did in an earlier version, and is not: the protocols' own, site-local, documentation,
translation within a site, relays of 6to4, and the address at which Azure's machines reach their host.
"""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The upper half of an interface's identifier whose lower half is an IPv4 address."""

_Found = tuple[int, tuple[object, ...]]
"""A family and an address as sockets take it."""


class WebhookFailed(Unavailable):
    """The call was not answered with success. Its message names no host: everybody may read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPlace:
    """Where a URL leads: `path` with its query, out of `repr` since it may be a secret; `host` without brackets."""

    is_secure: bool
    host: str
    port: int
    path: str = field(repr=False)
    shown_host: str
    """For the header, as the URL has it: with brackets, and with a port where the URL names one."""


def place_of(url: str) -> WebhookPlace:
    """Of a URL as the settings accept it."""
    parts = urlsplit(url)
    host = parts.hostname
    assert host is not None, "the settings see to it"
    is_secure = parts.scheme.lower() == "https"
    return WebhookPlace(
        is_secure=is_secure,
        host=host,
        port=parts.port or (443 if is_secure else 80),
        path=f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}",
        shown_host=parts.netloc.lower(),
    )


def signature(secret: Secret, body: bytes, at_s: int) -> str:
    """The header's value. `t` is signed too, so that a receiver may refuse what is old."""
    signed = hmac.new(secret.reveal().encode(), b"%d.%b" % (at_s, body), hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


def is_public(address: str) -> bool:
    """Whether it is anybody's on the internet. One that carries another inside is judged by that."""
    judged = ipaddress.ip_address(address)
    if isinstance(judged, ipaddress.IPv6Address):
        inner = judged.ipv4_mapped or judged.sixtofour or _behind_nat64(judged)
        if inner is not None:
            return is_public(str(inner))
        if int(judged) >> 32 & 0xFFFF_FFFF in _ISATAP and not is_public(str(_last_four(judged))):
            return False
    if any(judged in network for network in _NOBODYS):
        return False
    return judged.is_global and not (judged.is_multicast or judged.is_reserved)


def _behind_nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return _last_four(address) if address in _NAT64 else None


def _last_four(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)


class WebhookCaller:
    """For use on one event loop; `close()` when nothing is called any more."""

    def __init__(self, secret: Secret, *, allows_private: bool, tls: ssl.SSLContext | None = None) -> None:
        self._secret = secret
        self._allows_private = allows_private
        self._tls = tls
        self._looks = Looks(threads=4, subject="a webhook's host")

    def close(self) -> None:
        self._looks.close()

    async def call(self, place: WebhookPlace, body: bytes, at_s: int) -> None:
        """POST `body`, signed at `at_s`, and return when the answer says success. Raises WebhookFailed."""
        try:
            async with asyncio.timeout(CALL_WITHIN_S):
                status = await self._status_of(place, self._request(place, body, at_s))
        except TimeoutError:
            raise WebhookFailed(f"it did not answer within {CALL_WITHIN_S:g} s") from None
        except ssl.SSLError as failed:
            raise WebhookFailed(f"its certificate or its TLS is not accepted ({failed.reason})") from failed
        except (OSError, EOFError, ValueError) as failed:  # ValueError: a line without an end.
            raise WebhookFailed(f"the connection failed ({type(failed).__name__})") from failed
        if status // 100 == 3:
            raise WebhookFailed(f"it answered {status}, and redirects are not followed")
        if status // 100 != 2:
            raise WebhookFailed(f"it answered {status}")

    def _request(self, place: WebhookPlace, body: bytes, at_s: int) -> bytes:
        lines = (
            f"POST {place.path} HTTP/1.1",
            f"Host: {place.shown_host}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"User-Agent: mcp-agent-mail/{__version__}",
            f"X-Agent-Mail-Signature: {signature(self._secret, body, at_s)}",
            "Connection: close",
        )
        return "\r\n".join([*lines, "", ""]).encode("ascii") + body

    async def _status_of(self, place: WebhookPlace, request: bytes) -> int:
        connected = await self._connected(await self._addresses_of(place))
        try:
            reader, writer = await asyncio.open_connection(
                sock=connected,
                ssl=self._context() if place.is_secure else None,
                server_hostname=place.host if place.is_secure else None,
                limit=MAX_LINE,
            )
        except BaseException:
            connected.close()
            raise
        try:
            writer.write(request)
            await writer.drain()
            status = await _read_status(reader)
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await reader.read(MAX_REST)
            return status
        finally:
            # A polite end of TLS would wait for the other side.
            writer.transport.abort()

    async def _addresses_of(self, place: WebhookPlace) -> list[_Found]:
        """Every address of the name, all of them fit to be called: else whoever owns it could hide one among others."""
        look_up = partial(socket.getaddrinfo, place.host, place.port, type=socket.SOCK_STREAM)
        try:
            found = await self._looks.look(place.host, look_up)
        except (OSError, UnicodeError) as unknown:
            raise WebhookFailed("its name cannot be looked up") from unknown
        except AgentMailError as silent:
            raise WebhookFailed("its name is not looked up in time") from silent
        addresses: list[_Found] = [(family, address) for family, _, _, _, address in found]
        if not self._allows_private and not all(is_public(str(address[0])) for _, address in addresses):
            raise WebhookFailed("it leads to a private address, and WEBHOOK_ALLOW_PRIVATE is false")
        return addresses[:MOST_ADDRESSES]

    async def _connected(self, addresses: Sequence[_Found]) -> socket.socket:
        """To the first that takes it. Raises the last one's OSError or TimeoutError."""
        problem: Exception = OSError("no address")
        for family, address in addresses:
            connecting = socket.socket(family, socket.SOCK_STREAM)
            try:
                connecting.setblocking(False)
                async with asyncio.timeout(CONNECT_WITHIN_S):
                    await asyncio.get_running_loop().sock_connect(connecting, address)
                return connecting
            except (OSError, TimeoutError) as failed:
                connecting.close()
                problem = failed
            except BaseException:
                connecting.close()
                raise
        raise problem

    def _context(self) -> ssl.SSLContext:
        """What the system trusts, read at the first call that needs it."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


async def _read_status(reader: asyncio.StreamReader) -> int:
    """Of the final answer: what is told ahead of it (1xx) is passed over. Raises ValueError for what is no HTTP."""
    for _ in range(4):
        line = await reader.readline()
        words = line.split(maxsplit=2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise ValueError("no HTTP")
        if (status := int(words[1])) >= 200:
            return status
        while (await reader.readline()).strip():
            pass
    raise ValueError("no end of what comes ahead")
