"""Mail that carries files: contents in a folder, and what makes them ready, as small as messaging needs it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, kind_of, media_type_of, read_digest
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.markdown_images import find_images
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import ImageLeft, PreparedAttachments, WhyLeft
from mcp_agent_mail.features.attachments.service import MessageStore
from mcp_agent_mail.features.attachments.sources import is_kept
from mcp_agent_mail.features.messaging.attachments import UnknownAttachment
from mcp_agent_mail.features.messaging.contents import ContentReader
from tests.features.messaging.harness import MessagingHarness, open_messaging, refused_send

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Shelf:
    """ContentReader by their digest, in a folder. `opened` is every digest that was asked for."""

    folder: Path
    opened: list[str] = field(default_factory=list)

    def open(self, sha256: str) -> BinaryIO:
        self.opened.append(sha256)
        return (self.folder / sha256).open("rb")

    def keep(self, data: bytes) -> StoredContent:
        digest = digest_of(data)
        (self.folder / digest).write_bytes(data)
        return StoredContent(sha256=digest, bytes=len(data), extension=kind_of(data).extension)


@dataclass
class Sources:
    """What senders may send, by the path that they write. `inline` are those that are shown with the body, `originals`
    what a picture was before. In a body `OLD` becomes `NEW`, and `LEFT` stays.
    """

    shelf: Shelf
    files: dict[str, bytes] = field(default_factory=dict)
    inline: set[str] = field(default_factory=set)
    originals: dict[str, bytes] = field(default_factory=dict)
    asked: list[AttachmentRequest] = field(default_factory=list)

    @asynccontextmanager
    async def prepare(self, request: AttachmentRequest, store: MessageStore) -> AsyncIterator[PreparedAttachments]:  # noqa: ARG002  # what was kept stays
        self.asked.append(request)
        left = (ImageLeft(target="LEFT", reason=WhyLeft.MISSING),) if "LEFT" in request.body_md else ()
        yield PreparedAttachments(
            items=tuple(read_digest(path) or self._attachment(path) for path in request.paths),
            body_md=request.body_md.replace("OLD", "NEW"),
            images_left=left,
            quoted=tuple(image.target for image in find_images(request.body_md) if is_kept(image.target)),
        )

    def _attachment(self, path: str) -> Attachment:
        if path not in self.files:
            raise InvalidInput(f"{path} is no file that may be sent.")
        data = self.files[path]
        original = self.originals.get(path)
        return Attachment(
            content=self.shelf.keep(data),
            name=path,
            media_type=media_type_of(kind_of(data), path),
            is_inline=path in self.inline,
            original=None if original is None else self.shelf.keep(original),
        )


@dataclass
class AttachmentParts:
    messaging: MessagingHarness
    sources: Sources

    async def send(self, *paths: str, **arguments: Any) -> Any:
        return await self.messaging.send(attachment_paths=list(paths), **arguments)

    def path(self, path: str, data: bytes = b"text", *, inline: bool = False) -> str:
        """A file of this name may be sent from now on."""
        self.sources.files[path] = data
        if inline:
            self.sources.inline.add(path)
        return path


@asynccontextmanager
async def open_carrying(directory: Path, **options: Any) -> AsyncIterator[AttachmentParts]:
    """As `open_messaging`, for mail that carries files."""
    folder = directory / "contents"
    folder.mkdir()
    sources = Sources(Shelf(folder))
    contents = ContentReader(sources.shelf.open)
    async with open_messaging(directory, prepare=sources.prepare, contents=contents, **options) as messaging:
        yield AttachmentParts(messaging, sources)


async def refused_digest(carrying: AttachmentParts, **arguments: Any) -> AgentMailError:
    return await refused_send(carrying.messaging, attachment_paths=[f"sha256:{digest_of(b'text')}"], **arguments)


async def readable(carrying: AttachmentParts, caller: Any, project_key: str | None = None) -> bool:
    try:
        await carrying.messaging.service.attachment(caller, digest_of(b"text"), project_key)
    except UnknownAttachment:
        return False
    return True


async def caller_of(messaging: MessagingHarness, name: str) -> Caller:
    seeded = messaging.seeded
    agent = {one.name: one for one in (seeded.blue, seeded.red, seeded.green, seeded.fox)}[name]
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.OPEN,
        agent_id=agent.id,
        agent_name=name,
        project_id=agent.project_id,
    )
