from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.features.recovery.backups.files import BackupFiles


def test_files_are_counted_and_listed_and_their_owners_alone(tmp_path: Path) -> None:
    with BackupFiles(tmp_path, no_fault) as files:
        files.write("archives/a.bundle", [b"one", b"two"])

    lines = (tmp_path / "checksums.txt").read_bytes()
    assert lines == f"{hashlib.sha256(b'onetwo').hexdigest()}  6  archives/a.bundle\n".encode()
    assert (files.bytes, files.checksums_sha256) == (6, hashlib.sha256(lines).hexdigest())
    assert stat.S_IMODE((tmp_path / "archives").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "archives/a.bundle").stat().st_mode) == 0o600


def test_a_file_that_could_not_be_written_to_its_end_is_neither_there_nor_listed(tmp_path: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield b"one"
        raise OSError(5, "Input/output error")

    with BackupFiles(tmp_path, no_fault) as files, pytest.raises(OSError, match="Input/output"):
        files.write("archives/a.bundle", failing())

    assert list((tmp_path / "archives").iterdir()) == []
    assert (tmp_path / "checksums.txt").read_bytes() == b""
