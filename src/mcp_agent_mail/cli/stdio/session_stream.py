"""The event stream of the client's session: what the server tells by itself, while something is subscribed to.

After a restart the session is unknown. Then it is opened anew with what the client said in its handshake, by whoever
meets that first, and all is subscribed to again. After that, as after every stream that broke off, the client is told
that all may have changed: what was on its way is lost.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus

from mcp_agent_mail.cli.stdio.upstream import Upstream
from mcp_agent_mail.cli.stdio.wire import Message, read_events, read_message, updated_line

SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
MAX_URIS = 100
"""As many as the server takes of a session."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
"""Between two tries to open the stream. No server is started for it: calls do that."""

_SESSION = "Mcp-Session-Id"
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_POST = {**_ACCEPT, "Content-Type": "application/json"}
_INITIALIZED = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'


class SessionStream:
    """`headers` are those of the session that calls belong to. `write` takes lines for the client."""

    def __init__(self, upstream: Upstream, write: Callable[[bytes], None]) -> None:
        self._upstream = upstream
        self._write = write
        self._changed = threading.Condition()
        self._renewing = threading.Lock()
        self._hello: bytes | None = None
        self._uris: dict[str, bool] = {}
        """Each with whether the server has taken it in this session."""
        self._was_open = False
        """Whether this session has had a stream."""
        self._socket: socket.socket | None = None
        self._is_running = False
        self._has_ended = False
        self.headers: dict[str, str] = {}

    def forget(self) -> None:
        """The client begins a handshake: what was before is over."""
        with self._changed:
            self.headers = {}
            self._hello = None
            self._uris.clear()
            self._cut()

    def begin(self, hello: bytes, response: http.client.HTTPResponse, content: bytes) -> None:
        """The server has answered a handshake, and opened a session unless it has too many."""
        version = (read_message(content).get("result") or {}).get("protocolVersion")
        if version is None:
            return
        session = response.headers.get(_SESSION)
        with self._changed:
            self._hello = hello
            self._was_open = False
            self.headers = {"MCP-Protocol-Version": str(version)} | ({_SESSION: session} if session else {})

    def note(self, request: Message, answer: bytes) -> None:
        """A request was answered: one that subscribes opens the stream, if nothing has yet."""
        if request.get("method") not in (SUBSCRIBE, UNSUBSCRIBE) or "result" not in read_message(answer):
            return
        uri = (request.get("params") or {}).get("uri")
        if not isinstance(uri, str):
            return
        with self._changed:
            if request["method"] == UNSUBSCRIBE:
                self._uris.pop(uri, None)
            elif len(self._uris) < MAX_URIS:
                self._uris[uri] = True
                if not self._is_running:
                    self._is_running = True
                    threading.Thread(target=self._run, daemon=True).start()
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing more is passed on."""
        with self._changed:
            self._has_ended = True
            self._cut()

    def _cut(self) -> None:
        """The lock is held."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._changed.notify_all()

    def _run(self) -> None:
        wait_s = FIRST_WAIT_S
        while self._until_wanted():
            try:
                has_told = self._follow()
            except (OSError, http.client.HTTPException):
                has_told = False
            wait_s = FIRST_WAIT_S if has_told else min(wait_s * 2, LONGEST_WAIT_S)
            with self._changed:
                self._changed.wait_for(lambda: self._has_ended, wait_s)

    def _until_wanted(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or (self._uris and self._hello is not None))
            return not self._has_ended

    def _follow(self) -> bool:
        """One stream from its beginning to its end; whether there was one."""
        connection = self._upstream.reach()
        if connection is None:
            return False
        try:
            response, session = self._open(connection)
            if _is_of_no_session(response):
                response.read()
                if self.renew(connection, session):
                    response, _ = self._open(connection)
            if response.status != HTTPStatus.OK:
                return False
            self._tell(self._missed())
            for line in read_events(response):
                self._write(line)
            return True
        finally:
            with self._changed:
                self._socket = None
            connection.close()

    def _open(self, connection: http.client.HTTPConnection) -> tuple[http.client.HTTPResponse, str | None]:
        """The answer, and the session that it is asked of."""
        with self._changed:
            headers, self._socket = self.headers, connection.sock
            if self._has_ended:
                raise ConnectionAbortedError
        response = self._upstream.send(connection, "GET", None, {"Accept": "text/event-stream", **headers})
        return response, session_of(headers)

    def _missed(self) -> list[str]:
        """What the client may not have been told of, now that there is a stream. Before the first one of a session the
        server keeps what changes.
        """
        with self._changed:
            was_open, self._was_open = self._was_open, True
            return [uri for uri, is_taken in self._uris.items() if is_taken] if was_open else []

    def renew(self, connection: http.client.HTTPConnection, lost: str | None) -> bool:
        """The handshake once more, and all that was subscribed to, unless that was done since `lost` was the session;
        whether there is one now. What the server refuses now is not told any more.
        """
        with self._renewing:
            with self._changed:
                hello, uris, session = self._hello, list(self._uris), session_of(self.headers)
            if hello is None:
                return False
            if session != lost:
                return session is not None
            response = self._upstream.send(connection, "POST", hello, _POST)
            content = response.read()
            if response.headers.get(_SESSION) is None:
                return False
            with self._changed:
                if self._hello is not hello:  # The client has begun another one.
                    return False
                self.begin(hello, response, content)
                headers = {**_POST, **self.headers}
            self._upstream.send(connection, "POST", _INITIALIZED, headers).read()
            for uri in uris:
                is_taken = self._subscribes(connection, headers, uri)
                with self._changed:
                    if uri in self._uris:
                        self._uris[uri] = is_taken
                if is_taken:
                    self._tell([uri])
            return True

    def _subscribes(self, connection: http.client.HTTPConnection, headers: dict[str, str], uri: str) -> bool:
        body = {"jsonrpc": "2.0", "id": f"again {uri}", "method": SUBSCRIBE, "params": {"uri": uri}}
        answer = self._upstream.send(connection, "POST", json.dumps(body).encode(), headers).read()
        return "result" in read_message(answer)

    def _tell(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._write(updated_line(uri))


def session_of(headers: Mapping[str, str]) -> str | None:
    """Which session a request with these headers is of."""
    return headers.get(_SESSION)


def lacks_session(request: Message, response: http.client.HTTPResponse, content: bytes) -> bool:
    """Whether a subscription was refused by a server that does not know the session: it answers as to nobody's."""
    if request.get("method") != SUBSCRIBE or "result" in read_message(content):
        return False
    is_nobodys = response.status == HTTPStatus.OK and response.headers.get(_SESSION) is None
    return is_nobodys or response.status == HTTPStatus.NOT_FOUND


def _is_of_no_session(response: http.client.HTTPResponse) -> bool:
    """The server does not know the session: one that it knows may be ended."""
    if response.status == HTTPStatus.NOT_FOUND:
        return True
    return response.status == HTTPStatus.METHOD_NOT_ALLOWED and "DELETE" not in response.headers.get("Allow", "")
