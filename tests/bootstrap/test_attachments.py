from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.bootstrap.attachments import attachment_parts
from mcp_agent_mail.bootstrap.wiring import archive_places
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.messaging.attachments import SeenAttachment
from mcp_agent_mail.workspace.lent_places import ProjectFolders
from tests.features.attachments.workplace import CarryAll
from tests.features.samples import APP
from tests.server.whole_app import settings_of

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


async def _nowhere(_project: Project, _project_key: str) -> ProjectFolders:
    return ProjectFolders()


async def _prepared(settings: Settings, path: Path, project_key: Path) -> bytes:
    """The content as it is read again, of a file that the operator names."""
    parts = attachment_parts(settings, archive_places(settings), _nowhere)
    request = AttachmentRequest(
        caller=OPERATOR,
        sender_id=AgentId(1),
        project=replace(APP, human_key=str(project_key)),
        project_key=str(project_key),
        policy=AttachmentsPolicy.AUTO,
        paths=(str(path),),
        body_md="",
        convert=None,
    )
    try:
        async with parts.service.prepared(request, CarryAll()) as prepared:
            (item,) = prepared.items
        assert not isinstance(item, str)
        seen = SeenAttachment(content=item.content, name=item.name, media_type=item.media_type)
        async with parts.reader.opened(seen) as opened:
            return b"".join([piece async for piece in opened.chunks(0, item.content.bytes)])
    finally:
        await parts.close()


def _written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"written")
    return file


async def test_what_is_made_ready_lies_where_it_is_read(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    notes = _written(tmp_path / "notes.txt")

    assert await _prepared(settings, notes, tmp_path / "code") == b"written"
    assert os.listdir(settings.storage_root) == ["attachments"]  # noqa: PTH208  # names alone


_BESIDE = [
    "",
    "-wal",
    "-shm",
    "-journal",
    ".undo-2026-01-01",
    ".before-0007",
    ".lock",
    ".lock.json",
    ".rebuilt",
    ".NEW",
]


@pytest.mark.parametrize("name", [*(f"mail.db{end}" for end in _BESIDE), ".mail.db.restoring", "MAIL.db", "kept/1/a"])
@pytest.mark.parametrize("is_link", [False, True])
async def test_the_database_and_what_lies_beside_it_are_lent_to_nobody_wherever_it_lies(
    tmp_path: Path, name: str, *, is_link: bool
) -> None:
    elsewhere = tmp_path / "elsewhere" / "mail.db"
    named = _written(elsewhere.parent / name)
    notes = _written(elsewhere.with_name("mail.db_notes.txt"))
    settings = settings_of(tmp_path, DATABASE_URL=f"sqlite:///{elsewhere}")
    if is_link:
        (tmp_path / "named.db").symlink_to(elsewhere)
        settings = settings_of(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'named.db'}")

    with pytest.raises(InvalidInput, match="never lent"):
        await _prepared(settings, named, elsewhere.parent)
    assert await _prepared(settings, notes, elsewhere.parent) == b"written"


async def test_what_lies_beside_a_database_is_known_by_a_second_name_and_over_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "mail.db"
    settings = settings_of(tmp_path, DATABASE_URL=f"sqlite:///{elsewhere}")
    second, alias = elsewhere.with_name("notes.txt"), tmp_path / "alias"
    os.link(_written(elsewhere.with_name("mail.db.undo-1")), second)
    alias.symlink_to(elsewhere.parent)

    for named in (second, alias / "mail.db.undo-1"):
        with pytest.raises(InvalidInput, match="never lent"):
            await _prepared(settings, named, elsewhere.parent)
