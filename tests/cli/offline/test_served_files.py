"""Backups and verifications beside a real server whose database has been replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.served import Served


def test_a_file_in_the_place_of_a_served_database_is_neither_backed_up_nor_verified(tmp_path: Path) -> None:
    away, to = tmp_path / "away.sqlite3", tmp_path / "backups"
    with Served(tmp_path / "store") as server:
        with server.connect() as agent:
            agent.call("ensure_project", human_key="/code/app")
        server.await_drained()
        server.database.rename(away)
        shutil.copy(away, server.database)

        refused = [server.am("doctor", "backup", "--to", str(to)), server.am("doctor", "verify")]
        away.replace(server.database)
        made = [server.am("doctor", "backup", "--to", str(to)), server.am("doctor", "verify")]

    assert [one.returncode != 0 for one in refused] == [True, True], refused
    assert ["is not what the server at" in one.stderr for one in refused] == [True, True], refused
    assert ["am status" in one.stderr for one in refused] == [True, True]
    assert [one.returncode for one in made] == [0, 0], made
    assert len(list(to.glob("2*"))) == 1
