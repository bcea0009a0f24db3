"""A person's browser without script: cookies, forms, and what a page loads beside itself."""

from __future__ import annotations

import gzip
import html
import json
import re
import socket
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urljoin

from benchmarks.processes import Server
from benchmarks.wire import Answer, AnswerReader, Refused

SIGN_IN = "/mail/sign-in"
WITHIN_S = 60.0
_CODINGS = "gzip, deflate, br, zstd"
_FORM = re.compile(rb'name="csrf" value="(\w+)"')
_LINK = re.compile(rb'name="link" value="([^"]*)"')
_COOKIE = re.compile(rb"\r\nset-cookie: *([^=;\r]+)=([^;\r]*)", re.IGNORECASE)
_CODED = re.compile(rb"\r\ncontent-encoding: *([^\r]+)", re.IGNORECASE)
_TYPE = re.compile(rb"\r\ncontent-type: *([^;\r]+)", re.IGNORECASE)
_ASSETS = {
    "text/html": re.compile(r'(?:href|src)="(/assets/[^"#]+)'),
    "text/css": re.compile(r'url\("?([^")]+)"?\)'),
    "text/javascript": re.compile(r'from "(\./[^"]+)"'),
}
"""What each kind of file loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One answer. `sent_bytes` are all of it on the wire, its head too; `coding` is "identity" where it was sent as it
    is, and `body` is what it says, whatever it was sent as.
    """

    status: int
    took_ms: float
    sent_bytes: int
    coding: str
    media_type: str
    body: bytes


class Visitor:
    """One keep-alive connection, which says of itself what a browser does whose person goes somewhere."""

    def __init__(self, port: int) -> None:
        self._origin = f"http://127.0.0.1:{port}"
        self._host = f"127.0.0.1:{port}"
        self._cookies: dict[str, str] = {}
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.connection.close()

    @property
    def cookies(self) -> dict[str, str]:
        return dict(self._cookies)

    def sign_in(self, server: Server, root: Path) -> None:
        """As the operator: by the one-time link, and the press behind it."""
        page = self.visit(sign_in_link(server, root))
        form, link = _FORM.search(page.body), _LINK.search(page.body)
        if form is None or link is None:
            raise Refused(f"no form to sign in by: {page.status}")
        fields = {"csrf": form[1].decode(), "link": html.unescape(link[1].decode())}
        answer = self._exchange(self._request("POST", SIGN_IN, urlencode(fields)))
        if answer.status != 303:
            raise Refused(f"signing in: {answer.status} {answer.body[:300]!r}")

    def visit(self, path: str) -> Visit:
        began = time.perf_counter_ns()
        answer = self._exchange(self._request("GET", path))
        took_ms = (time.perf_counter_ns() - began) / 1e6
        coded, media_type = _CODED.search(answer.head), _TYPE.search(answer.head)
        coding = coded[1].decode().strip() if coded else "identity"
        if coding not in ("identity", "gzip"):
            raise Refused(f"{path} came as {coding}, which nothing here reads")
        return Visit(
            status=answer.status,
            took_ms=took_ms,
            sent_bytes=len(answer.head) + 4 + len(answer.body),
            coding=coding,
            media_type=media_type[1].decode().strip() if media_type else "",
            body=gzip.decompress(answer.body) if coding == "gzip" else answer.body,
        )

    def listen(self) -> None:
        """Begin to read the stream of events, as an open tab does. What comes is `connection`'s to read."""
        self.connection.sendall(self._request("GET", "/mail/events"))

    def _request(self, method: str, path: str, form: str | None = None) -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept: text/html\r\nAccept-Encoding: {_CODINGS}\r\n"
        head += f"Cookie: {cookies}\r\n" if cookies else ""
        head += f"Sec-Fetch-Site: {'none' if form is None else 'same-origin'}\r\n"
        if form is not None:
            head += f"Origin: {self._origin}\r\n"
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n"
        return f"{head}\r\n{form or ''}".encode()

    def _exchange(self, request: bytes) -> Answer:
        self.connection.sendall(request)
        reader = AnswerReader()
        while (answer := reader.feed(self._received())) is None:
            pass
        for name, value in _COOKIE.findall(answer.head):
            self._cookies[name.decode().strip()] = value.decode()
        return answer

    def _received(self) -> bytes:
        if not (data := self.connection.recv(262_144)):
            raise Refused("the server closed a visitor's connection")
        return data


def sign_in_link(server: Server, root: Path) -> str:
    """The path of a new one-time link, made with the operator's token of the store at `root`."""
    token = (root / "operator.token").read_text().strip()
    request = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{server.port}/rpc/create_sign_in_link",
        data=b"{}",
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:  # our own server
        return str(json.load(answer)["path"])


def sent_with_assets(port: int, page: Visit) -> int:
    """Bytes of the page and of each file that it loads, and that these load: fonts too, used or not."""
    visitor = Visitor(port)
    seen: dict[str, int] = {}
    waiting = _loaded_by("", page)
    while waiting:
        path = waiting.pop()
        if path not in seen:
            file = visitor.visit(path)
            if file.status != 200:
                raise Refused(f"{path}: {file.status}")
            seen[path] = file.sent_bytes
            waiting += _loaded_by(path, file)
    visitor.close()
    return page.sent_bytes + sum(seen.values())


def _loaded_by(path: str, visit: Visit) -> list[str]:
    pattern = _ASSETS.get(visit.media_type)
    text = visit.body.decode("utf-8", "replace")
    return [] if pattern is None else [urljoin(path, html.unescape(found)) for found in pattern.findall(text)]
