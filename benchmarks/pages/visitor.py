"""A person's browser without script: cookies, forms, and what a page loads beside itself."""

from __future__ import annotations

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
    """One answer. `sent_bytes` are all of it on the wire, its head too; `coding` is "" where it was sent as it is."""

    status: int
    took_ms: float
    sent_bytes: int
    coding: str
    media_type: str
    body: bytes


class Visitor:
    """One keep-alive connection. `accepts_codings` is whether it would take a compressed answer, as every browser."""

    def __init__(self, port: int, *, accepts_codings: bool = True) -> None:
        self._origin = f"http://127.0.0.1:{port}"
        self._host = f"127.0.0.1:{port}"
        self._coding = f"Accept-Encoding: {_CODINGS}\r\n" if accepts_codings else ""
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
        return Visit(
            status=answer.status,
            took_ms=took_ms,
            sent_bytes=len(answer.head) + 4 + len(answer.body),
            coding=coded[1].decode().strip() if coded else "",
            media_type=media_type[1].decode().strip() if media_type else "",
            body=answer.body,
        )

    def listen(self) -> None:
        """Begin to read the stream of events, as an open tab does. What comes is `connection`'s to read."""
        self.connection.sendall(self._request("GET", "/mail/events"))

    def _request(self, method: str, path: str, form: str | None = None) -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept: text/html\r\n{self._coding}"
        head += f"Cookie: {cookies}\r\n" if cookies else ""
        if form is not None:
            head += f"Origin: {self._origin}\r\nSec-Fetch-Site: same-origin\r\n"
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
    plain = Visitor(port, accepts_codings=False)
    coded = Visitor(port)
    seen: dict[str, int] = {}
    waiting = _loaded_by("", page.media_type, plain_text(page))
    while waiting:
        path = waiting.pop()
        if path not in seen:
            as_it_is = plain.visit(path)
            if as_it_is.status != 200:
                raise Refused(f"{path}: {as_it_is.status}")
            seen[path] = coded.visit(path).sent_bytes
            waiting += _loaded_by(path, as_it_is.media_type, as_it_is.body.decode("utf-8", "replace"))
    plain.close()
    coded.close()
    return page.sent_bytes + sum(seen.values())


def plain_text(page: Visit) -> str:
    if page.coding:
        raise Refused(f"a page came as {page.coding}, which nothing here reads")
    return page.body.decode("utf-8", "replace")


def _loaded_by(path: str, media_type: str, text: str) -> list[str]:
    pattern = _ASSETS.get(media_type)
    return [] if pattern is None else [urljoin(path, html.unescape(found)) for found in pattern.findall(text)]
