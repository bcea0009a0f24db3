"""Server-sent events out of the bytes of a chunked answer, as far as they have come whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class SseEvent(NamedTuple):
    """`data` None: one that only says where the stream stands."""

    id: str
    data: Any


@dataclass(slots=True)
class SseReader:
    _raw: bytearray = field(default_factory=bytearray)
    _text: bytearray = field(default_factory=bytearray)
    _is_past_head: bool = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that are whole with these bytes."""
        self._raw += data
        if not self._is_past_head:
            end = self._raw.find(b"\r\n\r\n")
            if end < 0:
                return []
            assert self._raw.startswith(b"HTTP/1.1 200"), bytes(self._raw)
            del self._raw[: end + 4]
            self._is_past_head = True
        self._unchunk()
        *frames, rest = bytes(self._text).split(b"\n\n")
        self._text = bytearray(rest)
        return [event for frame in frames if (event := _read(frame.decode())) is not None]

    def _unchunk(self) -> None:
        while (end := self._raw.find(b"\r\n")) >= 0:
            size = int(self._raw[:end], 16)
            if len(self._raw) < end + 4 + size:
                return
            self._text += self._raw[end + 2 : end + 2 + size]
            del self._raw[: end + 4 + size]


def _read(frame: str) -> SseEvent | None:
    fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
    if "id" not in fields:
        return None
    return SseEvent(fields["id"], json.loads(fields["data"]) if "data" in fields else None)
