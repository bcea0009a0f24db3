"""What the server and its image converters say to each other: a job is a line of JSON, and so is its answer.

Paths go there, never bytes. The converter is `mcp_agent_mail/image_converter.py`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass

READY = b"ready\n"
"""The first line of a converter, once it can take jobs."""

MEMORY_BYTES = 512 * 1024 * 1024
"""Of address space: a converter has no more, whatever an image asks for."""
WITHIN_S = 10.0
"""What one image may take."""
MAX_SIDE = 16_383
"""Pixels: WebP has no more."""


class ImageFlaw(StrEnum):
    """Why an image is not converted. `UNTOUCHED` is no fault of the image: a file could not be opened or written."""

    UNDECODABLE = "undecodable"
    PIXELS = "pixels"
    SIDE = "side"
    MEMORY = "memory"
    UNTOUCHED = "untouched"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionJob:
    """Read `source`, write WebP to `target` (both absolute), if all frames together have at most `max_pixels`."""

    source: str
    target: str
    max_pixels: int

    def to_line(self) -> bytes:
        return _line(asdict(self))

    @classmethod
    def from_line(cls, line: bytes) -> ConversionJob:
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedImage:
    """What now lies at the target: sides in pixels as it is shown, and 1 frame for what does not move."""

    width: int
    height: int
    frames: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedImage:
    """`fact` is the refusal's sentence, of numbers and our own words: nothing of the image is quoted."""

    flaw: ImageFlaw
    fact: str


ConversionAnswer = ConvertedImage | RefusedImage


def to_line(answer: ConversionAnswer) -> bytes:
    return _line(asdict(answer))


def from_line(line: bytes) -> ConversionAnswer:
    """The answer on a whole line. Raises ValueError for all else: its converter ended within it, or is not itself."""
    try:
        answer = json.loads(line)
    except RecursionError as error:
        raise ValueError("no answer") from error
    if not isinstance(answer, dict) or not line.endswith(b"\n"):
        raise ValueError("no answer")
    if "flaw" in answer:
        return RefusedImage(flaw=ImageFlaw(answer["flaw"]), fact=str(answer.get("fact")))
    return ConvertedImage(**{name: _size(answer.get(name)) for name in ("width", "height", "frames")})


def _size(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("no size")
    return value


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"
