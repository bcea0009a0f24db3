"""What of planted secrets is left in a bundle: every byte of every file is looked at, and what one sees of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.share.mail import PLANTED_WORD, PROJECT
from tests.features.sharing.planted_secrets import PlantedSecret

LEFT = 9
"""Characters of a secret in a row that nobody may see."""
_RUN = re.compile(rb"[A-Za-z0-9+/=_-]{9,}")
_TAG = re.compile(rb"<[^<>]*>")
_BETWEEN = re.compile(rb"[*_~`\\\s]|\xe2\x80\x8b|\xe2\x81\xa0")
_MARK = re.compile(rf"\b{PLANTED_WORD}[0-9]{{4}}".encode())


def runs_of(contents: Iterable[bytes]) -> bytes:
    """All that could hold LEFT characters of a secret, each once: as it is written, and as it is seen."""
    found: set[bytes] = set()
    for content in contents:
        found.update(_RUN.findall(content))
        found.update(_RUN.findall(_BETWEEN.sub(b"", _TAG.sub(b"", content))))
    return b"\n".join(found)


def left_of(secrets: Sequence[PlantedSecret], runs: bytes) -> list[PlantedSecret]:
    """Those of which LEFT characters in a row are somewhere."""
    return [one for one in secrets if any(part.encode() in runs for part in _parts(one.core))]


def _parts(core: str) -> Iterable[str]:
    return (core[at : at + LEFT] for at in range(len(core) - LEFT + 1))


def contents_of(folder: Path) -> Iterable[bytes]:
    """Of every file, with its path."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix().encode() + b"\n" + path.read_bytes()


def marks_in(folder: Path) -> int:
    """So many of the messages that hold a secret have a page in the bundle."""
    seen: set[bytes] = set()
    for path in folder.glob("*/messages/*.html"):
        seen.update(_MARK.findall(path.read_bytes()))
    return len(seen)


def places_in(folder: Path) -> int:
    """Files that tell where the project lies on this machine."""
    return sum(PROJECT.encode() in content for content in contents_of(folder))
