"""Tools and resources of a running server, over plain HTTP (`POST /rpc/{tool}`) with the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from mcp_agent_mail.cli.exit_codes import NoServer, WireError
from mcp_agent_mail.cli.gateway.below_tools import refused_below
from mcp_agent_mail.core.lazy.dataclass import dataclass

if TYPE_CHECKING:
    import http.client

    from mcp_agent_mail.cli.gateway.timed_answer import AnswerTime

_CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 60.0
"""For an answer as a whole; what is downloaded may take longer, as long as something comes in each such time."""
_MAX_ANSWER_BYTES = 64 << 20
"""Bodies of an answer have 2 MiB at most; an archive's log or a list of reservations has some more."""
_PIECE_BYTES = 256 * 1024
_START_ONE = "Start one with: am serve"
_CHECK_URL = "Check AGENT_MAIL_URL, or ask whoever runs that server. One that you start here has another store."
_STOPPED = "The server stopped before it answered."
_ENDLESS = "more than a server of ours ever answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a server is and what proves who we are. Tokens stay out of `repr`."""

    url: str
    bearer_token: str | None = field(default=None, repr=False)
    agent_token: str | None = field(default=None, repr=False)
    is_named: bool = False
    """By AGENT_MAIL_URL: another one, started here, would have another store."""
    is_others: bool = False
    """It has another store than ours and was not named: the settings only say that ours would listen there."""


class _TooLong(Exception):
    """The answer does not end where any answer of ours would have."""


class Unreachable(NoServer):
    """Nobody listens at the address."""


class Stranger(WireError):
    """Who answers there is no server of ours."""


class HttpGateway:
    """One keep-alive connection. `call` and `read` raise the server's refusal as WireError."""

    is_in_process = False

    def __init__(self, server: Server, *, answer_timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._server = server
        self._answer_timeout_s = answer_timeout_s
        self._connection: http.client.HTTPConnection | None = None
        self._answer_time: AnswerTime | None = None

    def connect(self) -> None:
        """Open the connection, so that a server which is not there is noticed before a call. Raises Unreachable."""
        # `http.client`: 0.04 s, which `--help` need not pay.
        from mcp_agent_mail.cli.gateway.timed_answer import AnswerTime, responses_within

        parts = urlsplit(self._server.url)
        connection = _connection_to(parts)
        try:
            connection.connect()
        except OSError as failed:
            reason = failed.strerror or str(failed)
            raise Unreachable(
                f"No server answers at {self._server.url}: {reason}.",
                hint=_CHECK_URL if self._server.is_named else _START_ONE,
            ) from failed
        self._answer_time = AnswerTime(self._answer_timeout_s)
        connection.response_class = responses_within(self._answer_time)
        self._connection = connection

    def check(self) -> None:
        """Connect, and close again. Raises Unreachable."""
        self.connect()
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The answer is plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool and return its plain result."""
        return self._post(f"/rpc/{tool}", arguments)

    # The answer is plain JSON.
    def read(self, uri: str) -> Any:
        """Read a resource and return its JSON."""
        return self._post("/rpc/read_resource", {"uri": uri})

    def page(self, path: str, *, at_most: int) -> str:
        """The text of a page beside the tools, such as `/metrics`. Raises the server's refusal, and Stranger for one
        that is longer.
        """
        import http.client

        connection, prefix = self._connected()
        try:
            response = self._response(connection, "GET", prefix + path)
            content = response.read(at_most + 1)
        except (OSError, http.client.HTTPException) as broken:
            self.close()
            raise _broken(broken, self._server.url) from broken
        if len(content) > at_most:
            self.close()
            raise _stranger(_ENDLESS)
        if response.status != HTTPStatus.OK:
            raise _refusal(response, _value(content), self._server)
        return content.decode(errors="replace")

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        """The content of an attachment, piece by piece. What is given up half-way ends the connection."""
        import http.client

        connection, prefix = self._connected()
        try:
            response = self._response(connection, "GET", f"{prefix}/attachments/{quote(slug)}/{quote(sha256)}")
            if response.status != HTTPStatus.OK:
                raise _refusal(response, _value(response.read(_MAX_ANSWER_BYTES)), self._server)
            assert self._answer_time is not None
            self._answer_time.end_head(is_download=True)
            while piece := response.read(_PIECE_BYTES):
                yield piece
        except (OSError, http.client.HTTPException) as broken:
            raise _broken(broken, self._server.url) from broken
        finally:
            self.close()

    def _connected(self) -> tuple[http.client.HTTPConnection, str]:
        """The connection, and the path below which the server is."""
        if self._connection is None:
            self.connect()
        assert self._connection is not None
        return self._connection, urlsplit(self._server.url).path.rstrip("/")

    # The answer is plain JSON.
    def _post(self, path: str, arguments: Mapping[str, Any]) -> Any:
        import http.client

        connection, prefix = self._connected()
        body = json.dumps(arguments).encode()
        try:
            response = self._response(connection, "POST", prefix + path, body)
            content = response.read(_MAX_ANSWER_BYTES + 1)
            if len(content) > _MAX_ANSWER_BYTES:
                raise _TooLong
        except _TooLong:
            self.close()
            raise _stranger(_ENDLESS) from None
        except (OSError, http.client.HTTPException) as broken:
            self.close()
            raise _broken(broken, self._server.url) from broken
        return _answer(response, content, self._server)

    def _response(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
    ) -> http.client.HTTPResponse:
        """The head of the answer. Raises TimeoutError where the answer does not come in time, now or while it is read,
        and Stranger where its head does not end.
        """
        from mcp_agent_mail.cli.gateway.timed_answer import HeadTooLong

        assert self._answer_time is not None
        if connection.sock is not None:  # It is None where the last answer ended the connection.
            connection.sock.settimeout(self._answer_timeout_s)
        connection.request(method, path, body, self._headers())
        self._answer_time.begin()
        try:
            response = connection.getresponse()
        except HeadTooLong:
            self.close()
            raise _stranger(_ENDLESS) from None
        self._answer_time.end_head()
        return response

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._server.bearer_token:
            headers["Authorization"] = f"Bearer {self._server.bearer_token}"
        if self._server.agent_token:
            headers["X-Agent-Token"] = self._server.agent_token
        return headers


def _connection_to(parts: SplitResult) -> http.client.HTTPConnection:
    # 0.04 s, which `--help` need not pay.
    import http.client

    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "127.0.0.1", parts.port, timeout=_CONNECT_TIMEOUT_S)


def _broken(error: Exception, url: str) -> NoServer:
    """The request may have been carried out: only its answer is missing."""
    if isinstance(error, TimeoutError):
        return NoServer(f"{url} did not answer in time.", hint="Look at `am status` before you repeat a write.")
    return NoServer(_STOPPED, hint="Look at `am status`, and at what was written, before you repeat a write.")


# The answer is plain JSON.
def _value(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


# The answer is plain JSON.
def _answer(response: http.client.HTTPResponse, content: bytes, server: Server) -> Any:
    answer = _value(content)
    if response.status == HTTPStatus.OK and answer is not None:
        return answer
    raise _refusal(response, answer, server)


def _refusal(response: http.client.HTTPResponse, answer: object, server: Server) -> WireError:
    """A typed error of ours, a refusal below the tools (`{"detail": ...}`), or no answer of this product at all."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        return WireError(answer["error"])
    if isinstance(answer, dict) and "detail" in answer:
        return refused_below(
            response.status, str(answer["detail"]), server, again=response.getheader("Retry-After") or ""
        )
    return _stranger(f"HTTP {response.status}")


def _stranger(what: str) -> Stranger:
    return Stranger(
        {
            "type": "UNAVAILABLE",
            "message": f"What answers there is no agent-mail server ({what}).",
            "hint": "Check AGENT_MAIL_URL, HTTP_HOST and HTTP_PORT.",
        }
    )
