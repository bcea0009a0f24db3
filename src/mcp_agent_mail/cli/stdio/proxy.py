"""`am serve --stdio`: an MCP server on stdin and stdout that passes every message on to the one real server.

So a client that only speaks stdio never means a second writer. Both protocol eras go through as
they come: a message's own `_meta` tells its era, and becomes the headers that HTTP wants. Requests
are answered side by side, a bounded number of them; everything else is passed on in its order.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.stdio.listen_stream import AGAIN_AFTER_S, Listening, is_listen
from mcp_agent_mail.cli.stdio.messages import INVALID_REQUEST, PARSE_ERROR, read_lines
from mcp_agent_mail.cli.stdio.session_stream import SessionStream, lacks_session, session_of
from mcp_agent_mail.cli.stdio.upstream import Upstream
from mcp_agent_mail.cli.stdio.wire import (
    FAILED,
    MAX_ANSWER_BYTES,
    Message,
    answer_line,
    error_line,
    header_value,
    modern_version,
    read_events,
    request_key,
)
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.settings.client import ClientSettings

MAX_LINE_BYTES = 4 * 1024 * 1024 + 64 * 1024
"""What the server accepts and a little more: it words the refusal. Beyond, a line is dropped and said to be."""
MAX_AT_ONCE = 32
MAX_HELD_BACK = 64
"""Requests that are read beyond those under way: what takes one of them back stands behind them in the input."""
MAX_LISTENING = 16
"""Subscriptions of the stateless era that are open: they hold up no call."""
END_WITHIN_S = 5.0

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def serve_stdio(settings: ClientSettings, *, env_file: Path | None) -> int:
    """Serve stdin and stdout until stdin ends. stdout carries the protocol and nothing else."""
    upstream = Upstream(settings, tell=_tell, env_file=env_file)
    proxy = Proxy(upstream, sys.stdout.buffer)
    for line in read_lines(sys.stdin.buffer, MAX_LINE_BYTES):
        if line is None:
            proxy.refuse(INVALID_REQUEST, f"The message is longer than {MAX_LINE_BYTES} bytes.")
        else:
            proxy.take(line.strip())
    proxy.end()
    return 0


def _tell(words: str) -> None:
    sys.stderr.write(f"{visible(words)}\n")
    sys.stderr.flush()


class _Call:
    """One request under way. `connection` is set while it waits for its answer."""

    def __init__(self, message: Message, body: bytes, *, is_modern: bool) -> None:
        self.message = message
        self.body = body
        self.is_modern = is_modern
        self.cancelled = threading.Event()
        self.connection: http.client.HTTPConnection | None = None
        self.listening = Listening() if is_modern and is_listen(message) else None


class Proxy:
    """Takes messages from one thread, answers from many."""

    def __init__(self, upstream: Upstream, out: BinaryIO) -> None:
        self._upstream = upstream
        self._out = out
        self._out_lock = threading.Lock()
        self._stream = SessionStream(upstream, self._write)
        self._at_work = 0
        self._listening = 0
        self._held_back: deque[_Call] = deque()
        self._calls: dict[str, _Call] = {}
        self._calls_changed = threading.Condition()

    def take(self, line: bytes) -> None:
        """Pass one message on. Blocks while MAX_AT_ONCE requests are under way and MAX_HELD_BACK wait for that."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self.refuse(PARSE_ERROR, "That line is no JSON.")
            return
        if not isinstance(message, dict):
            self.refuse(INVALID_REQUEST, "A message is one JSON object.")
            return
        body = line if b"\r" not in line else json.dumps(message).encode()
        call = _Call(message, body, is_modern=modern_version(message) is not None)
        if "method" not in message or message.get("id") is None:
            if not self._cancel(message):
                self._pass_on(call)
        elif message["method"] == "initialize":
            # What follows needs the session that this opens.
            self._stream.forget()
            self._answer(call)
        elif call.listening is not None:
            self._listen(call)
        else:
            self._begin(call)

    def refuse(self, code: int, words: str) -> None:
        self._write_error(None, code, words)

    def end(self) -> None:
        """Let what is under way finish, for a moment and for whoever still reads, and end the session."""
        self._stream.end()
        if _nobody_reads(self._out):
            self._abandon()
        self._abandon(only_listening=True)
        with self._calls_changed:
            self._calls_changed.wait_for(lambda: not self._calls, END_WITHIN_S)
        self._upstream.part(self._stream.headers)

    def _begin(self, call: _Call) -> None:
        with self._calls_changed:
            self._calls_changed.wait_for(lambda: len(self._held_back) < MAX_HELD_BACK)
            self._calls[request_key(call.message["id"])] = call
            if self._at_work >= MAX_AT_ONCE:
                self._held_back.append(call)
                return
            self._at_work += 1
        self._start(call)

    def _listen(self, call: _Call) -> None:
        """On a thread of its own for as long as it goes on, beside those of calls."""
        with self._calls_changed:
            if self._listening >= MAX_LISTENING:
                self._write_error(call.message["id"], FAILED, f"{MAX_LISTENING} subscriptions are open already.")
                return
            self._listening += 1
            self._calls[request_key(call.message["id"])] = call

        def work() -> None:
            try:
                self._answer(call)
            finally:
                with self._calls_changed:
                    self._listening -= 1
                    self._calls.pop(request_key(call.message["id"]), None)
                    self._calls_changed.notify_all()

        threading.Thread(target=work, daemon=True).start()

    def _start(self, call: _Call) -> None:
        threading.Thread(target=self._work, args=(call,), daemon=True).start()

    def _work(self, call: _Call) -> None:
        try:
            self._answer(call)
        finally:
            following = self._after(call)
            if following is not None:
                self._start(following)

    def _after(self, call: _Call) -> _Call | None:
        """Which call takes its room, of those that are held back."""
        with self._calls_changed:
            self._calls.pop(request_key(call.message["id"]), None)
            following = self._held_back.popleft() if self._held_back else None
            self._at_work -= following is None
            self._calls_changed.notify_all()
        return following

    def _cancel(self, message: Message) -> bool:
        """A call that is taken back ends with its connection, which the server watches; True when that says it all.

        In the stateless era nothing else does. In a session the server is told besides.
        """
        if message.get("method") != "notifications/cancelled":
            return False
        params = message.get("params")
        with self._calls_changed:
            call = self._calls.get(request_key(params.get("requestId"))) if isinstance(params, dict) else None
            if call is None:
                return False
            was_sent = call.connection is not None
            self._give_up(call)
        return call.is_modern or not was_sent

    def _abandon(self, *, only_listening: bool = False) -> None:
        with self._calls_changed:
            for call in list(self._calls.values()):
                if call.listening is not None or not only_listening:
                    self._give_up(call)

    def _give_up(self, call: _Call) -> None:
        """It is sent no more, or its connection is cut. The lock is held."""
        call.cancelled.set()
        if call in self._held_back:
            self._held_back.remove(call)
            del self._calls[request_key(call.message["id"])]
            self._calls_changed.notify_all()
        sock = call.connection.sock if call.connection is not None else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _pass_on(self, call: _Call) -> None:
        """A notification, or the client's answer to a question of the server's: nothing comes back."""
        try:
            for _ in self._exchange(call):
                pass
        except NoServer as silent:
            _tell(f"Not passed on: {silent.message}")

    def _answer(self, call: _Call) -> None:
        try:
            for line in self._exchange(call):
                self._write(line)
        except NoServer as silent:
            if not call.cancelled.is_set():
                self._write_error(call.message["id"], FAILED, silent.text)

    def _exchange(self, call: _Call) -> Iterator[bytes]:
        """Post a message and yield the lines that answer it; after a lost connection once more what only reads."""
        is_repeated = False
        while not call.cancelled.is_set():
            connection = self._upstream.connect(given_up=call.cancelled)
            call.connection = connection
            if call.cancelled.is_set():
                connection.close()
                return
            try:
                headers = self._headers(call)
                response = self._upstream.send(connection, "POST", call.body, headers)
                yield from self._lines_of(call, connection, response, session_of(headers))
                if call.listening is not None and not call.listening.is_answered:
                    raise ConnectionResetError
            except (OSError, http.client.HTTPException) as lost:
                connection.close()
                if call.cancelled.is_set():
                    return
                if call.listening is not None and call.listening.may_go_on():
                    call.cancelled.wait(AGAIN_AFTER_S)
                    continue
                if not is_repeated and call.message.get("method") != "tools/call":
                    is_repeated = True
                    continue
                raise NoServer(
                    "The server stopped before it answered.",
                    hint="The call may have been carried out: look before you repeat it.",
                ) from lost
            self._upstream.keep(connection)
            return

    def _headers(self, call: _Call) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        version = modern_version(call.message)
        if version is None:
            return {**headers, **self._stream.headers}
        method = str(call.message.get("method"))
        params = call.message["params"]
        headers |= {"MCP-Protocol-Version": header_value(version), "Mcp-Method": header_value(method)}
        name = params.get(_NAMED_BY.get(method))
        return {**headers, "Mcp-Name": header_value(name)} if isinstance(name, str) else headers

    def _lines_of(
        self,
        call: _Call,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        session: str | None,
    ) -> Iterator[bytes]:
        """`session` is the one that was named."""
        if response.headers.get_content_type() == "text/event-stream":
            lines = read_events(response)
            yield from lines if call.listening is None else call.listening.pass_on(lines)
            return
        content = _content_of(response)
        is_lost = not call.is_modern and lacks_session(call.message, response, content)
        if is_lost and self._stream.renew(connection, session):
            response = self._upstream.send(connection, "POST", call.body, self._headers(call))
            content = _content_of(response)
        if call.message.get("method") == "initialize":
            self._stream.begin(call.body, response, content)
        if call.message.get("id") is not None and "method" in call.message:
            if call.listening is not None:
                call.listening.is_answered = True
            answer = answer_line(call.message["id"], response.status, content)
            yield answer
            self._stream.note(call.message, answer)

    def _write_error(self, message_id: object, code: int, words: str) -> None:
        self._write(error_line(message_id, code, words))

    def _write(self, line: bytes) -> None:
        try:
            with self._out_lock, suppress(ValueError):
                self._out.write(line + b"\n")
                self._out.flush()
        except BrokenPipeError:
            # Whoever has closed our stdout wants no answer, and waits for nothing; the end of stdin ends us.
            self._abandon()


def _content_of(response: http.client.HTTPResponse) -> bytes:
    content = response.read(MAX_ANSWER_BYTES + 1)
    if len(content) > MAX_ANSWER_BYTES:
        raise http.client.HTTPException("The answer is too long.")
    return content


def _nobody_reads(out: BinaryIO) -> bool:
    """Whether the other end of a pipe is closed; of what is no pipe nobody knows."""
    try:
        poll = select.poll()
        poll.register(out.fileno(), 0)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return False
