"""What profiles and mail say of doors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.archive_format.layout import (
    mail_files,
    mail_snapshot,
    profile_file,
    profile_path,
    profile_snapshot,
)
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.domain.doors.ids import WirePlace
from mcp_agent_mail.domain.doors.names import Door, WireName
from mcp_agent_mail.domain.messages import RecipientKind
from tests.domain.archive_format.test_layout import AGENT, AT, MESSAGE, RED, front_matter, recipient

GOLDEN = Path(__file__).parents[2] / "golden" / "archive" / "doors-6f7a8b"
BOB = recipient(16, "bob", RecipientKind.TO)
NAMES = (
    WireName(
        id=4,
        project_id=AGENT.project_id,
        agent_id=AGENT.id,
        name="Größe 2",
        owner=None,
        linked=frozenset(),
        created_ts=Micros(AT + 1),
    ),
    WireName(
        id=3,
        project_id=AGENT.project_id,
        agent_id=AGENT.id,
        name="blue",
        owner=Door.CLAUDE_MAILBOX,
        linked=frozenset({Door.POSTAL, Door.AGENTMAIL}),
        created_ts=AT,
    ),
)
PLACE = WirePlace(
    door=Door.POSTAL,
    external_id='m "1"',
    sender_id=AgentId(MESSAGE.sender_id),
    recipient_id=BOB.agent_id,
    answers=740,
)


def files() -> dict[str, bytes]:
    sent = replace(MESSAGE, wire_place=PLACE)
    profile = profile_snapshot(AGENT, NAMES, is_claimed=False)
    return {
        profile_path(AGENT.name): profile_file(profile),
        **dict(mail_files(mail_snapshot(sent, [BOB], AGENT.project_id), FORMAT_VERSION)),
    }


def test_names_and_ids_are_those_of_the_published_format() -> None:
    golden = {str(path.relative_to(GOLDEN)): path.read_bytes() for path in GOLDEN.rglob("*") if path.is_file()}

    assert files() == golden


def test_of_what_no_door_knows_nothing_is_said() -> None:
    profile = profile_snapshot(AGENT, is_claimed=False)
    mail = dict(mail_files(mail_snapshot(MESSAGE, [RED], AGENT.project_id), FORMAT_VERSION))

    assert not {"aliases", "unclaimed"} & profile.keys()
    assert all("external_id" not in front_matter(content) for content in mail.values())


def test_who_has_retired_an_agent_is_said_where_it_was_the_operator() -> None:
    gone = replace(AGENT, retired_ts=AGENT.inception_ts, retired_by_operator=True)

    assert profile_snapshot(gone)["retired_by"] == "operator"
    assert b'"retired_by": "operator"' in profile_file(profile_snapshot(gone))
    assert "retired_by" not in profile_snapshot(AGENT)


def test_what_somebody_has_is_not_unclaimed() -> None:
    assert "unclaimed" not in profile_snapshot(AGENT, NAMES, is_claimed=True)
