"""What was asked and answered, as text that is the same each time: golden in `tests/golden/postal/`.

`python -m tests.facades.postal.transcript` writes them anew.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "postal"
WRITES = "WRITE_POSTAL_TRANSCRIPTS"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_OTHERS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"), "<time>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<session>"),
    (re.compile(r'("serverInfo":\{"name":"generic","version":)"[^"]+"'), r'\1"<version>"'),
    (re.compile(r"--project store-neighbours-[0-9a-f]+"), "--project <slug>"),
    (re.compile(r'("progress":)[0-9.]+'), r"\1<seconds>"),
)
_SHOWN_BYTES = 400
_SENT = ("content-type", "accept", "mcp-session-id", "authorization", "host", "origin")
_USUAL = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass
class Transcript:
    """Of one test. A recorded exchange comes when its answer has."""

    exchanges: list[list[str]] = field(default_factory=list)
    are_at_once: bool = False
    """Which of them is answered first is left open: they are golden in the order of their texts."""
    _ids: dict[str, str] = field(default_factory=dict)

    def record(self, request: httpx.Request, answer: httpx.Response) -> None:
        told = [
            f"{name}: {request.headers[name]}"
            for name in _SENT
            if request.headers.get(name) not in (None, _USUAL.get(name))
        ]
        told = [line for line in told if not line.startswith("host: 127.0.0.1") and line != "accept: */*"]
        self.exchanges.append([])
        self._add("> ", f"{request.method} {request.url.raw_path.decode()}", *told, _shown(request.content))
        headers = [answer.headers.get("content-type", "-")]
        if "mcp-session-id" in answer.headers:
            headers.append(f"mcp-session-id: {answer.headers['mcp-session-id']}")
        self._add("< ", " ".join([str(answer.status_code), *headers]), *_shown(answer.content).split("\n"))

    def note(self, text: str) -> None:
        """What no exchange shows."""
        self.exchanges.append([])
        self._add("# ", text)

    def _add(self, sign: str, *lines: str) -> None:
        self.exchanges[-1] += [f"{sign}{self._same(line)}" for line in lines if line]

    def _same(self, line: str) -> str:
        line = _UUID.sub(lambda found: self._ids.setdefault(found[0], f"<id {len(self._ids) + 1}>"), line)
        for pattern, instead in _OTHERS:
            line = pattern.sub(instead, line)
        return line

    def text(self) -> str:
        exchanges = sorted(self.exchanges) if self.are_at_once else self.exchanges
        return "".join(f"{line}\n" for exchange in exchanges for line in exchange)

    def is_golden(self, name: str) -> None:
        """Compare, or write where it is asked for."""
        path = GOLDEN / f"{name}.txt"
        if os.environ.get(WRITES):
            GOLDEN.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text(), encoding="utf-8")
        assert self.text() == path.read_text(encoding="utf-8"), f"python -m {__name__} writes it anew"


def _shown(content: bytes) -> str:
    text = content.decode("utf-8", "backslashreplace").strip()
    return text if len(text) <= _SHOWN_BYTES * 10 else f"{text[:40]}… ({len(content)} bytes)"


if __name__ == "__main__":
    os.environ[WRITES] = "1"
    sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", str(Path(__file__).parent)]))
