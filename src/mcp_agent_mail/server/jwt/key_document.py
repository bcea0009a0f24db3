"""One look at the address where an issuer publishes its keys: bounded, on a thread of its own, and never redirected.

The thread does all that may hang or take long: the name, TLS with the system's certificates, the bytes, the keys that
are made of them. Who asks waits so long and no longer, and then ends the connection under it.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from mcp_agent_mail import __version__
from mcp_agent_mail.core.concurrency.looks import DirectorySilent, Looks
from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.server.jwt.signatures import NoKeySet, VerifyingKeys, read_key_set

WITHIN_S = 5.0
CONNECT_WITHIN_S = 2.0
MOST_ADDRESSES = 2
"""Of the issuer's name."""
MOST_BYTES = 256 * 1_024


class KeysUnread(Unavailable):
    """The issuer's keys could not be read. Its message names no address: everybody may read it."""


class KeyDocument:
    """For use on one event loop; `close()` when nothing is read any more. `url` as the settings accept it."""

    def __init__(
        self, url: str, algorithms: Collection[str], *, tls: ssl.SSLContext | None = None, within_s: float = WITHIN_S
    ) -> None:
        self._place = _Place(url)
        self._algorithms = frozenset(algorithms)
        self._tls = tls
        self._within_s = within_s
        self._looks = Looks(threads=2, subject="the key set's host")

    def close(self) -> None:
        self._looks.close()

    async def read(self) -> VerifyingKeys:
        """The keys that the issuer has now. Raises KeysUnread."""
        look = _Read(self._place, self._tls)
        try:
            return await self._looks.look(self._place.host, lambda: self._keys_of(look), within_s=self._within_s)
        except KeysUnread:
            raise
        except DirectorySilent:
            raise KeysUnread(f"the issuer did not answer within {self._within_s:g} s") from None
        except NoKeySet as none:
            raise KeysUnread(f"the issuer's keys cannot be used: {none}") from none
        except ssl.SSLError as failed:
            raise KeysUnread(f"the issuer's certificate or its TLS is not accepted ({failed.reason})") from failed
        except (OSError, HTTPException, ValueError) as failed:
            raise KeysUnread(f"the connection to the issuer failed ({type(failed).__name__})") from failed
        except AgentMailError as late:
            raise KeysUnread(f"the issuer was not asked: {late.message}") from late
        finally:
            look.abandon()

    def _keys_of(self, look: _Read) -> VerifyingKeys:
        return read_key_set(look.content(), self._algorithms)


class _Place:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None, "the settings see to it"
        self.is_secure = parts.scheme.lower() == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.is_secure else 80)
        self.path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


class _Read:
    """One GET. `content()` on a thread; `abandon()` on any other, once or more often."""

    def __init__(self, place: _Place, tls: ssl.SSLContext | None) -> None:
        self._place = place
        self._tls = tls
        self._socket: socket.socket | None = None
        self._is_abandoned = False

    def abandon(self) -> None:
        """What the thread still waits for ends now: one byte at a time could keep it for ever."""
        self._is_abandoned = True
        if self._socket is not None:
            _cut(self._socket)

    def content(self) -> bytes:
        """The body of an answer of success. Raises KeysUnread, OSError, HTTPException or ValueError."""
        context = (self._tls or ssl.create_default_context()) if self._place.is_secure else None
        connection = self._unconnected(context)
        try:
            connection.sock = self._connected(context)
            headers = {"Accept": "application/json", "User-Agent": f"mcp-agent-mail/{__version__}"}
            connection.request("GET", self._place.path, headers={**headers, "Connection": "close"})
            with connection.getresponse() as answer:
                return _body_of(answer)
        finally:
            connection.close()

    def _unconnected(self, context: ssl.SSLContext | None) -> HTTPConnection:
        """Which speaks HTTP over the socket that it is given; its kind decides whether `Host` names the port."""
        host, port = self._place.host, self._place.port
        return HTTPConnection(host, port) if context is None else HTTPSConnection(host, port, context=context)

    def _connected(self, context: ssl.SSLContext | None) -> socket.socket:
        found = socket.getaddrinfo(self._place.host, self._place.port, type=socket.SOCK_STREAM)
        problem = OSError("no address")
        for family, _, _, _, address in found[:MOST_ADDRESSES]:
            opened = socket.socket(family, socket.SOCK_STREAM)
            try:
                opened.settimeout(CONNECT_WITHIN_S)
                self._note(opened)
                opened.connect(address)
                opened.settimeout(WITHIN_S)
                return opened if context is None else self._secured(opened, context)
            except OSError as failed:
                opened.close()
                problem = failed
        raise problem

    def _secured(self, opened: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        secured = context.wrap_socket(opened, server_hostname=self._place.host, do_handshake_on_connect=False)
        try:
            self._note(secured)
            secured.do_handshake()
        except OSError:
            secured.close()
            raise
        return secured

    def _note(self, opened: socket.socket) -> None:
        self._socket = opened
        if self._is_abandoned:
            raise TimeoutError


def _body_of(answer: HTTPResponse) -> bytes:
    if answer.status // 100 == 3:
        raise KeysUnread(f"the issuer answered {answer.status}, and redirects are not followed")
    if answer.status != 200:
        raise KeysUnread(f"the issuer answered {answer.status}")
    content = answer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise KeysUnread(f"the issuer's answer is longer than {MOST_BYTES:,} bytes")
    return content


def _cut(opened: socket.socket) -> None:
    """Below TLS, whose own end would wait for the other side."""
    try:
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
    except OSError:
        return  # Closed already, or never connected.
