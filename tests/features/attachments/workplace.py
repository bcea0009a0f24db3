"""A project's directory, a store beside it, and the service over both, with its real parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.attachments.images import ImageConverter
from mcp_agent_mail.features.attachments.preparation import AttachmentRules
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import PreparedAttachments
from mcp_agent_mail.features.attachments.service import AttachmentService
from mcp_agent_mail.features.attachments.sources import Lender
from mcp_agent_mail.workspace.lent_places import ProjectFolders, find_folder, folder_at

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
FROM_AFAR = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN, is_remote=True)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
MAX_BYTES = 50_000
MAX_PIXELS = 20_000
RULES: dict[str, Any] = {
    "converts": True,
    "keeps_originals": False,
    "inline_max_bytes": 10_000,
    "max_bytes": MAX_BYTES,
    "body_max_bytes": 100_000,
}


class CarryAll:
    """A store that has room, and in which all that was kept is carried."""

    def require_room(self, more_bytes: int) -> None:
        """There is room."""

    async def find_carried(self, digests: Collection[str]) -> Collection[str]:
        return digests


class Workplace:
    def __init__(self, tmp_path: Path, converter: ImageConverter, **rules: Any) -> None:
        self.code = tmp_path / "code"
        self.elsewhere = tmp_path / "elsewhere"
        self.archive = tmp_path / "store" / "projects" / "code"
        self.kept = tmp_path / "store" / "attachments"
        for folder in (self.code, self.elsewhere, self.archive):
            folder.mkdir(parents=True)
        self.project = Project(
            id=ProjectId(1), slug="code", human_key=str(self.code), created_ts=Micros(0), archived_ts=None
        )
        self.files = AttachmentFiles(self.kept)
        self.service = AttachmentService(
            self.files, converter, lender=self.lender(), look=self.look, rules=AttachmentRules(**{**RULES, **rules})
        )

    async def look(self, project: Project, project_key: str) -> ProjectFolders:
        named = [Path(path) for path in dict.fromkeys((project_key.strip(), project.human_key)) if path[0] == "/"]
        return ProjectFolders(found=tuple(map(find_folder, named)))

    def lender(self, *, may_be_anywhere: bool = False) -> Lender:
        return Lender(
            find_archive=lambda _: folder_at(self.archive), never=(self.kept.parent,), may_be_anywhere=may_be_anywhere
        )

    def request(self, *paths: str, body: str = "", **changes: Any) -> AttachmentRequest:
        given = {
            "caller": ANYBODY,
            "sender_id": AgentId(1),
            "project": self.project,
            "project_key": str(self.code),
            "policy": AttachmentsPolicy.AUTO,
            "convert": None,
        }
        return AttachmentRequest(**{**given, **changes}, paths=paths, body_md=body)

    async def prepare(self, *paths: str, body: str = "", **changes: Any) -> PreparedAttachments:
        """What is ready when it is kept: as if its message were stored."""
        async with self.service.prepared(self.request(*paths, body=body, **changes), CarryAll()) as prepared:
            return prepared

    def content(self, item: Attachment | str) -> bytes:
        """What is kept of an attachment."""
        assert isinstance(item, Attachment)
        with self.files.open(item.content.sha256) as file:
            return file.read()

    def left_over(self) -> list[str]:
        """Files that are neither kept nor needed."""
        staged = self.kept / "staged"
        return [path.name for path in staged.iterdir()] if staged.exists() else []


@asynccontextmanager
async def open_workplace(tmp_path: Path, **rules: Any) -> AsyncIterator[Workplace]:
    converter = ImageConverter(MAX_PIXELS, tmp_path / "scratch")
    place = Workplace(tmp_path, converter, **rules)
    try:
        yield place
    finally:
        place.service.close()
        await converter.aclose()
