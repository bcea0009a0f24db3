"""A sender's row in another project is its agent only where nothing says otherwise."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.facades.importers.mcp_agent_mail.one_store import WholeStore, add_mail, add_people, database_of, read_whole

_LINK = "INSERT INTO agent_links VALUES (?, 1, ?, 2, ?, 'approved', '', '2026-03-01 07:30:00', NULL, NULL)"


def _made(path: Path, *more: str) -> WholeStore:
    """Anna of project 1 has written to Bert of project 2, where row 3 signs it; `more` is done to it afterwards."""
    with database_of(path) as connection:
        add_people(connection, "Anna", project=1, first=1)
        add_people(connection, "Bert", "Anna", project=2, first=2)
        connection.execute(_LINK, (1, 1, 2))
        add_mail(connection, 1, sender=3, to=2, project=2, subject="Over")
        for statement in more:
            connection.execute(statement)
    return read_whole(path)


def test_mail_that_a_ghost_signs_is_its_agents_own(tmp_path: Path) -> None:
    whole = _made(tmp_path / "s.sqlite3")

    (message,) = whole.messages
    assert (message.sender_key, message.project_key) == ("app-1/anna", "app-1")
    assert sorted(whole.agents) == ["app-1/anna", "app-2/bert"]
    assert whole.left["rows of senders in other projects"] == 1


@pytest.mark.parametrize(
    "trace",
    [
        "INSERT INTO message_recipients VALUES (1, 3, 'cc', NULL, NULL)",
        "INSERT INTO file_reservations VALUES (1, 2, 3, 'a', 1, '', NULL, NULL, NULL)",
        "INSERT INTO agent_links VALUES (2, 2, 3, 2, 2, 'pending', '', NULL, NULL, NULL)",
        "DELETE FROM agent_links",
        "UPDATE agents SET inception_ts = '2026-02-01 07:00:00' WHERE id = 3",
    ],
)
def test_with_any_trace_of_its_own_or_without_a_link_it_is_an_agent(trace: str, tmp_path: Path) -> None:
    whole = _made(tmp_path / "s.sqlite3", trace)

    assert sorted(whole.agents) == ["app-1/anna", "app-2/anna", "app-2/bert"]
    assert whole.messages[0].sender_key == "app-2/anna"


def test_equal_mail_that_was_sent_twice_stays_two_messages(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "Anna", "Otto", project=1, first=1)
        add_people(connection, "Bert", "Anna", project=2, first=3)
        connection.execute(_LINK, (1, 1, 3))
        for number in (1, 2):
            _twice(connection, number)

    whole = read_whole(tmp_path / "s.sqlite3")

    assert [(len(one.recipients), len(one.also)) for one in whole.messages] == [(2, 1), (2, 1)]


def _twice(connection: sqlite3.Connection, number: int) -> None:
    add_mail(connection, 2 * number, sender=1, to=2, project=1, subject="Ping")
    add_mail(connection, 2 * number + 1, sender=4, to=3, project=2, subject="Ping")


def test_equal_mail_of_another_day_is_not_joined(tmp_path: Path) -> None:
    with database_of(tmp_path / "s.sqlite3") as connection:
        add_people(connection, "Anna", "Otto", project=1, first=1)
        add_people(connection, "Bert", "Anna", project=2, first=3)
        connection.execute(_LINK, (1, 1, 3))
        _twice(connection, 1)
        connection.execute("UPDATE messages SET created_ts = '2026-03-02 08:00:00' WHERE id = 3")

    assert [len(one.also) for one in read_whole(tmp_path / "s.sqlite3").messages] == [0, 0]
