from __future__ import annotations

import shutil
from pathlib import Path

from mcp_agent_mail.features.recovery.backups.contents import content_pieces
from tests.features.recovery.backups.harness import NOTES, Stored, files_below
from tests.stored_contents import keep_content


def test_a_content_that_is_gone_beside_the_database_comes_from_an_archive(stored: Stored, tmp_path: Path) -> None:
    content = keep_content(stored.harness.root, NOTES)
    shutil.rmtree(stored.harness.root / "attachments")

    made = stored.back_up(tmp_path / "backups")

    assert files_below(made.path)[f"attachments/{content.sha256[:2]}/{content.sha256}"] == NOTES


def test_what_nobody_has_is_none(tmp_path: Path) -> None:
    assert content_pieces(tmp_path / "attachments", [], "0" * 64) is None
