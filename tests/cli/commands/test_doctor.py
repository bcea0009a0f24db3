from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.command_line import am
from tests.cli.conftest import Post
from tests.store.foreign_parts import change


def a_letter(post: Post) -> Path:
    (archive,) = post.server.archives()
    return next(iter(sorted(archive.glob("agents/RedStone/inbox/*/*/*/*.md"))))


def test_beside_a_running_server_a_good_store_is_clean(post: Post) -> None:
    post.server.await_drained()

    done = post.server.am("doctor", "verify")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "result\tclean"


def test_without_a_server_a_good_store_is_clean(stopped_post: Post) -> None:
    done = stopped_post.server.am("doctor", "verify", "--json")

    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert (report["clean"], report["findings"], report["pending_events"]) == (True, [], 0)
    assert report["files"] > 5


def test_a_changed_file_is_a_finding_with_evidence_and_the_next_command(stopped_post: Post) -> None:
    letter = a_letter(stopped_post)
    letter.unlink()
    letter.write_text("forged")

    done = stopped_post.server.am("doctor", "verify", "--json")

    (finding,) = json.loads(done.stdout)["findings"]
    assert done.returncode == 1
    assert finding["path"] == str(letter.relative_to(stopped_post.server.archives()[0]))
    assert finding["evidence"]
    assert finding["next_step"].startswith("git -C ")


def test_a_search_index_that_misses_mail_is_a_finding(stopped_post: Post) -> None:
    with closing(sqlite3.connect(stopped_post.server.database)) as connection, connection:
        connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")

    done = stopped_post.server.am("doctor", "verify", "--json")

    (finding,) = json.loads(done.stdout)["findings"]
    assert done.returncode == 1
    assert (finding["check"], finding["problem"], finding["project"]) == ("search index", "different", None)


def test_a_view_that_never_ends_is_a_finding_and_is_not_run(stopped_post: Post) -> None:
    change(
        stopped_post.server.database,
        "ALTER TABLE projects RENAME TO kept",
        "CREATE VIEW projects AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT kept.* FROM kept, c WHERE c.x < 0",
    )

    done = stopped_post.server.am("doctor", "verify", "--json")

    findings = json.loads(done.stdout)["findings"]
    assert done.returncode == 1
    assert {finding["check"] for finding in findings} == {"schema"}
    status = stopped_post.server.am("status")
    assert "projects differs" in status.stdout


def test_a_piped_finding_is_one_line_of_cells(stopped_post: Post) -> None:
    a_letter(stopped_post).unlink()

    done = stopped_post.server.am("doctor", "verify")

    finding = done.stdout.splitlines()[0].split("\t")
    assert done.returncode == 1
    assert finding[:2] == ["finding", "work tree"]
    assert len(finding) == 7


def test_without_a_store_there_is_nothing_to_verify(tmp_path: Path) -> None:
    done = am("doctor", "verify", home=tmp_path)

    assert done.returncode == 69
    assert done.stderr.startswith(f"Error (UNAVAILABLE): There is no store in {tmp_path}/.mcp_agent_mail.")
