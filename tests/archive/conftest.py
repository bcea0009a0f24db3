from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.writer import ArchiveWriter
from tests.archive.one_archive import AT, IDENTITY, NOTE, open_writer, text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app"


@pytest.fixture
def writer(path: Path) -> ArchiveWriter:
    """With one commit, which holds seq 1."""
    opened = open_writer(path)
    opened.commit({"archive.json": IDENTITY, NOTE: b"one"}, text(1), AT)
    return opened
