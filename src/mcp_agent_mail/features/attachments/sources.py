"""Where the contents of attachments come from, and what the service needs of those who open, keep and convert them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.attachments import ContentKind, StoredContent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.attachments.data_uris import is_data_uri

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_KEPT = re.compile(r"/attachments/([0-9a-f]{2})/\1[0-9a-f]{62}\.[a-z0-9]{1,8}")


class RemotePath(InvalidInput):
    """A caller on another machine names a path: it means none of its own files here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrower:
    """To whom files are lent: a caller that works in these directories of the project, looked into in this order."""

    project: Project
    workspaces: tuple[Path, ...]
    may_be_anywhere: bool


class LentContent(Protocol):
    """A plain file, open for reading."""

    @property
    def descriptor(self) -> int: ...


Lend = Callable[[str, Borrower], AbstractContextManager[LentContent]]
"""Opens a file that is named by its path; it may wait for a disk. Raises NotFound for what is missing inside of what is
lent, else InvalidInput, both when it is called."""


class Staged(Protocol):
    """A content that is written down and not kept yet."""

    @property
    def path(self) -> Path: ...
    @property
    def sha256(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def kind(self) -> ContentKind: ...


class ContentFiles(Protocol):
    """Contents beside the database. All of it blocks, and is called on threads."""

    def stage(self, source: int | Iterable[bytes], max_bytes: int) -> Staged:
        """Of an open descriptor, or of pieces. Raises InvalidInput for more than `max_bytes`."""

    def keep(self, staged: Staged, /) -> StoredContent:
        """Once this returns, it survives a loss of power."""

    def discard(self, staged: Staged, /) -> None:
        """Safe to repeat, and of what was kept."""


class Picture(Protocol):
    """A converted image's sides, in pixels."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...


class Converter(Protocol):
    async def convert(self, source: Path, target: Path) -> Picture:
        """Write the image at `source` as WebP to `target`. Raises InvalidInput for one that cannot be converted."""


def is_url(target: str) -> bool:
    """Whether an image of a body lies somewhere else: it has a scheme or a host."""
    return _URL.match(target) is not None and not is_data_uri(target)


def is_kept(target: str) -> bool:
    """Whether an image of a body is an attachment already, as in a quoted message."""
    return _KEPT.fullmatch(target) is not None


def require_local(path: str, *, is_remote: bool) -> None:
    """Raises RemotePath."""
    if is_remote:
        raise RemotePath(
            f"{path[:200]!r} is a path, and you call from another machine.",
            hint="Send the content itself, as data:<media type>;base64,…",
            data={"parameter": "attachment_paths"},
        )
