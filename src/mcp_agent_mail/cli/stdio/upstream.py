"""The server behind a proxy: found, started when there is none, and found again after a restart.

Connections are kept alive and shared by the threads that ask. One that the server has closed
meanwhile is noticed before anything is sent, so that a restart between two messages costs nothing.
"""

from __future__ import annotations

import http.client
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.stdio.background import BackgroundServer, sole_starter
from mcp_agent_mail.core.settings.client import ClientSettings
from mcp_agent_mail.core.settings.mcp_paths import with_mcp_path
from mcp_agent_mail.core.store_owner import read_owner

START_WITHIN_S = 30.0
GRACE_S = 3.0
"""After a server was lost: how long whoever stopped it may take to start it again before we do."""
ANSWER_WITHIN_S = 600.0

_CONNECT_WITHIN_S = 3.0
_LOOK_EVERY_S = 0.05
_STORE_IN_USE = 75
_MAX_IDLE = 8


class _Search:
    """For how long a server is looked for."""

    def __init__(self, ends_at: float, given_up: threading.Event | None) -> None:
        self._ends_at = ends_at
        self._given_up = given_up

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self._ends_at

    @property
    def is_given_up(self) -> bool:
        return self._given_up is not None and self._given_up.is_set()

    @property
    def is_over(self) -> bool:
        return self.is_given_up or not self.has_time


class Upstream:
    """Connections to the server, for many threads at once: `connect`, `send`, then `keep` once the answer is read.

    Raises NoServer when nobody answers and nobody can be started.
    """

    def __init__(self, settings: ClientSettings, *, tell: Callable[[str], None], env_file: Path | None = None) -> None:
        self._settings = settings
        self._tell = tell
        self._env_file = env_file
        self._lock = threading.Lock()
        self._search = threading.Lock()
        self._url: SplitResult | None = None
        self._was_found = False
        self._has_told = False
        self._idle: list[http.client.HTTPConnection] = []
        self._started: BackgroundServer | None = None

    def connect(self, *, given_up: threading.Event | None = None) -> http.client.HTTPConnection:
        """A connection on which nothing has been sent yet, or nothing is under way. Once `given_up` is set no server is
        waited for, nor started: NoServer then, unless one is there.
        """
        search = _Search(time.monotonic() + START_WITHIN_S, given_up)
        while True:
            if (kept := self._take_idle()) is not None:
                return kept
            url = self._require_url(search)
            connection = _connection_to(url)
            try:
                connection.connect()
            except OSError as refused:
                self._forget(url)
                self._tell_of_silence(url, refused)
                if search.is_over:
                    raise NoServer(f"No server answers at {url.geturl()}: {refused}.") from refused
                time.sleep(_LOOK_EVERY_S)
                continue
            connection.sock.settimeout(ANSWER_WITHIN_S)
            return connection

    def find(self, within_s: float) -> str:
        """The address of the store's server, started if there is none; of the one that was named, as it is. Raises
        NoServer.
        """
        url = self._require_url(_Search(time.monotonic() + within_s, None))
        return f"{url.scheme}://{url.netloc}"

    def reach(self) -> http.client.HTTPConnection | None:
        """A new connection to the server, if one answers just now: none is started, and none is waited for."""
        with self._lock:
            url = self._url
        if url is None:
            owner = read_owner(self._settings.storage_root)
            found = self._named_url() or (f"{owner.url}/mcp" if owner is not None and owner.url is not None else None)
            if found is None:
                return None
            url = urlsplit(found)
            with self._lock:
                self._url = self._url or url
        connection = _connection_to(url)
        try:
            connection.connect()
        except OSError:
            self._forget(url)
            return None
        connection.sock.settimeout(ANSWER_WITHIN_S)
        return connection

    def _tell_of_silence(self, url: SplitResult, refused: OSError) -> None:
        """Once: of a server that was named nobody else says that it is not there, and the client only waits."""
        with self._lock:
            if self._settings.agent_mail_url is None or self._has_told:
                return
            self._has_told = True
        self._tell(
            f"No server answers at {url.geturl()} ({refused.strerror or refused}), which AGENT_MAIL_URL names; each "
            f"request waits {START_WITHIN_S:.0f} s for it. Check it, or ask whoever runs that server."
        )

    def keep(self, connection: http.client.HTTPConnection) -> None:
        """Give back a connection whose answer was read to its end."""
        with self._lock:
            if connection.sock is not None and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def send(
        self, connection: http.client.HTTPConnection, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        """The head of the answer: its body is still to be read, before `connection` is given to `keep`. Raises OSError
        or HTTPException where the connection is lost, or no answer comes within ANSWER_WITHIN_S seconds.
        """
        with self._lock:
            path = self._url.path if self._url is not None else "/mcp"
        connection.request(method, path, body, {**self._credentials(), **headers})
        return connection.getresponse()

    def _credentials(self) -> dict[str, str | bytes]:
        token, agent_token = self._settings.agent_mail_token, self._settings.agent_mail_agent_token
        # Bytes: a path may have letters that HTTP's own encoding lacks.
        said = {"X-Agent-Project": self._settings.agent_mail_project, "X-Agent-Name": self._settings.agent_name}
        headers: dict[str, str | bytes] = {name: value.encode() for name, value in said.items() if value is not None}
        if token is not None:
            headers["Authorization"] = f"Bearer {token.reveal()}"
        if agent_token is not None:
            headers["X-Agent-Token"] = agent_token.reveal()
        if self._settings.mcp_agent_mail_window_id is not None:
            headers["X-Agent-Window"] = self._settings.mcp_agent_mail_window_id
        return headers

    def _take_idle(self) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not _was_closed(connection):
                return connection
            connection.close()

    def _forget(self, url: SplitResult) -> None:
        with self._lock:
            if self._url == url and self._settings.agent_mail_url is None:
                self._url = None

    def _require_url(self, search: _Search) -> SplitResult:
        """One thread looks, the others wait for what it finds."""
        with self._search:
            if self._url is None:
                try:
                    found = urlsplit(self._named_url() or self._find(search))
                except OSError as failed:
                    raise NoServer(f"No server can be started or found: {failed}.") from failed
                with self._lock:
                    self._url = found
                self._was_found = True
            return self._url

    def _named_url(self) -> str | None:
        named = self._settings.agent_mail_url
        if named is None:
            return None
        return with_mcp_path(named, self._settings.http_path)

    def _find(self, search: _Search) -> str:
        """The URL of the server that owns the store: waits for one that starts, starts one if none does."""
        root = self._settings.storage_root
        if self._started is not None:
            # If it was ours that ended: the kernel keeps its entry until we ask.
            self._started.exit_code()
        start_at = time.monotonic() + (GRACE_S if self._was_found else 0.0)
        while True:
            owner = read_owner(root)
            if owner is not None and owner.url is not None:
                return f"{owner.url}/mcp"
            if owner is None and time.monotonic() >= start_at and not search.is_given_up:
                self._start(search)
            if search.is_over:
                raise NoServer(
                    f"The store in {root} is in use, but nobody serves it."
                    if owner is not None
                    else f"No server came up for the store in {root}.",
                    hint="Look at `am status`. A server at another address is named by AGENT_MAIL_URL.",
                )
            time.sleep(_LOOK_EVERY_S)

    def _start(self, search: _Search) -> None:
        """Start a server and wait until it serves or has ended; nothing when somebody else is starting one."""
        root = self._settings.storage_root
        with sole_starter(root) as is_sole:
            if not is_sole or read_owner(root) is not None:
                return
            server = self._started = BackgroundServer(self._settings, env_file=self._env_file)
            # Though nobody may want it any more: it is told that there is one now.
            while search.has_time:
                owner = read_owner(root)
                if owner is not None and owner.url is not None:
                    if owner.pid == server.pid:
                        self._tell(
                            f"Started a server in the background: {owner.url}, process {server.pid}, log {server.log}. "
                            f"It goes on when this client ends; stop it with: kill {server.pid}"
                        )
                    return
                code = server.exit_code()
                if code == _STORE_IN_USE:
                    return
                if code is not None:
                    raise NoServer(f"The server could not be started: {server.said()}", hint=f"Its log: {server.log}")
                time.sleep(_LOOK_EVERY_S)

    def part(self, headers: Mapping[str, str]) -> None:
        """Tell a server that is still there that the session named in `headers` is over, and let go of it."""
        if (connection := self._take_idle()) is not None:
            connection.sock.settimeout(_CONNECT_WITHIN_S)
            with suppress(OSError, http.client.HTTPException):
                self.send(connection, "DELETE", None, headers).read()
            connection.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _connection_to(url: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    return kind(url.hostname or "127.0.0.1", url.port, timeout=_CONNECT_WITHIN_S)


def _was_closed(connection: http.client.HTTPConnection) -> bool:
    """Nothing is under way, so whatever can be read is the end of the stream, or an answer that nobody asked for."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
