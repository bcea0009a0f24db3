"""The door `claude-mailbox` over this server's services, and what lets its idle mailboxes retire."""

from __future__ import annotations

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.asgi import AsgiParts, DoorApp
from mcp_agent_mail.facades.claude_mailbox.endpoint import MailboxDoor, MailboxFacts
from mcp_agent_mail.server.dispatch import Calls


def make_mailbox(settings: Settings, services: Services, _: Calls, parts: AsgiParts) -> DoorApp:
    """As `Opening` has it. What lets mailboxes retire is shown with all that works beside the requests."""
    facts = MailboxFacts(version=__version__, database_path=settings.database_path)
    keeper = _keeper(settings, services)
    if keeper is not None:
        services.also_kept.append(keeper)
    return MailboxDoor(services.doors, services.mailboxes, parts, facts, keeper)


def _keeper(settings: Settings, services: Services) -> Periodic | None:
    interval_s = settings.claude_mailbox_sweep_interval_minutes * 60
    if not (interval_s and settings.claude_mailbox_delete_after_minutes):
        return None

    async def sweep() -> None:
        await services.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)

    return Periodic("idle-mailboxes", sweep, interval_s=interval_s)
