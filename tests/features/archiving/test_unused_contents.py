"""What no mail carries goes from beside the database once nobody has touched it for a day."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, UNTOUCHED_S, AttachmentFiles
from mcp_agent_mail.features.archiving.unused_contents import LeftContents, remove_unused
from tests.stored_contents import content_path, keep_content

AN_HOUR = 3_600


@pytest.fixture
def files(tmp_path: Path) -> AttachmentFiles:
    return AttachmentFiles(tmp_path / ATTACHMENTS_FOLDER)


def kept(tmp_path: Path, data: bytes, *, untouched_s: float) -> str:
    content = keep_content(tmp_path, data)
    at = time.time() - untouched_s
    os.utime(content_path(tmp_path, content), (at, at))
    return content.sha256


def test_what_is_carried_or_was_touched_lately_stays(tmp_path: Path, files: AttachmentFiles) -> None:
    carried = kept(tmp_path, b"carried", untouched_s=UNTOUCHED_S + AN_HOUR)
    fresh = kept(tmp_path, b"under way", untouched_s=UNTOUCHED_S - AN_HOUR)
    kept(tmp_path, b"unused", untouched_s=UNTOUCHED_S + AN_HOUR)

    counted = remove_unused(files, {carried}.__contains__, dry_run=True)
    assert len(list(files.each())) == 3
    removed = remove_unused(files, {carried}.__contains__, dry_run=False)

    assert counted == removed == LeftContents(contents=1, bytes=len(b"unused"))
    assert {content.sha256 for content in files.each()} == {carried, fresh}
    assert remove_unused(files, {carried}.__contains__, dry_run=False) == LeftContents(contents=0, bytes=0)


def test_what_is_touched_while_it_is_looked_at_stays(tmp_path: Path, files: AttachmentFiles) -> None:
    kept(tmp_path, b"sent again", untouched_s=UNTOUCHED_S + AN_HOUR)

    def is_carried(_: str) -> bool:
        keep_content(tmp_path, b"sent again")
        return False

    assert remove_unused(files, is_carried, dry_run=False).contents == 0
    assert len(list(files.each())) == 1


def test_where_there_are_none_there_is_nothing_to_do(files: AttachmentFiles) -> None:
    assert remove_unused(files, lambda _: False, dry_run=False) == LeftContents(contents=0, bytes=0)
