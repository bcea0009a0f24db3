from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.rebuild.mail_rows import MailRows, RebuiltMail, RebuiltRecipient

HOME, THERE = ProjectId(1), ProjectId(2)
TO, BCC = RecipientKind.TO, RecipientKind.BCC


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    migrate(tmp_path / "store", fault_hook=no_fault)
    with closing(sqlite3.connect(tmp_path / "store", isolation_level=None)) as connection:
        add_functions(connection)
        yield connection


def got(
    agent_id: int, project: ProjectId, seq: int | None, kind: RecipientKind = TO, **fate: object
) -> RebuiltRecipient:
    return RebuiltRecipient(
        agent_id=AgentId(agent_id),
        project_id=project,
        kind=kind,
        delivery_seq=seq,
        delivered_ts=None if seq is None else Micros(seq * 10),
        held_code="contact_required" if fate.get("held") else None,
        refused_ts=None,
        is_unnumbered=bool(fate.get("unnumbered")),
    )


def mail(*recipients: RebuiltRecipient, private: bool = False, purged: bool = False) -> RebuiltMail:
    message = ArchivedMail(
        id=MessageId(7),
        project_id=HOME,
        project_slug="home",
        project_key="/home",
        sender_id=AgentId(10),
        sender="Blue",
        thread_id="T-1",
        topic="Builds",
        subject="Plan of parse_token",
        body_md="gone since 2026-11" if purged else "body of reparseToken",
        importance=Importance.URGENT,
        ack_required=True,
        created_ts=Micros(1),
        reply_to=None,
        is_system=False,
        is_private=private,
        purged_ts=Micros(99) if purged else None,
        attachments=(),
        recipients=(),
    )
    return RebuiltMail(message=message, home=HOME, recipients=recipients)


def opened(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    return connection.execute("SELECT project_id, delivery_seq, is_late FROM message_projects ORDER BY 1").fetchall()


def test_mail_is_of_its_projects_since_its_first_delivery(connection: sqlite3.Connection) -> None:
    MailRows(connection).add(mail(got(20, THERE, 5), got(11, HOME, 6)), None)

    assert opened(connection) == [(1, 5, 0), (2, 5, 0)]
    assert connection.execute("SELECT scope FROM messages").fetchone() == ("p1 p2",)
    assert connection.execute("SELECT position, urgent, topic_key FROM recipients ORDER BY 1").fetchall() == [
        (0, 1, "builds"),
        (1, 1, "builds"),
    ]


def test_a_copy_that_was_held_opens_it_late(connection: sqlite3.Connection) -> None:
    MailRows(connection).add(
        mail(got(11, HOME, 5), got(20, THERE, 9, held=True), got(21, THERE, None, held=True)), None
    )

    assert opened(connection) == [(1, 5, 0), (2, 9, 1)]


def test_blind_copies_open_nothing_elsewhere(connection: sqlite3.Connection) -> None:
    MailRows(connection).add(mail(got(20, THERE, 5, BCC)), None)

    assert opened(connection) == [(1, 5, 0)]
    assert connection.execute("SELECT scope FROM messages").fetchone() == ("p1 b20",)


def test_private_mail_is_of_no_project(connection: sqlite3.Connection) -> None:
    MailRows(connection).add(mail(got(11, HOME, 5), private=True), None)

    assert opened(connection) == []
    assert connection.execute("SELECT scope FROM messages").fetchone() == ("b11",)


def test_of_what_was_purged_nothing_is_searched_for(connection: sqlite3.Connection) -> None:
    MailRows(connection).add(mail(got(11, HOME, 5), purged=True), None)

    connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    assert connection.execute("SELECT body_md, body_bytes, purged_ts FROM messages").fetchone() == (
        "gone since 2026-11",
        18,
        99,
    )
    assert "reparsetoken" not in {name for (name,) in connection.execute("SELECT name FROM identifiers")}


def test_a_copy_without_a_number_gets_one_above_all_others(connection: sqlite3.Connection) -> None:
    rows = MailRows(connection)
    rows.add(mail(got(20, THERE, 5), got(21, THERE, None, BCC, unnumbered=True)), None)

    rows.deliver_late(1_000)

    assert connection.execute("SELECT delivery_seq, delivered_ts FROM recipients ORDER BY position").fetchall() == [
        (5, 50),
        (1_005, 50),
    ]
