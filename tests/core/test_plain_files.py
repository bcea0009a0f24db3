from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.plain_files import UnfitFile, UnfitPlace, open_plain, read_plain, require_lock_place


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

    with os.fdopen(open_plain(tmp_path / "file"), "rb") as opened:
        assert opened.read() == b"content"
    for place, failure in ((tmp_path / "fifo", OSError), (Path(os.devnull), OSError), (tmp_path, IsADirectoryError)):
        with pytest.raises(failure):
            open_plain(place)


def _socket(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(path))


@pytest.mark.timeout(30)
def test_a_socket_is_told_in_the_words_of_a_pipe(tmp_path: Path) -> None:
    _socket(tmp_path / "socket")

    with pytest.raises(OSError, match="no ordinary file") as refused:
        open_plain(tmp_path / "socket")

    assert refused.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "no ordinary file"),
        (_socket, "no ordinary file"),
        (lambda path: path.symlink_to(path.name), "a link"),
    ],
    ids=["folder", "pipe", "socket", "ring"],
)
@pytest.mark.parametrize("follow", [True, False])
def test_what_is_no_file_in_a_locks_place_is_named_with_what_it_is(
    tmp_path: Path, make: Callable[[Path], object], kind: str, *, follow: bool
) -> None:
    place = tmp_path / "a lock"
    make(place)

    with pytest.raises(UnfitPlace, match=f"a lock is {kind}") as refused:
        require_lock_place(place, follow=follow)

    assert f"ls -ld '{place}'" in refused.value.hint
    assert list(tmp_path.iterdir()) == [place]


def test_a_locks_place_may_be_empty_or_a_file_and_a_link_only_where_it_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "astray").symlink_to("nowhere")

    for name in ("file", "missing", "link", "astray"):
        require_lock_place(tmp_path / name, follow=True)
    for name in ("link", "astray"):
        with pytest.raises(UnfitPlace, match="is a link"):
            require_lock_place(tmp_path / name, follow=False)
