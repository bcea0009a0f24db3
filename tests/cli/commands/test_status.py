from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.commands import status
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.migrate import shipped_migrations
from tests.cli.beginning_server import beginning
from tests.cli.command_line import am, modules_after
from tests.cli.conftest import Post
from tests.cli.scripted_server import Scripted, ScriptedServer, answer
from tests.cli.shell import Shell

WITHIN_S = 60.0
SCHEMA = len(shipped_migrations())


def test_a_running_server_is_up_and_well(post: Post) -> None:
    done = post.server.am("status", "--json")

    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert (report["running"], report["status"]) == (True, "ok")
    assert report["url"] == f"http://127.0.0.1:{post.server.port}"
    assert report["owner"]["pid"] == post.server.pid
    assert report["store"] == {"exists": True, "schema_version": SCHEMA, "last_error": None}
    assert report["archive"]["pending_events"] >= 0


def test_a_stopped_server_is_told_with_what_its_store_holds(stopped_post: Post) -> None:
    done = stopped_post.server.am("status", "--json")

    report = json.loads(done.stdout)
    assert done.returncode == 69
    assert (report["running"], report["status"], report["owner"]) == (False, "stopped", None)
    assert report["store"] == {"exists": True, "schema_version": SCHEMA, "last_error": None}
    assert report["archive"]["pending_events"] == 0
    assert report["archive"]["last_commit_at"] is not None


def test_where_nothing_is_nothing_is_made(tmp_path: Path) -> None:
    done = am("status", home=tmp_path, HTTP_PORT="1")

    assert done.returncode == 69
    assert done.stdout.splitlines()[0] == "server\tnot running, and there is no store yet (start both with: am serve)"
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_holds_the_store_without_serving_is_named(tmp_path: Path) -> None:
    root = tmp_path / ".mcp_agent_mail"
    with StoreLock(root, root / "mail.sqlite3"):
        report = json.loads(am("status", "--json", home=tmp_path, HTTP_PORT="1").stdout)

    assert report["status"] == "starting"
    assert report["owner"]["url"] is None


def test_a_named_server_that_does_not_answer_is_told(tmp_path: Path) -> None:
    done = am("status", "--json", home=tmp_path, AGENT_MAIL_URL="http://127.0.0.1:1/mcp")

    report = json.loads(done.stdout)
    assert done.returncode == 69
    assert (report["status"], report["url"]) == ("unreachable", "http://127.0.0.1:1")


NO_ROOM = {
    "error": {"type": "UNAVAILABLE", "message": "Full.", "hint": "Call again in 1 s.", "data": {"retry_after_s": 1}}
}


@pytest.mark.parametrize(
    "told",
    [
        answer(NO_ROOM, status=503),
        answer({"detail": "The server has no room for another request just now."}, status=503),
    ],
)
def test_a_server_that_has_no_room_is_up_and_busy(told: Scripted, shell: Shell) -> None:
    with ScriptedServer(told) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        report = shell.am("status", "--json")
        words = shell.am("status")

    assert (report.code, report.json()["running"], report.json()["status"]) == (1, True, "busy")
    assert words.code == 1
    assert dict(words.lines())["server"].startswith("up, and busy: look again in 5 s")


LIMITED = {"type": "RATE_LIMITED", "message": "Too often.", "hint": "Call again in 9 s.", "data": {"retry_after_s": 9}}


def test_rates_that_hold_it_up_for_long_are_no_fault_of_the_server(shell: Shell) -> None:
    with ScriptedServer(answer({"error": LIMITED}, status=429)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        report = shell.am("status", "--json")
        words = shell.am("status")

    assert (report.code, report.json()["running"], report.json()["status"]) == (1, True, "limited")
    assert dict(words.lines())["server"].startswith("up; it is no fault that its rates hold this command up")
    assert dict(words.lines())["problem"] == "Too often. Call again in 9 s."


def test_short_rates_are_waited_for(shell: Shell) -> None:
    short = LIMITED | {"data": {"retry_after_s": 0.1}}
    with ScriptedServer(answer({"error": short}, status=429), answer(health())) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status", "--json")

    assert (done.code, done.json()["status"]) == (0, "ok")
    assert done.err == "Notice: the server takes no more requests just now; waiting 0.1 s.\n"


def test_a_server_that_begins_this_store_meanwhile_is_its_own(shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(shell.home / "new"))
    context = shell.context()
    told = health(database_url=context.settings.database_url)
    with beginning(context, {"/rpc/health_check": answer(told)}) as (url, _):
        shell.set(HTTP_PORT=url.rpartition(":")[2])
        report = shell.am("status", "--json")

    assert (report.code, report.json()["url"], report.json()["other_server"]) == (0, url, None)


def test_a_server_that_is_slow_and_lives_is_busy(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_ANSWER_TIMEOUT_S", 0.2)
    alive = {"/health/liveness": answer({"status": "alive"})}
    with ScriptedServer(answer(health()), late_s=WITHIN_S, at_once=alive) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status", "--json")

    assert (done.code, done.json()["status"]) == (1, "busy")
    assert "did not answer in time" in done.json()["problem"]


def test_what_answers_503_and_is_no_server_of_ours_is_not_busy(shell: Shell) -> None:
    with ScriptedServer(answer(["Bad gateway"], status=503)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status", "--json")

    assert (done.code, done.json()["status"]) == (69, "unreachable")


def test_a_store_of_another_program_is_told_and_left_alone(tmp_path: Path) -> None:
    root = tmp_path / ".mcp_agent_mail"
    root.mkdir()
    (root / "mail.sqlite3").write_text("not a database")

    done = am("status", home=tmp_path)

    assert done.returncode == 69
    assert "no SQLite database" in done.stdout
    assert (root / "mail.sqlite3").read_text() == "not a database"


@pytest.mark.parametrize("command", [("status",), ("doctor", "check"), ("migrate",), ("serve", "--port", "0")])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_in_the_place_of_the_database_is_told_alike(
    tmp_path: Path, command: tuple[str, ...], make: Callable[[Path], object]
) -> None:
    root = tmp_path / ".mcp_agent_mail"
    root.mkdir(mode=0o700)
    make(root / "mail.sqlite3")

    done = am(*command, home=tmp_path, HTTP_PORT="1")

    assert done.returncode != 0
    assert f"{root / 'mail.sqlite3'} is no SQLite database. It was left untouched." in done.stdout + done.stderr
    assert "Errno" not in done.stderr


@pytest.mark.parametrize("command", [("status",), ("mail", "inbox")], ids=" ".join)
def test_beside_a_running_server_nothing_heavy_is_imported(post: Post, command: tuple[str, ...]) -> None:
    modules = modules_after(*command, home=Path(post.project), STORAGE_ROOT=str(post.server.root))

    heavy = {"fastmcp", "pydantic", "sqlmodel", "aiosqlite", "asyncio", "rich", "git", "mcp_agent_mail.bootstrap"}
    assert modules & heavy == set()


# Plain JSON, as `health_check` answers.
def health(*, archive: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    told = {"pending_events": 0, "oldest_pending_s": 0, "last_commit_at": None, "last_error": None, **(archive or {})}
    return {
        "status": "ok",
        "version": "1",
        "archive": told,
        "store": {"schema_version": 1, "owner_pid": 7},
        "workers": {},
        **more,
    }


# Likewise.
def lines_of(shell: Shell, **told: Any) -> dict[str, str]:
    """What is said of a server that answers so."""
    with ScriptedServer(answer(health(**told))) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status")
    return {line[0]: line[1] for line in done.lines()}


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        ({}, None),
        ({"to_mend": 0, "mending": 0, "hung": 0}, None),
        ({"to_mend": None}, "not looked at yet"),
        ({"to_mend": 2, "mending": 1, "hung": 0}, "3 archives to be mended"),
        ({"to_mend": 0, "mending": 1, "hung": 4}, "1 archives to be mended, 4 that hang"),
        ({"to_mend": 0, "mending": 0, "hung": 4}, "4 that hang"),
    ],
)
def test_archives_that_are_to_be_mended_are_told(archive: dict[str, Any], said: str | None, shell: Shell) -> None:
    assert lines_of(shell, archive=archive).get("mending") == said


def test_what_works_beside_the_requests_is_told_in_a_line_each(shell: Shell) -> None:
    lines = lines_of(
        shell,
        workers={
            "retention": {"enabled": False, "last_error": None, "deleted": 3},
            "sweeper": {"enabled": True, "last_error": None, "ended_leases": 3, "is_late": True},
            "reports": {"enabled": True, "last_error": "no room", "sent": 0},
        },
    )

    assert lines["retention"] == "off"
    assert lines["sweeper"] == "on, 3 ended leases"
    assert lines["reports"] == "on, 0 sent, last error: no room"


def test_figures_of_the_archives_are_told_where_there_are_any(shell: Shell) -> None:
    late = {"pending_events": 3, "oldest_pending_s": 1.5, "packs": 2, "index_bytes": 4_096, "last_error": "full"}
    figures = lines_of(shell, archive=late)
    none = lines_of(shell, archive={"pending_events": None})

    assert figures["pending"] == "3 events for Git, the oldest for 1.5 s"
    assert figures["largest archive"] == "2 packs, an index of 4 KiB"
    assert figures["archive"] == "full"
    assert not {"pending", "largest archive", "archive"} & set(none)


def test_why_a_store_takes_no_more_is_told(shell: Shell) -> None:
    full = "The store takes 2.0 MiB of the 1.0 MiB that it may."

    assert lines_of(shell, store={"schema_version": 1, "owner_pid": 7, "last_error": full})["writing"] == full
    assert "writing" not in lines_of(shell)


def test_a_server_that_is_up_and_not_well_is_an_exit_code_of_its_own(shell: Shell) -> None:
    with ScriptedServer(answer(health(status="degraded"))) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status")

    assert done.code == 1
    assert done.lines()[0] == ["server", "up, degraded: mail is safe and can be read, but not all is well"]
    assert ["owner", "process 7"] in done.lines()


def test_where_no_store_is_the_server_of_another_is_named_as_that(post: Post, shell: Shell) -> None:
    shell.set(HTTP_PORT=str(post.server.port))

    done = shell.am("status")

    lines = dict(done.lines())
    url = f"http://127.0.0.1:{post.server.port}"
    assert done.code == 0
    assert lines["server"] == "up, well, for another store than yours"
    assert lines["other server"] == f"{url} serves another store (sqlite:///{post.server.root}/mail.sqlite3)"
    assert "store" not in lines


def test_beside_a_store_that_was_named_or_is_there_the_server_of_another_is_not_taken_for_its(
    post: Post, at_stopped: Shell, tmp_path: Path
) -> None:
    at_stopped.set(HTTP_PORT=str(post.server.port))
    there = at_stopped.am("status")
    at_stopped.set(STORAGE_ROOT=str(tmp_path / "new"))
    named = at_stopped.am("status")

    assert (there.code, named.code) == (69, 69)
    assert there.lines()[0] == ["server", "not running (start it with: am serve)"]
    assert named.lines()[0] == ["server", "not running, and there is no store yet (start both with: am serve)"]
    for done in (there, named):
        other = dict(done.lines())["other server"]
        assert f"serves another store (sqlite:///{post.server.root}/mail.sqlite3)" in other
        assert f"to use it: AGENT_MAIL_URL=http://127.0.0.1:{post.server.port}" in other


def test_a_named_server_says_whose_store_it_serves(post: Post, shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}")
    elsewhere = dict(shell.am("status").lines())
    shell.set(STORAGE_ROOT=str(post.server.root))
    here = dict(shell.am("status").lines())

    assert elsewhere["other store"] == f"sqlite:///{post.server.root}/mail.sqlite3"
    assert "other store" not in here


def test_a_server_that_refuses_is_up(shell: Shell) -> None:
    with ScriptedServer(answer({"detail": "No token."}, status=401)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status")

    lines = dict(done.lines())
    assert done.code == 1
    assert lines["server"] == "up, and refuses us"
    assert lines["problem"] == (
        "No token. Set AGENT_MAIL_TOKEN to a token that was issued (am token create), "
        "or the server's HTTP_BEARER_TOKEN."
    )


def test_what_is_no_server_of_ours_does_not_answer_as_one(shell: Shell) -> None:
    with ScriptedServer(answer(["hello"], status=404)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("status")

    assert done.code == 69
    assert "no agent-mail server" in dict(done.lines())["problem"]


@pytest.mark.parametrize("has_store", [True, False])
def test_a_port_taken_by_what_never_answers_is_told(
    has_store: bool, stopped_post: Post, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_ANSWER_TIMEOUT_S", 0.2)
    if has_store:
        shell.set(STORAGE_ROOT=str(stopped_post.server.root))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        shell.set(HTTP_PORT=str(port))
        done = shell.am("status")
        report = json.loads(shell.am("status", "--json").out)

    lines = dict(done.lines())
    assert done.code == 69
    assert lines["server"].startswith("not running")
    assert lines["other server"].startswith(f"http://127.0.0.1:{port} is taken: ")
    assert "did not answer in time. Start yours with another --port" in lines["other server"]
    assert (report["running"], report["other_server"]["is_stranger"]) == (False, True)


def test_a_port_taken_by_another_program_is_told(shell: Shell) -> None:
    with ScriptedServer(answer(["hello"], status=404)) as server:
        shell.set(HTTP_PORT=str(server.port))
        done = shell.am("status")

    assert done.code == 69
    assert "is taken: What answers there is no agent-mail server" in dict(done.lines())["other server"]


@pytest.mark.parametrize(
    "command",
    ["doctor verify", "doctor backup", "history agent BlueLake", "mail inbox BlueLake", "serve"],
)
def test_where_the_database_is_lost_every_command_says_so_and_none_begins_another(
    at_stopped: Shell, stopped_post: Post, command: str
) -> None:
    stopped_post.server.database.unlink()

    done = at_stopped.am(*command.split())

    assert done.code == 1
    assert "the database of this store is lost" in done.err
    assert "am doctor rebuild" in done.err
    assert not stopped_post.server.database.exists()


def test_status_tells_of_a_lost_database_and_a_rebuild_mends_it(at_stopped: Shell, stopped_post: Post) -> None:
    stopped_post.server.database.unlink()
    lost = at_stopped.am("status", "--json")

    rebuilt = at_stopped.am("doctor", "rebuild")

    assert lost.code == 69
    assert (lost.json()["status"], lost.json()["store"]["exists"]) == ("lost", False)
    assert "am doctor rebuild" in lost.json()["problem"]
    assert rebuilt.code == 0, rebuilt.err
    assert at_stopped.am("status", "--json").json()["status"] == "stopped"
