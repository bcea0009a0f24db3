from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Post


def _backup(post: Post) -> dict[str, object]:
    done = post.server.am("doctor", "backup", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_beside_a_server_there_is_a_backup_and_no_restore(post: Post) -> None:
    made = _backup(post)

    assert made["verified"] is True
    assert Path(str(made["path"])).parent.name.endswith("-backups")
    refused = post.server.am("doctor", "restore", str(made["path"]))
    repaired = post.server.am("doctor", "repair")
    assert (refused.returncode, repaired.returncode) == (1, 1)
    assert refused.stderr == repaired.stderr
    assert "is in use by process" in refused.stderr
    assert f"Stop it (kill {post.server.pid}), then run this again." in refused.stderr


def test_a_stopped_store_is_restored_and_brought_back(stopped_post: Post) -> None:
    made = _backup(stopped_post)
    server = stopped_post.server

    done = server.am("doctor", "restore", Path(str(made["path"])).name, "--json")
    assert done.returncode == 0, done.stderr
    restored = json.loads(done.stdout)
    assert (restored["verified"], restored["messages"]) == (True, made["messages"])
    assert server.am("doctor", "verify").returncode == 0

    undone = json.loads(server.am("doctor", "restore", "--undo", "--json").stdout)
    assert (undone["restored"], undone["verified"]) == (restored["undo"], None)
    assert "verified\tnot checked: am doctor verify" in server.am("doctor", "restore", "--undo").stdout
    assert server.am("doctor", "verify").returncode == 0


def test_a_restore_of_what_was_rebuilt_ends_with_the_next_command_for_tokens(
    stopped_post: Post, tmp_path: Path
) -> None:
    server, then = stopped_post.server, str(tmp_path / "then")
    made = server.am("doctor", "rebuild", "--into", then)
    assert made.returncode == 0, made.stderr

    restored = server.am("doctor", "restore", then)

    assert restored.returncode == 0, restored.stderr
    named, step = restored.stdout.splitlines()[-2:]
    assert named.startswith("not rebuilt\tregistration tokens; join codes; ")
    assert step.startswith("next\tam token reissue AGENT")
    assert made.stdout.splitlines()[-2:] == [named, step]


def test_a_restored_store_is_served(stopped_post: Post) -> None:
    made = _backup(stopped_post)
    stopped_post.server.am("doctor", "restore", str(made["path"]))

    with stopped_post.server as server:
        server.await_drained()
        assert server.am("doctor", "verify").returncode == 0


def test_a_damaged_backup_is_a_finding_and_no_source(stopped_post: Post) -> None:
    path = Path(str(_backup(stopped_post)["path"]))
    server = stopped_post.server
    assert server.am("doctor", "backups", "--check").returncode == 0
    content = (path / "mail.sqlite3").read_bytes()
    (path / "mail.sqlite3").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    listed = server.am("doctor", "backups", "--check", "--json")

    assert listed.returncode == 1
    (row,) = json.loads(listed.stdout)
    assert [(fault["path"], fault["problem"]) for fault in row["faults"]] == [("mail.sqlite3", "different")]
    assert (row["verified"], row["problem"]) == (False, "damaged since it was made: it cannot be restored")
    assert server.am("doctor", "restore", str(path)).returncode == 1


def test_a_good_store_has_nothing_to_repair(stopped_post: Post) -> None:
    done = stopped_post.server.am("doctor", "repair", "--json")

    assert done.returncode == 0, done.stderr
    nothing: dict[str, list[str]] = {"repaired": [], "left": [], "kept": [], "removed": []}
    assert json.loads(done.stdout) == {**nothing, "backup": None, "dry_run": False}


def test_where_there_is_no_backup_that_is_said(stopped_post: Post) -> None:
    assert stopped_post.server.am("doctor", "backups", "--json").stdout.strip() == "[]"
    assert stopped_post.server.am("doctor", "restore").returncode == 2


def test_what_only_would_be_repaired_is_told_so_to_the_last_line(stopped_post: Post) -> None:
    stopped_post.server.database.chmod(0o644)

    done = stopped_post.server.am("doctor", "repair", "--dry-run")

    lines = done.stdout.splitlines()
    assert lines[0].startswith("would repair: permissions of ")
    assert lines[-2:] == [f"would repair\t{len(lines) - 2}", "left\t0"]


def test_a_saved_file_in_place_of_the_store_ends_with_the_next_command_for_tokens(
    stopped_post: Post, tmp_path: Path
) -> None:
    stopped_post.server.am("archive", "save", str(tmp_path / "s.tar"))

    here = stopped_post.server.am("doctor", "restore", str(tmp_path / "s.tar"))
    elsewhere = stopped_post.server.am("archive", "restore", str(tmp_path / "s.tar"), "--into", str(tmp_path / "new"))

    for done in (here, elsewhere):
        assert done.stdout.splitlines()[-1].startswith("next\tam token reissue AGENT"), done.stderr
