from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import MAX_BROADCAST_RECIPIENTS
from mcp_agent_mail.store.checks.strange_events import strange_events
from mcp_agent_mail.store.checks.strange_fields import MOST_PARTS
from tests.archive_harness import ArchiveHarness, open_archive_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    """With events of every usual kind pending."""
    with open_archive_harness(tmp_path) as opened:
        project = opened.add_project("/code/app")
        blue, red = opened.add_agent(project, "BlueLake"), opened.add_agent(project, "RedStone")
        opened.read(project, red, opened.send(blue, [red], carried=[b"notes"]))
        yield opened


def _spoil(harness: ArchiveHarness, kind: EventKind, **fields: object) -> None:
    """The first pending event of the kind says this."""
    connection = harness.connection
    sql = "SELECT seq, snapshot FROM outbox WHERE kind = ? ORDER BY seq LIMIT 1"
    seq, snapshot = connection.execute(sql, (kind.value,)).fetchone()
    said = json.dumps(json.loads(snapshot) | fields)
    connection.execute("UPDATE outbox SET snapshot = ? WHERE seq = ?", (said, seq))


def test_what_waits_to_be_written_can_be(harness: ArchiveHarness) -> None:
    assert list(strange_events(harness.connection)) == []


STRANGE: dict[str, tuple[EventKind, dict[str, object]]] = {
    "a sender that is a path": (EventKind.MAIL, {"sender": "../../x"}),
    "a time beyond the calendar": (EventKind.MAIL, {"created_ts": 1 << 62}),
    "an id that is a path": (EventKind.MAIL, {"id": "../x"}),
    "a file of somebody that is removed": (EventKind.MAIL, {"freed": ["../../etc/passwd"]}),
    "a Git directory that is removed": (EventKind.MAIL, {"freed": ["messages/.git/config"]}),
    "a content by a name that is none": (EventKind.MAIL, {"freed": ["attachments/ab/notes"]}),
    "a file whose name ends early": (EventKind.MAIL, {"freed": ["messages/2026/11/0-499/1.md\0"]}),
    "recipients that are none": (EventKind.MAIL, {"recipients": 7}),
    "an attachment that is a path": (
        EventKind.MAIL,
        {
            "attachments": [
                {
                    "sha256": "/../../x",
                    "bytes": 1,
                    "extension": "txt",
                    "name": "a",
                    "media_type": "text/plain",
                    "width": None,
                    "height": None,
                    "is_inline": False,
                }
            ]
        },
    ),
    "a profile that is a path": (EventKind.PROFILE, {"name": "../x"}),
    "a receipt for nobody": (EventKind.RECEIPT, {"ts": None}),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_could_not_be_written_or_elsewhere_is_named(name: str, harness: ArchiveHarness) -> None:
    kind, fields = STRANGE[name]
    _spoil(harness, kind, **fields)

    (found,) = strange_events(harness.connection)

    assert found.startswith("event ")


@pytest.mark.parametrize(
    ("kind", "snapshot"),
    [
        (EventKind.ADOPTION, {"source": "../../outside"}),
        (EventKind.ADOPTION, {}),
        (EventKind.PRODUCT, {"uid": "../x", "id": 1, "name": "x", "created_ts": 1, "project_id": 1, "linked_ts": 1}),
    ],
)
def test_a_name_in_an_event_is_no_path(kind: EventKind, snapshot: dict[str, object], harness: ArchiveHarness) -> None:
    event = NewEvent(project_id=ProjectId(1), kind=kind, agent_id=None, message_id=None, snapshot=snapshot)
    harness.tx.outbox.add(event, harness.clock())

    assert len(list(strange_events(harness.connection))) == 1


def test_an_event_of_more_parts_than_any_has_is_named_before_it_is_read(harness: ArchiveHarness) -> None:
    _spoil(harness, EventKind.MAIL, recipients=[{}] * (MOST_PARTS + 1))

    (found,) = strange_events(harness.connection)

    assert "TooManyParts" in found


def test_a_letter_of_the_longest_body_to_all_whom_a_broadcast_reaches_can_be_written(harness: ArchiveHarness) -> None:
    sql = "SELECT snapshot FROM outbox WHERE kind = 'mail' ORDER BY seq LIMIT 1"
    (recipient,) = json.loads(harness.connection.execute(sql).fetchone()[0])["recipients"]
    everyone = [recipient | {"agent_id": number, "name": f"Blue{number}"} for number in range(MAX_BROADCAST_RECIPIENTS)]

    _spoil(harness, EventKind.MAIL, body_md="\x01" * (3 << 20), recipients=everyone)

    assert list(strange_events(harness.connection)) == []
