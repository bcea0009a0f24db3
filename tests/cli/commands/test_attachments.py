from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.cli.commands.attachments import (
    FileInTheWay,
    UnfitFolder,
    WrongContent,
    attached,
    bare_digest,
    save,
    save_as,
)
from mcp_agent_mail.cli.exit_codes import NoServer
from tests.cli.shell import Shell

CONTENT = [b"one ", b"two"]
DIGEST = hashlib.sha256(b"one two").hexdigest()


def _names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_file_is_named_by_its_whole_path_and_what_is_none_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")

    assert attached("a b.png") == str(tmp_path / "a b.png")
    assert attached("~/a.png") == "/home/me/a.png"
    assert attached("/a.png") == "/a.png"
    assert [attached(one) for one in ("sha256:0f", "SHA256:0f", "data:,x")] == ["sha256:0f", "SHA256:0f", "data:,x"]


def test_a_content_is_saved_whole_and_told(tmp_path: Path) -> None:
    target = tmp_path / "plan.png"

    saved = save(CONTENT, DIGEST.upper(), target, is_forced=False)

    assert saved == {"file": str(target), "bytes": 7, "sha256": DIGEST}
    assert target.read_bytes() == b"one two"
    assert _names(tmp_path) == ["plan.png"]


def test_nothing_is_written_over_what_is_there_unless_forced(tmp_path: Path) -> None:
    target, link = tmp_path / "mine", tmp_path / "link"
    target.write_bytes(b"mine")
    link.symlink_to(tmp_path / "elsewhere")

    for there in (target, link):
        with pytest.raises(FileInTheWay):
            save(CONTENT, DIGEST, there, is_forced=False)
    save(CONTENT, DIGEST, link, is_forced=True)

    assert target.read_bytes() == b"mine"
    assert (link.is_symlink(), link.read_bytes()) == (False, b"one two")
    assert _names(tmp_path) == ["link", "mine"]


def test_what_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    target = tmp_path / "plan.png"

    def pieces() -> Iterator[bytes]:
        yield b"one "
        target.write_bytes(b"mine")
        yield b"two"

    with pytest.raises(FileInTheWay):
        save(pieces(), DIGEST, target, is_forced=False)
    assert target.read_bytes() == b"mine"
    assert _names(tmp_path) == ["plan.png"]


def test_another_content_or_a_part_of_it_is_not_saved(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"one "
        raise NoServer("gone")

    with pytest.raises(WrongContent):
        save(CONTENT[:1], DIGEST, tmp_path / "a", is_forced=False)
    with pytest.raises(NoServer):
        save(broken(), DIGEST, tmp_path / "a", is_forced=True)

    assert _names(tmp_path) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    for target in (tmp_path / "nowhere" / "a", tmp_path):
        with pytest.raises(UnfitFolder):
            save(CONTENT, DIGEST, target, is_forced=True)


def test_an_attachment_that_nobody_sent_is_refused_and_nothing_is_written(at_post: Shell, tmp_path: Path) -> None:
    done = at_post.am("mail", "attachment", DIGEST, "-o", str(tmp_path / "a"))

    assert (done.code, done.out) == (1, "")
    assert f"No attachment {DIGEST} is to be seen here." in done.err
    assert _names(tmp_path) == []


def test_a_digest_is_taken_as_mail_is_sent_with_it() -> None:
    assert [bare_digest(one) for one in (DIGEST, f"sha256:{DIGEST}", f" SHA256:{DIGEST} ")] == [DIGEST] * 3


def test_a_content_is_written_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert save_as("-", CONTENT, DIGEST, is_forced=False) is None
    assert capfdbinary.readouterr().out == b"one two"

    with pytest.raises(WrongContent):
        save_as("-", CONTENT, "0" * 64, is_forced=False)
