from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.store.rebuild.dump import dump
from tests.cli.command_line import am
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_it_asks_for_the_folders_name_and_then_begins_anew(stopped_post: Post) -> None:
    server = stopped_post.server
    home = server.root.parent

    done = am("reset", home=home, stdin="store\n", STORAGE_ROOT=str(server.root))

    assert done.returncode == 0, done.stderr
    assert "Its folder's name: " in done.stderr
    assert dict(line.split("\t") for line in done.stdout.splitlines())["emptied"] == str(server.root)
    with server:
        assert server.am("projects", "list").stdout == ""


@pytest.mark.parametrize("typed", ["stores\n", "\n"])
def test_another_name_changes_nothing(stopped_post: Post, typed: str) -> None:
    server = stopped_post.server
    before = list(dump(server.database))

    done = am("reset", home=server.root.parent, stdin=typed, STORAGE_ROOT=str(server.root))

    assert done.returncode == 1
    assert "Type the folder's own name: store" in done.stderr
    assert list(dump(server.database)) == before


def test_nobody_to_answer_changes_nothing(stopped_post: Post) -> None:
    server = stopped_post.server

    done = am("reset", home=server.root.parent, STORAGE_ROOT=str(server.root))

    assert done.returncode == 2
    assert "--confirm NAME" in done.stderr
    assert server.database.is_file()


def test_beside_a_server_it_is_refused(post: Post) -> None:
    done = post.server.am("reset", "--confirm", post.server.root.name)

    assert done.returncode == 1
    assert f"in use by process {post.server.pid}" in done.stderr
    assert post.server.database.is_file()


def test_without_a_store_there_is_nothing_to_empty(shell: Shell) -> None:
    done = shell.am("reset", "--confirm", ".mcp_agent_mail")

    assert done.code == 69
    assert not (shell.home / ".mcp_agent_mail").exists()


def test_json_asks_nothing(at_stopped: Shell) -> None:
    assert at_stopped.am("reset", "--json").code == 2

    told = at_stopped.am("reset", "--json", "--confirm", "store").json()

    assert Path(told["archive"]).is_file()
    assert told["stays"] == []


def test_without_an_archive_nothing_is_saved(at_stopped: Shell) -> None:
    told = at_stopped.am("reset", "--json", "--confirm", "store", "--no-archive").json()

    assert told["archive"] is None
    assert not at_stopped.context().settings.backup_dir.exists()


def test_a_store_that_a_link_leads_to_is_emptied_and_the_question_says_which(stopped_post: Post) -> None:
    server = stopped_post.server
    home = server.root.parent
    link = home / "link"
    link.symlink_to(server.root)

    done = am("reset", home=home, stdin="link\n", STORAGE_ROOT=str(link))

    assert done.returncode == 0, done.stderr
    assert f"{link} (a link: {server.root} is what is emptied)" in done.stderr
    assert link.is_symlink()
    assert not server.database.exists()
    assert not (server.root / "projects").exists()
    assert list((server.root / "undo").iterdir()) == []
    assert len(list((home / "link-backups").glob("reset-*.tar"))) == 1


KILLED = """
import sys
from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.offline.reset import reset_offline
from mcp_agent_mail.core.failpoints import FailPoint, Kill, reach_that_kills
silent = lambda _part: lambda _done, _total: None
saves = "--no-archive" not in sys.argv
reset_offline(load_context(), saves=saves, told=silent, fault_hook=reach_that_kills(Kill(point=FailPoint(sys.argv[1]))))
"""


def test_one_that_had_saved_nothing_says_so_when_it_is_finished(stopped_post: Post) -> None:
    server = stopped_post.server
    killed = [sys.executable, "-c", KILLED, "swap-begun", "--no-archive"]
    subprocess.run(killed, env=server.environment(), cwd=server.root.parent, check=False)

    done = server.am("reset", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, told["archive"]) == (0, None)
    assert told["finished"] == "A reset was interrupted; it is done now. It had saved nothing."


def test_a_start_that_finishes_it_takes_the_signals_away_too(stopped_post: Post) -> None:
    server = stopped_post.server
    killed = [sys.executable, "-c", KILLED, "swap-begun", "--no-archive"]
    subprocess.run(killed, env=server.environment(), cwd=server.root.parent, check=False)
    signal_file = server.root / "signals" / "projects" / "app" / "agents" / "BlueLake.signal"
    signal_file.parent.mkdir(parents=True, exist_ok=True)
    signal_file.touch()

    with server:
        assert not signal_file.exists()
    assert not (server.root / "signals" / "projects" / "app").exists()


@pytest.mark.parametrize("point", ["swap-begun", "swap-kept", "swap-placed"])
def test_killed_half_way_it_finishes_when_it_is_run_again(stopped_post: Post, point: str) -> None:
    server = stopped_post.server
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, point], env=server.environment(), cwd=server.root.parent, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    signal_file = server.root / "signals" / "projects" / "app" / "agents" / "BlueLake.signal"
    signal_file.parent.mkdir(parents=True, exist_ok=True)
    signal_file.touch()
    (saved,) = (server.root.parent / "store-backups").glob("reset-*.tar")
    checked = server.am("doctor", "check")

    done = server.am("reset", "--json")

    assert done.returncode == 0, done.stderr
    assert "A reset was interrupted; it is done now." in json.loads(done.stdout)["finished"]
    assert json.loads(done.stdout)["archive"] == str(saved)
    assert f"What it saved is in {saved}." in json.loads(done.stdout)["finished"]
    assert f"an interrupted reset of the store is done now; what it saved is in {saved}" in done.stderr
    assert not server.database.exists()
    assert not (server.root / "signals").exists()
    assert checked.returncode != 0
    assert "A reset of the store" in checked.stdout + checked.stderr
    assert f"What it saved is in {saved}." in checked.stdout + checked.stderr
    assert "`am reset`" in checked.stdout + checked.stderr


def test_killed_when_all_is_done_but_to_say_so_it_names_the_newest_saved_file(stopped_post: Post) -> None:
    server = stopped_post.server
    saved = json.loads(server.am("reset", "--json", "--confirm", server.root.name).stdout)["archive"]
    (server.root / "server.json").write_text('{"pid": 1}')

    done = server.am("reset", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, told["archive"]) == (0, saved)
    assert f"the newest is {saved}" in told["finished"]
    assert not (server.root / "server.json").exists()
    assert server.am("reset", "--json").returncode == 69
