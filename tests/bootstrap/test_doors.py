"""What the settings open, as the operator is told of it."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.bootstrap.doors import door_places
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.results import DoorPlace
from tests.server.whole_app import settings_of


def test_postal_is_closed_unless_it_is_switched_on_and_names_its_own_port(tmp_path: Path) -> None:
    closed, opened = (
        next(place for place in door_places(settings_of(tmp_path, **settings)) if place.door == Door.POSTAL)
        for settings in ({}, {"POSTAL_ENABLED": "true", "POSTAL_PORT": "7777"})
    )

    assert (closed.is_open, closed.setting, closed.at) == (False, "POSTAL_ENABLED", ("/agents/{agent}/mcp",))
    assert opened == DoorPlace(
        door=Door.POSTAL,
        is_open=True,
        setting="POSTAL_ENABLED",
        at=("/agents/{agent}/mcp", "port 7777 of 127.0.0.1"),
    )


def test_every_door_is_named_with_its_setting(tmp_path: Path) -> None:
    places = door_places(settings_of(tmp_path))

    assert {place.door: place.setting for place in places} == {
        Door.POSTAL: "POSTAL_ENABLED",
        Door.AGENTMAIL: "AGENTMAIL_ENABLED",
        Door.CLAUDE_MAILBOX: "CLAUDE_MAILBOX_ENABLED",
        "claims": "CLAIMS_ENABLED",
    }
    assert not any(place.is_open for place in places)
