from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.cli.offline.reset import NotSaved, is_finished, reset_offline
from mcp_agent_mail.cli.offline.saved_archives import save_offline
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.rebuild.dump import dump
from tests.cli.conftest import Post
from tests.cli.shell import Shell


class Killed(BaseException):
    """As a process that ends there."""


def silent(_part: str) -> Callable[[int, int | None], None]:
    return lambda _done, _total: None


def restored(shell: Shell, file: str, into: Path) -> list[str]:
    done = shell.am("archive", "restore", file, "--into", str(into))
    assert done.code == 0, done.err
    return list(dump(into / "mail.sqlite3"))


def test_the_saved_file_brings_all_of_the_mail_back(at_stopped: Shell, stopped_post: Post, tmp_path: Path) -> None:
    before = list(dump(stopped_post.server.database))

    told = reset_offline(at_stopped.context(), saves=True, told=silent)

    assert told["projects"] == 1
    assert Path(told["archive"]).parent == at_stopped.context().settings.backup_dir
    assert Path(told["archive"]).stat().st_mode & 0o777 == 0o600
    assert not stopped_post.server.database.exists()
    assert not (stopped_post.server.root / "projects").exists()
    assert restored(at_stopped, told["archive"], tmp_path / "again") == before


def test_what_git_has_not_got_yet_is_in_the_file_too(at_stopped: Shell, stopped_post: Post, tmp_path: Path) -> None:
    gateway = InProcessGateway(at_stopped.context().settings, is_rehearsal=True)
    gateway.open()
    gateway.call(
        "send_message",
        {
            "project_key": stopped_post.project,
            "sender_name": "BlueLake",
            "to": ["RedStone"],
            "subject": "Only in the database",
            "body_md": "so far",
        },
    )
    gateway.close()
    assert at_stopped.am("status", "--json").json()["archive"]["pending_events"] > 0

    told = reset_offline(at_stopped.context(), saves=True, told=silent)

    assert any("Only in the database" in line for line in restored(at_stopped, told["archive"], tmp_path / "again"))


@pytest.mark.parametrize("folder", ["", "undo", "signals"])
def test_of_the_folder_of_signals_only_signals_go(at_stopped: Shell, stopped_post: Post, folder: str) -> None:
    """It may be any folder, the store's own too."""
    root = stopped_post.server.root
    at_stopped.set(NOTIFICATIONS_SIGNALS_DIR=str(root / folder))
    others = root / folder / "somebody's.txt"
    signal = root / folder / "projects" / "gone" / "agents" / "BlueLake.signal"
    signal.parent.mkdir(parents=True)
    signal.touch()
    others.touch()

    reset_offline(at_stopped.context(), saves=False, told=silent)

    assert others.exists()
    assert not signal.exists()


def test_no_link_is_followed_to_signals(at_stopped: Shell, stopped_post: Post, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "BlueLake.signal").touch()
    folder = stopped_post.server.root / "signals"
    at_stopped.set(NOTIFICATIONS_SIGNALS_DIR=str(folder))
    (folder / "projects" / "app").mkdir(parents=True)
    (folder / "projects" / "app" / "agents").symlink_to(elsewhere)

    reset_offline(at_stopped.context(), saves=False, told=silent)

    assert (elsewhere / "BlueLake.signal").exists()


def test_nothing_goes_where_the_saved_file_cannot_be_read_back(
    at_stopped: Shell, stopped_post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a disk that has lost the file's middle by the time it is read."""

    def save(context: CliContext, target: Path, *rest: Any, **more: Any) -> dict[str, Any]:
        saved = save_offline(context, target, *rest, **more)
        content = bytearray(target.read_bytes())
        content[len(content) // 2] ^= 0xFF
        target.write_bytes(content)
        return saved

    monkeypatch.setattr("mcp_agent_mail.cli.offline.reset.save_offline", save)
    before = list(dump(stopped_post.server.database))

    with pytest.raises(AgentMailError):
        reset_offline(at_stopped.context(), saves=True, told=silent)

    assert list(dump(stopped_post.server.database)) == before


@pytest.mark.parametrize("point", [FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_PLACED])
def test_killed_while_it_empties_the_file_is_there_and_the_next_one_finishes(
    at_stopped: Shell, stopped_post: Post, tmp_path: Path, point: FailPoint
) -> None:
    before = list(dump(stopped_post.server.database))

    def kill(reached: FailPoint) -> None:
        if reached is point:
            raise Killed

    with pytest.raises(Killed):
        reset_offline(at_stopped.context(), saves=True, told=silent, fault_hook=kill)

    (saved,) = at_stopped.context().settings.backup_dir.iterdir()
    assert is_finished(at_stopped.context())
    assert not stopped_post.server.database.exists()
    assert restored(at_stopped, str(saved), tmp_path / "again") == before


def test_killed_while_it_saves_the_store_is_whole_and_the_next_one_leaves_nothing_lying(
    at_stopped: Shell, stopped_post: Post
) -> None:
    before = list(dump(stopped_post.server.database))
    left = at_stopped.context().settings.backup_dir / ".reset-2026-01-01T000000Z-n1.tar.saving"

    with pytest.raises(Killed):
        reset_offline(at_stopped.context(), saves=True, told=_dying_when_it_saves)
    unchanged = list(dump(stopped_post.server.database))
    left.mkdir(mode=0o700, parents=True, exist_ok=True)  # As a real kill leaves it.
    (left / "bundle").write_bytes(b"half of one")
    reset_offline(at_stopped.context(), saves=True, told=silent)

    assert unchanged == before
    assert [path.suffix for path in left.parent.iterdir()] == [".tar"]


def _dying_when_it_saves(part: str) -> Callable[[int, int | None], None]:
    def tell(_done: int, _total: int | None) -> None:
        if part == "saving archives":
            raise Killed

    return tell


def test_a_database_that_cannot_be_asked_is_not_let_go_of(at_stopped: Shell, stopped_post: Post) -> None:
    stopped_post.server.database.write_bytes(b"no database" * 100)

    with pytest.raises(NotSaved, match="no database of this program"):
        reset_offline(at_stopped.context(), saves=True, told=silent)

    assert stopped_post.server.database.read_bytes() == b"no database" * 100
    assert (stopped_post.server.root / "projects").is_dir()
    assert reset_offline(at_stopped.context(), saves=False, told=silent)["archive"] is None
    assert not stopped_post.server.database.exists()


def test_an_archive_that_is_not_whole_is_not_let_go_of(at_stopped: Shell, stopped_post: Post) -> None:
    shutil.rmtree(stopped_post.archive() / ".git")

    with pytest.raises(AgentMailError, match="archive"):
        reset_offline(at_stopped.context(), saves=True, told=silent)

    assert stopped_post.server.database.is_file()


def test_signals_that_a_reset_was_killed_before_are_taken_away_by_the_next(
    at_stopped: Shell, stopped_post: Post
) -> None:
    """Its store is gone already."""
    reset_offline(at_stopped.context(), saves=False, told=silent)
    signal = at_stopped.context().settings.notifications_signals_dir / "projects" / "app" / "agents" / "BlueLake.signal"
    signal.parent.mkdir(parents=True)
    signal.touch()

    assert is_finished(at_stopped.context())

    assert not signal.exists()
    with pytest.raises(NoServer, match="nothing to empty"):
        is_finished(at_stopped.context())
    assert stopped_post.server.root.is_dir()
