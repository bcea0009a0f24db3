"""The running server, found and asked within a bound, by what somebody waits for: a commit for the guard, an agent CLI
for its hooks.

HTTP/1.0 over a plain socket, since `http.client` takes longer to import. Nothing is imported here that a run may do
without: no dataclasses, pathlib, typing or urllib, and the owner of a store is read without `core/store_owner`.
"""

from __future__ import annotations

import json
import os
import time

from mcp_agent_mail.core.settings.mcp_paths import without_mcp_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any, Protocol

    # Any: what `json.loads` gives; mypy's recursive form hides more than it says.
    Json = Any

    class ServerSettings(Protocol):
        """What settings say of where the server is, and of who asks. `root` is STORAGE_ROOT, `names_store` says whether
        it was given.
        """

        @property
        def root(self) -> str: ...
        @property
        def names_store(self) -> bool: ...
        @property
        def host(self) -> str: ...
        @property
        def port(self) -> int: ...
        @property
        def http_path(self) -> str: ...
        @property
        def url(self) -> str | None: ...
        @property
        def token(self) -> str | None: ...
        @property
        def agent_token(self) -> str | None: ...
        @property
        def window(self) -> str | None: ...


PATIENCE_S = 0.3
"""All that one run waits for the server, whatever it asks."""

MAX_ANSWER_BYTES = 256 * 1024

HOOK_EVENT = "/rest/v1/hooks/event"
HOOK_TOLD = "/rest/v1/hooks/told"
GUARD_CHECK = "/guard/check"
GUARD_EVENTS = "/guard/events"
WINDOWS = "/rpc/list_window_identities"

STRANGER = "what answers there is no agent-mail server"

MISREAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading something of another shape raises, brackets by the thousand and numbers without end among it."""

_PASSING = (408, 425, 429)
_MAX_PORT = 65_535
_PORT_DIGITS = 5
_MAX_OWNER_BYTES = 65_536
_MAX_TOKEN_BYTES = 4_096


class NoAnswer(Exception):
    """No server, or none that answered in time with something of ours. The text says which, for people."""


class NotReached(NoAnswer):
    """Nobody took the connection: nothing was asked."""


class Refused(Exception):
    """The server answered with an error: `kind` is its type (NOT_FOUND, …), the others its words.

    Unless `is_lasting` it may answer otherwise soon, and may have done what it was asked: it is busy, or a gateway
    before it had no answer.
    """

    def __init__(self, kind: str, message: Json = None, hint: Json = None, *, is_lasting: bool = True) -> None:
        super().__init__(str(message or kind))
        self.is_lasting = is_lasting
        self.kind = kind
        self.message = message
        self.hint = hint


class Deadline:
    """The time that is left for the server, from the first question on."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = PATIENCE_S if seconds is None else seconds
        self._until: float | None = None

    def left_s(self) -> float:
        """The seconds that are left. Raises NoAnswer when there are none."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        if self._until <= now:
            raise self.passed()
        return self._until - now

    def passed(self) -> NoAnswer:
        return NoAnswer(f"it did not answer within {self._seconds * 1000:.0f} ms")


class RunningServer:
    """Where a server is, and by `headers` what proves who we are."""

    __slots__ = ("_authority", "_is_secure", "_path", "headers", "url")

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        self._is_secure = scheme == "https"
        self._authority = authority.rpartition("@")[2]
        self._path = (slash + path).split("?")[0].rstrip("/")
        self.url = url
        self.headers = headers

    @property
    def bearer_token(self) -> str | None:
        return self.headers.get("Authorization", "").removeprefix("Bearer ") or None

    @property
    def agent_token(self) -> str | None:
        return self.headers.get("X-Agent-Token")

    def ask(self, path: str, value: Json, patience: Deadline, *, at_most: int = MAX_ANSWER_BYTES) -> Json:
        """The server's answer, of so many bytes at most. Raises NoAnswer and Refused."""
        return _judge(self._exchange("POST", path, json.dumps(value).encode(), patience, at_most))

    # Any: what a body holds is for the caller to know.
    def exchange(
        self, method: str, path: str, value: Json, patience: Deadline, *, at_most: int = MAX_ANSWER_BYTES
    ) -> tuple[int, Json]:
        """Another request than `ask` makes: its status and the JSON that it was answered with, None for what is none.
        `value` None: it has no body. Raises NoAnswer.
        """
        raw = self._exchange(method, path, b"" if value is None else json.dumps(value).encode(), patience, at_most)
        head, _, body = raw.partition(b"\r\n\r\n")
        try:
            status = int(head.partition(b"\r\n")[0].split(b" ", 2)[1])
        except MISREAD:
            raise NoAnswer(STRANGER) from None
        try:
            return status, json.loads(body)
        except MISREAD:
            return status, None

    def _exchange(self, method: str, path: str, body: bytes, patience: Deadline, at_most: int) -> bytes:
        lines = [f"{method} {self._path}{path} HTTP/1.0", f"Host: {self._authority}"]
        lines += ["Content-Type: application/json"] if body or method == "POST" else []
        lines += [f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {text}" for name, text in self.headers.items()]
        request = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
        is_reached = False
        try:
            with self._connected(patience) as connection:
                is_reached = True
                connection.settimeout(patience.left_s())
                connection.sendall(request)
                return _read_all(connection, patience, at_most)
        except TimeoutError:
            raise patience.passed() from None
        except OSError as failed:
            raise (NoAnswer if is_reached else NotReached)(failed.strerror or str(failed)) from None
        except ValueError as failed:  # The address is none, or its port: nobody can be asked there.
            raise NoAnswer(str(failed)) from None

    def _connected(self, patience: Deadline) -> socket.socket:
        import socket  # noqa: PLC0415  # 3 ms, only where there is a server

        host, port = _split(self._authority, 443 if self._is_secure else 80)
        address = _address(host, port, patience)
        if address.replace(".", "").isdigit():
            # Not looked up at all: that would import the rules of international names, and has no time limit.
            if not _is_address(address):
                raise NoAnswer(f"its address is none: {address:.40}")
            connection = _connected_to(socket.socket(socket.AF_INET), (address, port), patience)
        else:
            connection = socket.create_connection((address, port), timeout=patience.left_s())
        if not self._is_secure:
            return connection
        import ssl  # noqa: PLC0415  # 15 ms, which only a distant server costs

        connection.settimeout(patience.left_s())
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _is_address(text: str) -> bool:
    import socket  # noqa: PLC0415  # as above

    try:
        socket.inet_aton(text)
    except OSError:
        return False
    return True


def _connected_to(connection: socket.socket, at: tuple[str, int], patience: Deadline) -> socket.socket:
    try:
        connection.settimeout(patience.left_s())
        connection.connect(at)
    except BaseException:
        connection.close()
        raise
    return connection


def _split(authority: str, default: int) -> tuple[str, int]:
    if authority.startswith("["):
        host, end, rest = authority[1:].partition("]")
        if not end:
            raise NoAnswer("its address has a bracket that nothing closes")
        port = rest.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    if port and not (port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS and int(port) <= _MAX_PORT):
        raise NoAnswer(f"its address has a port that is none: {port:.20}")
    return host or "127.0.0.1", int(port or default)


def _address(host: str, port: int, patience: Deadline) -> str:
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
        raise NoAnswer(f"the name {host} could not be looked up in time")
    return found[0]


def _read_all(connection: socket.socket, patience: Deadline, at_most: int) -> bytes:
    received = bytearray()
    while True:
        connection.settimeout(patience.left_s())
        piece = connection.recv(65_536)
        if not piece:
            return bytes(received)
        received += piece
        if len(received) > at_most:
            raise NoAnswer("its answer is too long")


def _judge(raw: bytes) -> Json:
    head, _, body = raw.partition(b"\r\n\r\n")
    try:
        status, answer = int(head.partition(b"\r\n")[0].split(b" ", 2)[1]), json.loads(body)
        refused = None if status == 200 else _refusal(status, answer)
    except MISREAD:
        raise NoAnswer(STRANGER) from None
    if refused is not None:
        raise refused
    return answer


def _refusal(status: int, answer: Json) -> Refused:
    """What is no object says nothing of whether the server did what it was asked: to read it raises one of MISREAD."""
    error, is_passing = answer.get("error"), status >= 500 or status in _PASSING
    if isinstance(error, dict):
        data = error.get("data")
        is_passing |= isinstance(data, dict) and "retry_after_s" in data
        return Refused(str(error.get("type")), error.get("message"), error.get("hint"), is_lasting=not is_passing)
    said = answer.get("detail") or f"HTTP {status}"
    return Refused(f"HTTP {status}", said, is_lasting=not is_passing)


def find_server(settings: ServerSettings) -> RunningServer | None:
    """AGENT_MAIL_URL, else the server that owns the store, else the one at HTTP_HOST where there is no store and none
    was named: whoever listens there serves another store, and gets no token.
    """
    window = {"X-Agent-Window": settings.window} if settings.window else {}
    headers = dict(window)
    if settings.token:
        headers["Authorization"] = f"Bearer {settings.token}"
    if settings.agent_token:
        headers["X-Agent-Token"] = settings.agent_token
    if settings.url is not None:
        return RunningServer(without_mcp_path(settings.url, settings.http_path), headers)
    is_owned, url = find_owner(settings.root)
    if url is not None:
        if not settings.token and (proof := _operator_token(settings.root)):
            headers = {**window, "Authorization": f"Bearer {proof}"}
        return RunningServer(url, headers)
    if is_owned or settings.names_store:
        return None
    if not os.path.isdir(f"{settings.root}/projects"):  # noqa: PTH112  # starts faster
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
        return RunningServer(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}", window)
    return None


def find_owner(root: str) -> tuple[bool, str | None]:
    """Does a process own the store, and where is it reached? The kernel's lock says the first, a file the second."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    if not (_is_held(f"{root}/server.lock", flags | os.O_NONBLOCK) or _is_held(root, flags | os.O_DIRECTORY)):
        return False, None
    try:
        told = json.loads(_read(f"{root}/server.json", _MAX_OWNER_BYTES))
        url = told.get("url")
    except (OSError, *MISREAD):
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
