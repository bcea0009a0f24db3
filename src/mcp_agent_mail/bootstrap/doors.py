"""Which doors the settings open, and where: told to the operator, by the server and by who looks without one."""

from __future__ import annotations

from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import CLAIMS_DOOR, Door
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.features.doors.names import NamingRule
from mcp_agent_mail.features.doors.results import DoorPlace


def door_places(settings: Settings) -> tuple[DoorPlace, ...]:
    """Every door that there is, open or not."""
    return (_postal(settings), _agentmail(settings), _claude_mailbox(settings), _claims(settings))


def naming_rule(settings: Settings) -> NamingRule:
    """By which names come in."""
    return NamingRule(
        auth=AgentAuth(settings.agent_auth),
        admission=ProjectAdmission(settings.project_admission),
        mailboxes_max=settings.facades_mailboxes_max,
    )


def _agentmail(settings: Settings) -> DoorPlace:
    return DoorPlace(
        door=Door.AGENTMAIL.value,
        is_open=settings.agentmail_enabled,
        setting="AGENTMAIL_ENABLED",
        at=("the command agentmail",),
    )


def _claims(settings: Settings) -> DoorPlace:
    return DoorPlace(
        door=CLAIMS_DOOR,
        is_open=settings.claims_enabled,
        setting="CLAIMS_ENABLED",
        at=(f"{settings.http_path}?profile={CLAIMS_DOOR}",),
    )


def _claude_mailbox(settings: Settings) -> DoorPlace:
    return DoorPlace(
        door=Door.CLAUDE_MAILBOX.value,
        is_open=settings.claude_mailbox_enabled,
        setting="CLAUDE_MAILBOX_ENABLED",
        at=tuple(f"port {port} of {settings.facades_host}" for port in settings.claude_mailbox_ports),
    )


def _postal(settings: Settings) -> DoorPlace:
    own = (f"port {settings.postal_port} of {settings.facades_host}",) if settings.postal_port else ()
    return DoorPlace(
        door=Door.POSTAL.value,
        is_open=settings.postal_enabled,
        setting="POSTAL_ENABLED",
        at=("/agents/{agent}/mcp", *own),
    )
