"""The three resources. Where no project is named, the most recent one is meant: in this profile alone."""

from __future__ import annotations

from typing import Annotated

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.params import AGENT_ADDRESS, LIMIT, PROJECT_KEY, Flag, Id
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json, current_credentials
from mcp_agent_mail.facades.claims.parameters import EPOCH, TimeNumber
from mcp_agent_mail.features.messaging import schemas
from mcp_agent_mail.features.messaging.parameters import THREAD
from mcp_agent_mail.features.messaging.requests import InboxRequest, ThreadRequest

_OURS = ("message", "attachment")


def claims_resources(services: Services) -> list[ResourceSpec]:
    """The three, of which a message is ours as it is; and beside them ours of what mail carries: messages tell of it
    by its SHA-256.
    """
    return [*_mail(services), *(spec for spec in services.resources.specs() if spec.name in _OURS)]


def _mail(services: Services) -> list[ResourceSpec]:
    current_caller = services.identity.caller

    async def inbox(
        agent: Annotated[str, AGENT_ADDRESS],
        project: Annotated[str | None, PROJECT_KEY] = None,
        since_ts: Annotated[Micros, TimeNumber()] = EPOCH,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """An agent's inbox, newest first; without project where an agent of this name was last active."""
        request = InboxRequest(
            project_key=project,
            agent_name=agent,
            limit=limit,
            urgent_only=urgent_only,
            include_bodies=include_bodies,
            since=since_ts or None,
            takes_latest=True,
        )
        return schemas.show_inbox(await services.messaging.inbox(await current_caller(), request))

    async def thread(
        thread_id: Annotated[str, THREAD],
        project: Annotated[str | None, PROJECT_KEY] = None,
        include_bodies: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 1_000,
        after_id: Annotated[int | None, Id(low=0)] = None,
    ) -> Json:
        """A thread, oldest first; without project the one with the newest mail in it. next_after_id continues."""
        request = ThreadRequest(
            project_key=project,
            thread_id=thread_id,
            limit=limit,
            include_bodies=include_bodies,
            after_id=after_id or 0,
            said_agent=current_credentials().said_agent,
            takes_latest=True,
        )
        return schemas.show_thread(await services.messaging.thread(await current_caller(), request))

    return [
        resource(
            inbox,
            uri="resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}",
            name="inbox",
            title="Inbox of an agent",
        ),
        resource(
            thread,
            uri="resource://thread/{thread_id}{?project,include_bodies,limit,after_id}",
            name="thread",
            title="A thread",
        ),
    ]
