"""Leases, links and products whose ends are gone are counted, and each is given once."""

from __future__ import annotations

import json
from pathlib import Path

from mcp_agent_mail.domain.contacts import LinkStatus
from tests.facades.importers.mcp_agent_mail.one_store import add_people, database_of, read_whole

_LEASE = (
    "INSERT INTO file_reservations VALUES (?, 1, ?, ?, ?, 'why', '2026-03-01 08:00:00', '2026-03-01 09:00:00', NULL)"
)
_LINK = "INSERT INTO agent_links VALUES (?, 1, ?, 1, ?, ?, '', '2026-03-01 07:30:00', NULL, NULL)"


def test_leases_of_nobody_or_nothing_are_counted(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        for number, agent, pattern, exclusive in (
            (1, 1, "src/**", 0),
            (2, 9, "x", 1),
            (3, 1, "  ", 1),
            (4, 2, "y", None),
        ):
            connection.execute(_LEASE, (number, agent, pattern, exclusive))

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [(one.pattern, one.exclusive) for one in whole.leases] == [("src/**", False), ("y", True)]
    assert whole.left["leases"] == 2


def test_links_of_nobody_of_itself_and_of_no_known_status_are_counted(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A", "B")
        for number, ends in enumerate(((1, 2, "blocked"), (2, 1, "odd"), (1, 1, "approved"), (1, 9, "approved")), 1):
            connection.execute(_LINK, (number, *ends))

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [(one.from_agent_key, one.status) for one in whole.links] == [("app-1/a", LinkStatus.BLOCKED)]
    assert whole.left["links"] == 3


def test_products_have_the_projects_that_are_there(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "A")
        connection.execute("INSERT INTO products VALUES (1, 'uid', 'Suite', NULL), (2, NULL, NULL, NULL)")
        connection.execute("INSERT INTO product_project_links VALUES (1, 1, 1), (2, 1, 77)")

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [(one.key, one.name, one.project_keys) for one in whole.products] == [("uid", "Suite", ("app-1",))]
    assert (whole.left["products"], whole.left["product links"]) == (1, 1)


def test_a_lease_with_two_files_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "app"
    (folder / "agents" / "A").mkdir(parents=True)
    (folder / "file_reservations").mkdir()
    record = {"id": 4, "agent": "A", "path_pattern": "src/**", "created_ts": "2026-03-01T08:00:00Z", "exclusive": False}
    for name in ("id-4", "ab" * 20):
        (folder / "file_reservations" / f"{name}.json").write_text(json.dumps(record))

    whole = read_whole(tmp_path)

    assert [(one.pattern, one.exclusive, one.agent_key) for one in whole.leases] == [("src/**", False, "app/a")]
