from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.cli.env_files.env_file import EnvFileThere, EnvFileUnfit, chosen_path, set_value, write_new
from mcp_agent_mail.cli.exit_codes import BadSettings
from mcp_agent_mail.clients.setup.staged_file import staged_at


def test_the_file_that_counts_is_the_named_one_else_that_of_the_environment_else_that_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AGENT_MAIL_ENV_FILE", raising=False)
    monkeypatch.chdir(tmp_path)

    assert chosen_path(None) == tmp_path / ".config" / "mcp-agent-mail" / ".env"
    monkeypatch.setenv("AGENT_MAIL_ENV_FILE", "~/mine")
    assert chosen_path(None) == tmp_path / "mine"
    assert chosen_path(Path("here.env")) == tmp_path / "here.env"
    with pytest.raises(BadSettings, match="folder of that name"):
        chosen_path(tmp_path)


def test_what_is_written_is_for_this_user_alone_and_never_over_anything(tmp_path: Path) -> None:
    path = tmp_path / "new" / ".env"

    write_new(path, "A=1\n")
    with pytest.raises(EnvFileThere):
        write_new(path, "A=2\n")

    assert path.read_text() == "A=1\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [one.name for one in path.parent.iterdir()] == [".env"]


def test_a_link_to_nothing_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.symlink_to("elsewhere")

    with pytest.raises(EnvFileThere):
        write_new(path, "A=1\n")

    assert not (tmp_path / "elsewhere").exists()


def test_the_second_name_that_a_kill_has_left_of_a_new_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n")
    staged_at(path).hardlink_to(path)

    set_value(path, "HTTP_PORT", "9000")

    assert path.read_text() == "A=1\nHTTP_PORT=9000\n"
    assert [one.name for one in tmp_path.iterdir()] == [".env"]


def test_a_change_keeps_the_mode_and_goes_where_a_link_leads(tmp_path: Path) -> None:
    real, path = tmp_path / "real", tmp_path / ".env"
    real.write_bytes(b"# Mine.\r\nA=1\r\n")
    real.chmod(0o640)
    path.symlink_to("real")
    before = real.stat().st_ino

    set_value(path, "HTTP_PORT", "9000")

    assert path.is_symlink()
    assert real.read_bytes() == b"# Mine.\r\nA=1\r\nHTTP_PORT=9000\r\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.stat().st_ino != before, "it was written over, not replaced in one step"
    assert sorted(one.name for one in tmp_path.iterdir()) == [".env", "real"]


@pytest.mark.parametrize("content", [b"HTTP_PORT=1 # mine\n", b"A=\xff\n", b"#" * ((1 << 20) + 1)])
def test_a_file_that_cannot_be_changed_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".env"
    path.write_bytes(content)

    with pytest.raises(EnvFileUnfit, match="was not changed"):
        set_value(path, "HTTP_PORT", "9000")

    assert path.read_bytes() == content


def test_there_is_nothing_to_change_where_no_file_is(tmp_path: Path) -> None:
    assert set_value(tmp_path / ".env", "HTTP_PORT", "9000") is None
    with pytest.raises(EnvFileUnfit, match="no plain file"):
        set_value(Path(os.devnull), "HTTP_PORT", "9000")
