from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import git
from tests.stored_contents import content_path, keep_content


def test_the_size_of_an_archive_is_measured_beside_a_running_server(post: Post) -> None:
    post.server.await_drained()

    archive = post.archive()
    rows = json.loads(post.server.am("archive", "stats", "--json").stdout)

    (row,) = (one for one in rows if one["project"] == archive.name)
    assert row["messages"] >= 3
    assert row["commits"] == int(git(archive, "rev-list", "--count", "main"))
    assert row["files"] == len(git(archive, "ls-tree", "-r", "--name-only", "main").splitlines())
    assert row["packs"] >= 1
    assert row["bytes_per_message"] == row["git_bytes"] // row["messages"]


def test_the_size_of_one_archive_is_a_line_of_cells_when_piped(stopped_post: Post) -> None:
    done = stopped_post.server.am("archive", "stats", "--project", stopped_post.project)

    cells = done.stdout.rstrip("\n").split("\t")
    assert done.returncode == 0
    assert cells[:2] == [stopped_post.server.archives()[0].name, "3"]


def month_of(archive: Path) -> str:
    year, month = min((archive / "messages").glob("*/*")).parts[-2:]
    return f"{year}-{month}"


def test_a_month_is_brought_back_through_a_running_server(post: Post) -> None:
    post.server.await_drained()
    archive = post.archive()

    done = post.server.am("archive", "checkout", month_of(archive), "--project", post.project, "--json")

    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (answer["project"], answer["month"], answer["path"]) == (archive.name, month_of(archive), str(archive))
    assert answer["files"] >= 9


def test_a_month_is_brought_back_without_a_server(stopped_post: Post) -> None:
    archive = stopped_post.archive()

    done = stopped_post.server.am("archive", "checkout", month_of(archive), "--project", stopped_post.project)

    assert done.returncode == 0, done.stderr
    assert f"path\t{archive}" in done.stdout.splitlines()


def test_a_month_without_mail_is_refused_with_the_months_there_are(post: Post) -> None:
    post.server.await_drained()
    archive = post.archive()

    done = post.server.am("archive", "checkout", "1999-12", "--project", post.project)

    assert done.returncode != 0
    assert "has no files of 1999-12" in done.stderr
    assert month_of(archive) in done.stderr


def test_what_is_no_month_is_refused(post: Post) -> None:
    done = post.server.am("archive", "checkout", "November", "--project", post.project)

    assert done.returncode != 0
    assert "YYYY-MM" in done.stderr


def test_agents_cannot_ask_for_a_month(post: Post) -> None:
    with post.server.connect() as connection:
        answer = connection.rpc("checkout_archive_month", {"project_slug": "x", "month": "2026-11"})

    assert answer.error_type == "PERMISSION_DENIED"


def test_status_says_how_large_the_archives_have_become(post: Post) -> None:
    post.server.await_drained()

    archive = json.loads(post.server.am("status", "--json").stdout)["archive"]

    assert {"packs", "index_bytes", "care_error"} <= archive.keys()
    assert archive["care_error"] is None


def test_the_history_of_the_archive_names_who_acted(at_post: Shell, post: Post) -> None:
    post.server.await_drained()

    commits = at_post.am("archive", "log", "--json").json()
    of_stone = at_post.am("archive", "log", "--agent", "redstone").lines()

    assert commits[0]["last_seq"] > commits[-1]["last_seq"] or len(commits) == 1
    assert any("BlueLake" in commit["agents"] for commit in commits)
    assert all("RedStone" in line[2].split(", ") for line in of_stone)
    assert of_stone


def test_the_size_of_a_project_that_is_named_is_told_alone(at_post: Shell, post: Post) -> None:
    slug = at_post.call("ensure_project", human_key="/code/sized")["slug"]
    post.server.await_drained()

    named = at_post.am("archive", "stats", "--project", "/code/sized").lines()
    all_of_them = at_post.am("archive", "stats").lines()

    assert [line[0] for line in named] == [slug]
    assert {slug, post.archive().name} <= {line[0] for line in all_of_them}


def test_an_archive_on_another_machine_is_told_as_such(at_post: Shell, post: Post) -> None:
    at_post.set(AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}", STORAGE_ROOT=str(at_post.home / "store"))

    done = at_post.am("archive", "log")

    assert done.code == 69
    assert f"The archive of {post.project} is not on this machine: {at_post.home}/store/projects/" in done.err


def test_the_folder_of_an_archive_is_one_line_for_git(at_post: Shell, post: Post) -> None:
    here = at_post.am("archive", "path")
    named = at_post.am("archive", "path", post.project, "--json").json()

    assert here.out == f"{post.archive()}\n"
    assert named == {"project": post.archive().name, "path": str(post.archive())}
    assert git(Path(here.out.strip()), "log", "--format=%s") != ""


def test_what_no_mail_carries_is_removed_beside_a_running_server(post: Post) -> None:
    content = keep_content(post.server.root, b"nobody carries it")
    os.utime(content_path(post.server.root, content), (0, 0))

    counted = post.server.am("archive", "gc", "--dry-run", "--json")
    removed = post.server.am("archive", "gc")

    assert json.loads(counted.stdout) == {"contents": 1, "bytes": 17, "dry_run": True}
    assert removed.returncode == 0, removed.stderr
    assert not content_path(post.server.root, content).exists()


def test_a_point_names_the_project_where_one_stands_for_a_renewal_too(at_stopped: Shell, stopped_post: Post) -> None:
    at_stopped.go_to(Path(stopped_post.project))

    done = at_stopped.am("archive", "renew", ".")

    assert done.code == 1
    assert "there is nothing to renew" in done.err
