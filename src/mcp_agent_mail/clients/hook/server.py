"""The running server, asked by a hook: HTTP/1.0 over a socket, and 300 ms for all questions of one run.

What the guard does too (`guard/server.py`), without what that imports. A test holds both to the same server.
"""

from __future__ import annotations

import json
import os
import time

from mcp_agent_mail.core.settings.mcp_paths import without_mcp_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from mcp_agent_mail.clients.hook.environment import HookSettings

    # Any: what `json.loads` gives.
    Json = Any

PATIENCE_S = 0.3
MAX_ANSWER_BYTES = 256 * 1024

EVENT = "/rest/v1/hooks/event"
TOLD = "/rest/v1/hooks/told"
CHECK = "/guard/check"
WINDOWS = "/rpc/list_window_identities"

_MAX_PORT = 65_535
_MAX_OWNER_BYTES = 65_536
_MAX_TOKEN_BYTES = 4_096
_MISREAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class HookSilence(Exception):
    """No server, or none that answered in time with something of ours. The text says which."""


class HookRefused(Exception):
    """The server answered with an error: `kind` is its type (NOT_FOUND, …), the others its words."""

    def __init__(self, kind: str, message: Json = None, hint: Json = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.message = message
        self.hint = hint


class HookDeadline:
    """The time that is left for the server, from the first question on."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = PATIENCE_S if seconds is None else seconds
        self._until: float | None = None

    def left_s(self) -> float:
        """The seconds that are left. Raises HookSilence when there are none."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        if self._until <= now:
            raise HookSilence(f"the server did not answer within {self._seconds * 1000:.0f} ms")
        return self._until - now


class HookServer:
    """Where a server is, and what proves who we are."""

    __slots__ = ("authority", "headers", "is_secure", "path")

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        self.is_secure = scheme == "https"
        self.authority = authority.rpartition("@")[2]
        self.path = (slash + path).split("?")[0].rstrip("/")
        self.headers = headers

    def ask(self, path: str, value: Json, patience: HookDeadline) -> Json:
        """The server's answer. Raises HookSilence and HookRefused."""
        body = json.dumps(value).encode()
        lines = [f"POST {self.path}{path} HTTP/1.0", f"Host: {self.authority}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {text}" for name, text in self.headers.items()]
        request = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
        try:
            with self._connected(patience) as connection:
                connection.settimeout(patience.left_s())
                connection.sendall(request)
                raw = _read_all(connection, patience)
        except TimeoutError:
            raise HookSilence("the server did not answer in time") from None
        except (OSError, ValueError) as failed:
            raise HookSilence(str(failed)) from None
        return _judge(raw)

    def _connected(self, patience: HookDeadline) -> socket.socket:
        import socket  # noqa: PLC0415  # 3 ms, only where there is a server

        host, port = _split(self.authority, 443 if self.is_secure else 80)
        address = _address(host, port, patience)
        if address.replace(".", "").isdigit():
            # Not looked up at all: that would import the rules of international names.
            connection = _connected_to(socket.socket(socket.AF_INET), (address, port), patience)
        else:
            connection = socket.create_connection((address, port), timeout=patience.left_s())
        if not self.is_secure:
            return connection
        import ssl  # noqa: PLC0415  # 15 ms, which only a distant server costs

        connection.settimeout(patience.left_s())
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _connected_to(connection: socket.socket, at: tuple[str, int], patience: HookDeadline) -> socket.socket:
    try:
        connection.settimeout(patience.left_s())
        connection.connect(at)
    except BaseException:
        connection.close()
        raise
    return connection


def _split(authority: str, default: int) -> tuple[str, int]:
    if authority.startswith("["):
        host, _, rest = authority[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    number = int(port) if port else default
    if not 0 <= number <= _MAX_PORT:
        raise HookSilence(f"the server's address has a port that is none: {port:.20}")
    return host or "127.0.0.1", number


def _address(host: str, port: int, patience: HookDeadline) -> str:
    """An address for the host; looking a name up has no time limit of its own, so another thread does it."""
    if host == "localhost" or host.replace(".", "").isdigit() or ":" in host:
        return host
    import socket  # noqa: PLC0415  # as above
    import threading  # noqa: PLC0415

    found: list[str] = []

    def look_up() -> None:
        try:
            found.append(str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]))
        except (OSError, UnicodeError):
            return

    looking = threading.Thread(target=look_up, daemon=True)
    looking.start()
    looking.join(patience.left_s())
    if not found:
        raise HookSilence("the server's name could not be looked up in time")
    return found[0]


def _read_all(connection: socket.socket, patience: HookDeadline) -> bytes:
    received = bytearray()
    while True:
        connection.settimeout(patience.left_s())
        piece = connection.recv(65_536)
        if not piece:
            return bytes(received)
        received += piece
        if len(received) > MAX_ANSWER_BYTES:
            raise HookSilence("the server's answer is too long")


def _judge(raw: bytes) -> Json:
    head, _, body = raw.partition(b"\r\n\r\n")
    try:
        status, answer = int(head.partition(b"\r\n")[0].split(b" ", 2)[1]), json.loads(body)
        error = {"type": f"HTTP {status}"} if status != 200 else None
        if error is not None and "error" in answer:
            error = answer["error"]
        refused = None if error is None else HookRefused(str(error["type"]), error.get("message"), error.get("hint"))
    except _MISREAD:
        raise HookSilence("what answers there is no agent-mail server") from None
    if refused is not None:
        raise refused
    return answer


def find_server(settings: HookSettings) -> HookServer | None:
    """AGENT_MAIL_URL, else the server that owns the store, else the one at HTTP_HOST where there is no store."""
    window = {"X-Agent-Window": settings.window} if settings.window else {}
    headers = dict(window)
    if settings.token:
        headers["Authorization"] = f"Bearer {settings.token}"
    if settings.agent_token:
        headers["X-Agent-Token"] = settings.agent_token
    if settings.url is not None:
        return HookServer(without_mcp_path(settings.url, settings.http_path), headers)
    is_owned, url = _owner(settings.root)
    if url is not None:
        if not settings.token and (proof := _operator_token(settings.root)):
            headers = {**window, "Authorization": f"Bearer {proof}"}
        return HookServer(url, headers)
    if not is_owned and not os.path.isdir(f"{settings.root}/projects"):  # noqa: PTH112  # starts faster
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
        return HookServer(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}", headers)
    return None


def _owner(root: str) -> tuple[bool, str | None]:
    """Does a process own the store, and where is it reached? The kernel's lock says the first, a file the second."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    if not (_is_held(f"{root}/server.lock", flags | os.O_NONBLOCK) or _is_held(root, flags | os.O_DIRECTORY)):
        return False, None
    try:
        told = json.loads(_read(f"{root}/server.json", _MAX_OWNER_BYTES))
        url = told.get("url")
    except (OSError, *_MISREAD):
        return True, None
    return True, url if isinstance(url, str) else None


def _is_held(path: str, flags: int) -> bool:
    import fcntl  # noqa: PLC0415  # only where no URL is given

    try:
        descriptor = os.open(path, flags)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _operator_token(root: str) -> str | None:
    try:
        return _read(f"{root}/operator.token", _MAX_TOKEN_BYTES).decode("ascii").strip() or None
    except (OSError, ValueError):
        return None


def _read(path: str, at_most: int) -> bytes:
    """A small file. Never waits for a writer: what lies there may be a FIFO."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, at_most)
    finally:
        os.close(descriptor)
