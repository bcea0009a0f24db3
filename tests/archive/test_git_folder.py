from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.git_folder import make_ours
from mcp_agent_mail.archive.repository import ArchiveRepository


@pytest.mark.parametrize(
    "left", ["config.0a1b2c3d", "config.set-aside.0a1b2c3d", "info/attributes.0a1b2c3d", "info/exclude.0a1b2c3d"]
)
def test_what_a_replacement_that_was_cut_off_left_goes_at_the_next_opening(left: str, tmp_path: Path) -> None:
    ArchiveRepository(tmp_path / "archive").create()
    unfinished = tmp_path / "archive" / ".git" / left
    unfinished.write_bytes(b"[core")

    make_ours(tmp_path / "archive")

    assert not unfinished.exists()
