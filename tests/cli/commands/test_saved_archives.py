from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.cli.conftest import Post
from tests.served import Served, git


def test_archives_are_saved_beside_a_running_server_and_the_file_is_listed(post: Post, tmp_path: Path) -> None:
    post.server.await_drained()

    saved = json.loads(post.server.am("archive", "save", str(tmp_path / "s.tar"), "--json").stdout)
    listed = json.loads(post.server.am("archive", "list", str(tmp_path / "s.tar"), "--json").stdout)

    assert (saved["file"], saved["bytes"]) == (str(tmp_path / "s.tar"), (tmp_path / "s.tar").stat().st_size)
    assert (saved["sha256"], saved["projects"]) == (listed["sha256"], listed["projects"])
    assert post.project in [project["human_key"] for project in listed["projects"]]


def test_one_project_is_saved_without_a_server_to_standard_output(stopped_post: Post, tmp_path: Path) -> None:
    project = stopped_post.project
    stopped_post.server.am("archive", "save", str(tmp_path / "s.tar"), "--project", project)

    done = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "archive", "save", "-", "--project", project],
        env=stopped_post.server.environment(),
        capture_output=True,
        check=True,
    )

    assert done.stdout == (tmp_path / "s.tar").read_bytes()


def test_nothing_is_written_over_and_a_damaged_file_is_named(stopped_post: Post, tmp_path: Path) -> None:
    target = tmp_path / "s.tar"
    stopped_post.server.am("archive", "save", str(target))
    content = target.read_bytes()

    again = stopped_post.server.am("archive", "save", str(target))
    target.write_bytes(content[:3000] + bytes([content[3000] ^ 1]) + content[3001:])
    damaged = stopped_post.server.am("archive", "list", str(target))

    assert (again.returncode, damaged.returncode) == (1, 1)
    assert "is there already" in again.stderr
    assert "archives/" in damaged.stderr


def test_no_token_nor_its_hash_is_in_the_file(stopped_post: Post, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with closing(sqlite3.connect(stopped_post.server.database)) as store:
        hashes = [found for (found,) in store.execute("SELECT token_hash FROM agents WHERE token_hash IS NOT NULL")]

    stopped_post.server.am("archive", "save", str(out / "s.tar"))
    subprocess.run(["tar", "-xf", "s.tar"], cwd=out, check=True)
    for bundle in list((out / "archives").iterdir()):
        git(out, "clone", "--quiet", str(bundle), f"{bundle.name}-clone")

    said = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"BlueLake" in said
    assert hashes
    assert not any((one if isinstance(one, bytes) else one.encode()) in said for one in hashes)
    assert b"amt_" not in said


def test_a_history_is_exported_by_path(stopped_post: Post, tmp_path: Path) -> None:
    done = stopped_post.server.am("archive", "export", stopped_post.project, str(tmp_path / "out"), "--json")

    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (answer["path"], answer["exact"]) == (str(tmp_path / "out"), False)
    assert answer["commits"] == int(git(tmp_path / "out", "rev-list", "--count", "main"))


def test_a_saved_file_becomes_a_store_that_a_server_serves(stopped_post: Post, tmp_path: Path) -> None:
    new = Served(tmp_path / "new", HOME=str(tmp_path))
    stopped_post.server.am("archive", "save", str(tmp_path / "s.tar"))
    here = tmp_path / "here"
    here.mkdir()

    done = new.am("archive", "restore", str(tmp_path / "s.tar"), "--map", f"{stopped_post.project}={here}", "--json")
    with new, new.connect() as connection:
        mail = connection.call("fetch_inbox", project_key=str(here), agent_name="RedStone", include_bodies=True)
        beside = new.am("archive", "restore", str(tmp_path / "s.tar"))

    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (answer["path"], answer["messages"]) == (str(new.root), 3)
    assert answer["mapped"] == [{"old": stopped_post.project, "new": str(here)}]
    assert [item["id"] for item in mail] == [stopped_post.first_id]
    assert beside.returncode == 1
    assert "http://127.0.0.1" in beside.stderr


def test_a_mapping_that_is_none_is_refused_before_anything(stopped_post: Post, tmp_path: Path) -> None:
    stopped_post.server.am("archive", "save", str(tmp_path / "s.tar"))

    done = stopped_post.server.am(
        "archive", "restore", str(tmp_path / "s.tar"), "--into", str(tmp_path / "new"), "--map", "shop"
    )

    assert done.returncode == 2
    assert "--map OLD=NEW" in done.stderr
    assert not (tmp_path / "new").exists()


def test_what_no_readable_database_stands_beside_is_saved_and_the_exit_code_says_so(
    stopped_post: Post, tmp_path: Path
) -> None:
    server = stopped_post.server
    (slug,) = (path.name for path in server.archives())
    server.database.write_bytes(b"noise" * 1_000)

    saved = server.am("archive", "save", str(tmp_path / "s.tar"), "--json")
    streamed = subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", "archive", "save", "-"],
        env=server.environment(),
        capture_output=True,
        check=False,
    )
    exported = server.am("archive", "export", slug, str(tmp_path / "out"), "--json")
    listed = server.am("archive", "list", str(tmp_path / "s.tar"))

    assert [one.returncode for one in (saved, streamed, exported, listed)] == [1, 1, 1, 0]
    assert [json.loads(one.stdout)["database"] for one in (saved, exported)] == ["unreadable", "unreadable"]
    assert streamed.stdout == (tmp_path / "s.tar").read_bytes()
    assert (tmp_path / "out" / "archive.json").is_file()


def test_archives_without_a_database_are_all_there_is(stopped_post: Post, tmp_path: Path) -> None:
    stopped_post.server.database.unlink()

    saved = stopped_post.server.am("archive", "save", str(tmp_path / "s.tar"), "--json")

    assert (saved.returncode, json.loads(saved.stdout)["database"]) == (0, "missing")
    assert "Notice: only the archives were asked" in saved.stderr
