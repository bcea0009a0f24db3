from __future__ import annotations

from tests.cli.conftest import Post


def test_a_rebuild_tells_what_it_made_and_what_not(stopped_post: Post) -> None:
    kept = stopped_post.server.database.parent / "kept"
    older = [kept / f"2026-01-01T00-00-00Z-n{number}" / stopped_post.server.database.name for number in (1, 2, 3)]
    for database in older:
        database.parent.mkdir(parents=True)
        database.touch()

    done = stopped_post.server.am("doctor", "rebuild")

    told = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert told["messages"] == "3"
    assert told["kept"].startswith(str(stopped_post.server.database.parent / "kept"))
    assert told["removed"] == str(older[0])
    assert "registration tokens" in told["not rebuilt"]
    assert told["next"].startswith("am token reissue AGENT")


def test_a_time_needs_a_place(stopped_post: Post) -> None:
    done = stopped_post.server.am("doctor", "rebuild", "--at", "2026-11-21")

    assert done.returncode == 1
    assert "--into" in done.stderr


def test_what_is_no_time_is_misuse(stopped_post: Post) -> None:
    done = stopped_post.server.am("doctor", "rebuild", "--at", "yesterday", "--into", "elsewhere")

    assert done.returncode == 2
    assert "'yesterday' is no time. Write it as 2026-" in done.stderr
