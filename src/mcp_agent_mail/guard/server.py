"""The running server, asked within a bound: HTTP/1.0 over a plain socket, since `http.client` takes longer to import.

All that one run of the guard waits for the server is `PATIENCE_S`, whatever it asks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.core.settings.mcp_paths import without_mcp_path
from mcp_agent_mail.core.store_owner import read_owner

if TYPE_CHECKING:
    import socket

PATIENCE_S = 0.3
MAX_ANSWER_BYTES = 4 * 1024 * 1024

_OPERATOR_TOKEN_FILE = "operator.token"  # a file's name
_MAX_TOKEN_BYTES = 4_096
_PROJECTS = "projects"

Json = Any
"""A plain JSON value: what `json.loads` gives. `Any`, because mypy's recursive form hides more than it says."""


MISREAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading something of another shape raises, brackets by the thousand and numbers without end among it."""


class NoAnswer(Exception):
    """No server, or none that answered in time with something of ours. The text says which, for people."""


class Refused(Exception):
    """The server answered with an error: `kind` is its type (NOT_FOUND, …)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Deadline:
    """The time that is left for the server, from the first question on."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._until = time.monotonic() + seconds

    def left_s(self) -> float:
        """The seconds that are left. Raises NoAnswer when there are none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise NoAnswer(f"it did not answer within {PATIENCE_S * 1000:.0f} ms")
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAt:
    """Where a server is, and what proves who we are. Tokens stay out of `repr`."""

    url: str
    bearer_token: str | None = field(default=None, repr=False)
    agent_token: str | None = field(default=None, repr=False)


def find_server(settings: ClientSettings) -> ServerAt | None:
    """AGENT_MAIL_URL, else the server that owns the store, else the one at HTTP_HOST where there is no store."""
    bearer = settings.agent_mail_token.reveal() if settings.agent_mail_token else None
    agent_token = settings.agent_mail_agent_token.reveal() if settings.agent_mail_agent_token else None
    if settings.agent_mail_url is not None:
        url = without_mcp_path(settings.agent_mail_url, settings.http_path)
        return ServerAt(url=url, bearer_token=bearer, agent_token=agent_token)
    owner = read_owner(settings.storage_root)
    if owner is not None and owner.url is not None:
        if bearer is None and (operator_token := _operator_token(settings.storage_root)) is not None:
            return ServerAt(url=owner.url, bearer_token=operator_token)
        return ServerAt(url=owner.url, bearer_token=bearer, agent_token=agent_token)
    if owner is None and not (settings.storage_root / _PROJECTS).is_dir():
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.http_host, settings.http_host)  # noqa: S104
        authority = f"[{host}]" if ":" in host else host
        return ServerAt(url=f"http://{authority}:{settings.http_port}", bearer_token=bearer, agent_token=agent_token)
    return None


def _operator_token(storage_root: Path) -> str | None:
    try:
        content = read_plain(str(storage_root / _OPERATOR_TOKEN_FILE), _MAX_TOKEN_BYTES)
    except UnfitFile:
        return None
    return (content or b"").decode("ascii", "replace").strip() or None


def post(server: ServerAt, path: str, value: Mapping[str, Any], patience: Deadline) -> Json:
    """The server's answer to `value`. Raises NoAnswer and Refused."""
    try:
        parts = urlsplit(server.url)
        with _connected(parts, patience) as connection:
            connection.settimeout(patience.left_s())
            connection.sendall(_request(server, parts, path, json.dumps(value).encode()))
            raw = _read_all(connection, patience)
    except TimeoutError:
        raise NoAnswer(f"it did not answer within {PATIENCE_S * 1000:.0f} ms") from None
    except OSError as failed:
        raise NoAnswer(failed.strerror or str(failed)) from failed
    except ValueError as failed:  # The address is none, or its port: nobody can be asked there.
        raise NoAnswer(str(failed)) from None
    return _judge(raw)


def _request(server: ServerAt, parts: SplitResult, path: str, body: bytes) -> bytes:
    lines = [
        f"POST {parts.path.rstrip('/')}{path} HTTP/1.0",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    if server.bearer_token:
        lines.append(f"Authorization: Bearer {server.bearer_token}")
    if server.agent_token:
        lines.append(f"X-Agent-Token: {server.agent_token}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _connected(parts: SplitResult, patience: Deadline) -> socket.socket:
    import socket  # noqa: PLC0415  # 3 ms, only where there is a server

    host, is_secure = parts.hostname or "127.0.0.1", parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    connection = socket.create_connection((_address(host, port, patience), port), timeout=patience.left_s())
    if not is_secure:
        return connection
    import ssl  # noqa: PLC0415  # 15 ms, which only a distant server costs

    connection.settimeout(patience.left_s())
    return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _address(host: str, port: int, patience: Deadline) -> str:
    """An address for the host; looking a name up has no time limit of its own, so another thread does it."""
    if host == "localhost" or host.replace(".", "").isdigit() or ":" in host:
        return host
    import socket  # noqa: PLC0415  # as above
    import threading  # noqa: PLC0415

    found: list[str] = []

    def look_up() -> None:
        with suppress(OSError, UnicodeError):
            found.append(str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]))

    looking = threading.Thread(target=look_up, daemon=True)
    looking.start()
    looking.join(patience.left_s())
    if not found:
        raise NoAnswer(f"the name {host} could not be looked up in time")
    return found[0]


def _read_all(connection: socket.socket, patience: Deadline) -> bytes:
    received = bytearray()
    while True:
        connection.settimeout(patience.left_s())
        piece = connection.recv(65_536)
        if not piece:
            return bytes(received)
        received += piece
        if len(received) > MAX_ANSWER_BYTES:
            raise NoAnswer("its answer is too long")


def _judge(raw: bytes) -> Json:
    head, _, body = raw.partition(b"\r\n\r\n")
    words = head.partition(b"\r\n")[0].split(b" ", 2)
    try:
        status, answer = int(words[1]), json.loads(body)
        refused = None if status == 200 else _refusal(status, answer)
    except MISREAD:
        raise NoAnswer("what answers there is no agent-mail server") from None
    if refused is not None:
        raise refused
    return answer


def _refusal(status: int, answer: Json) -> Refused:
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        return Refused(str(answer["error"].get("type")), str(answer["error"].get("message")))
    detail = answer.get("detail") if isinstance(answer, dict) else None
    return Refused(f"HTTP {status}", str(detail or f"HTTP {status}"))
