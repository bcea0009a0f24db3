"""A real server with the door, as a program, and the plainest client for it: what these tests stand on."""

from __future__ import annotations

import http.client
import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.served import Served

_AT = re.compile(rb"claude-mailbox at http://[^ ]+:(\d+)")


@dataclass(frozen=True, slots=True)
class Got:
    """`value` is the body as JSON; None where it is none."""

    status: int
    value: Any
    headers: dict[str, str]


@dataclass
class MailboxServer:
    """One server; the door's ports in their order."""

    served: Served
    ports: list[int]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    def ask(
        self,
        method: str,
        path: str,
        *,
        name: str | None = None,
        body: Any = None,
        port: int | None = None,
        timeout_s: float = 60.0,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Got:
        """One request on a connection of its own; `name` is the header's. `body` is JSON, or bytes as they are."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.ports[0], timeout=timeout_s)
        sent = {} if name is None else {"X-Mailbox": name}
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if raw is not None:
            sent["Content-Type"] = "application/json"
        target = f"{path}?{urlencode(query)}" if query else path
        try:
            connection.request(method, target, body=raw, headers={**sent, **(headers or {})})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        try:
            value = json.loads(content)
        except ValueError:
            value = None
        return Got(response.status, value, {key.lower(): text for key, text in response.getheaders()})

    def send(self, sender: str, to: str, text: str) -> Any:
        got = self.ask("POST", "/v1/send", name=sender, body={"to": to, "body": text})
        assert got.status == 200, got
        return got.value

    def check(self, name: str) -> list[Any]:
        got = self.ask("POST", "/v1/check-inbox", name=name)
        assert got.status == 200, got
        messages: list[Any] = got.value
        return messages

    def pending(self, name: str) -> int:
        return int(self.ask("GET", "/v1/peek?" + urlencode({"name": name})).value["pending"])

    def names(self, name: str | None = None) -> list[str]:
        return [one["name"] for one in self.ask("GET", "/v1/list", name=name).value]

    def watching(self, name: str, **query: Any) -> Watch:
        return Watch(self, name, query)


class Watch:
    """A watch under way, on a thread of its own."""

    def __init__(self, server: MailboxServer, name: str, query: dict[str, Any]) -> None:
        self._got: list[Got] = []
        self._thread = threading.Thread(
            target=lambda: self._got.append(server.ask("GET", "/v1/watch", name=name, **query)), daemon=True
        )
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return bool(self._got)

    def got(self, within_s: float = 30.0) -> Any:
        self._thread.join(within_s)
        assert self._got, "it still watches"
        assert self._got[0].status == 200, self._got
        return self._got[0].value


@contextmanager
def open_mailboxes(root: Path, *, ports: str = "0,0", **env: str) -> Iterator[MailboxServer]:
    served = Served(root, CLAUDE_MAILBOX_ENABLED="true", CLAUDE_MAILBOX_PORTS=ports, port=None, **env)
    with served:
        yield MailboxServer(served, ports_of(served))


def ports_of(served: Served) -> list[int]:
    return [int(port) for port in _AT.findall(served.log.read_bytes())]


def messages_in(server: MailboxServer) -> int:
    """As the store has them."""
    with sqlite3.connect(f"file:{server.served.database}?mode=ro", uri=True) as connection:
        (count,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return int(count)
