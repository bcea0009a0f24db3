from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.migrate import shipped_migrations
from tests.cli.command_line import am, modules_after
from tests.cli.conftest import Post

SCHEMA = len(shipped_migrations())


def test_a_running_server_is_up_and_well(post: Post) -> None:
    done = post.server.am("status", "--json")

    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert (report["running"], report["status"]) == (True, "ok")
    assert report["url"] == f"http://127.0.0.1:{post.server.port}"
    assert report["owner"]["pid"] == post.server.pid
    assert report["store"] == {"exists": True, "schema_version": SCHEMA}
    assert report["archive"]["pending_events"] >= 0


def test_a_stopped_server_is_told_with_what_its_store_holds(stopped_post: Post) -> None:
    done = stopped_post.server.am("status", "--json")

    report = json.loads(done.stdout)
    assert done.returncode == 69
    assert (report["running"], report["status"], report["owner"]) == (False, "stopped", None)
    assert report["store"] == {"exists": True, "schema_version": SCHEMA}
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


def test_a_store_of_another_program_is_told_and_left_alone(tmp_path: Path) -> None:
    root = tmp_path / ".mcp_agent_mail"
    root.mkdir()
    (root / "mail.sqlite3").write_text("not a database")

    done = am("status", home=tmp_path)

    assert done.returncode == 69
    assert "no SQLite database" in done.stdout
    assert (root / "mail.sqlite3").read_text() == "not a database"


@pytest.mark.parametrize("command", [("status",), ("mail", "inbox")], ids=" ".join)
def test_beside_a_running_server_nothing_heavy_is_imported(post: Post, command: tuple[str, ...]) -> None:
    modules = modules_after(*command, home=Path(post.project), STORAGE_ROOT=str(post.server.root))

    heavy = {"fastmcp", "pydantic", "sqlmodel", "aiosqlite", "asyncio", "rich", "git", "mcp_agent_mail.bootstrap"}
    assert modules & heavy == set()
