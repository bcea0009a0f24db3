from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.plain_files import UnfitFile, open_ordinary, read_plain


def test_a_file_is_read_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10)

    assert read_plain(str(tmp_path / "file"), 10) == b"x" * 10
    assert read_plain(str(tmp_path / "missing"), 10) is None
    assert read_plain(str(tmp_path / "file" / "below"), 10) is None


def test_what_is_no_ordinary_file_or_too_large_is_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * 11)

    for name in ("fifo", "endless", "folder", "large"):
        with pytest.raises(UnfitFile, match=name):
            read_plain(str(tmp_path / name), 10)


def test_a_link_is_followed_only_where_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")

    assert read_plain(str(tmp_path / "link"), 10) == b"x"
    with pytest.raises(UnfitFile, match="symbolic link"):
        read_plain(str(tmp_path / "link"), 10, follow=False)


@pytest.mark.timeout(30)
def test_only_an_ordinary_file_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    os.mkfifo(tmp_path / "fifo")

    with os.fdopen(open_ordinary(tmp_path / "file"), "rb") as opened:
        assert opened.read() == b"content"
    for place, failure in ((tmp_path / "fifo", OSError), (Path(os.devnull), OSError), (tmp_path, IsADirectoryError)):
        with pytest.raises(failure):
            open_ordinary(place)
