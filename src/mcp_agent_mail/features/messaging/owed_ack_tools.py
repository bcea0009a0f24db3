"""The tools behind `am acks`, for the operator by `/rpc` and the command line: MCP clients neither see nor run them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import SECOND, Micros, iso, iso_or_none
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.params import AGENT_ADDRESS, LIMIT, PROJECT_KEY, Count
from mcp_agent_mail.core.tools import Json, JsonObject, ToolSpec, tool
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.messaging.owed_acks import (
    REMINDERS_PER_CALL,
    OwedListing,
    OwedMessage,
    OwedRequest,
    ReminderService,
    SentReminders,
)

AGE = Count(0, 10 * 365 * 24 * 3_600)
REMINDERS = Count(1, REMINDERS_PER_CALL)


def owed_ack_tools(service: ReminderService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To see what a project's agents owe, and to remind them."""

    async def owed_acknowledgements(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str | None, AGENT_ADDRESS] = None,
        min_age_seconds: Annotated[int | None, AGE] = None,
        limit: Annotated[int, LIMIT] = 200,
    ) -> Json:
        """The acknowledgements that agents of the project owe, oldest first: those that have waited min_age_seconds or
        longer, left out ACK_TTL_SECONDS. Operator only.
        """
        request = OwedRequest(project_key=project_key, agent_name=agent_name, min_age_s=min_age_seconds, limit=limit)
        return _show_listing(await service.list_(await current_caller(), request))

    async def remind_acknowledgements(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str | None, AGENT_ADDRESS] = None,
        min_age_seconds: Annotated[int | None, AGE] = None,
        limit: Annotated[int, REMINDERS] = REMINDERS_PER_CALL,
    ) -> Json:
        """Write to the agents that owe one for min_age_seconds or longer, left out ACK_TTL_SECONDS: of a message once
        an hour each. more: a repeat goes on. Operator only.
        """
        request = OwedRequest(project_key=project_key, agent_name=agent_name, min_age_s=min_age_seconds, limit=limit)
        return _show_reminded(await service.remind(await current_caller(), request))

    return [
        tool(
            owed_acknowledgements,
            cluster="messaging",
            title="Acknowledgements that are owed",
            read_only=True,
            idempotent=True,
            operator_only=True,
        ),
        tool(
            remind_acknowledgements,
            cluster="messaging",
            title="Remind of acknowledgements",
            idempotent=True,
            operator_only=True,
        ),
    ]


def _show_listing(listing: OwedListing) -> JsonObject:
    home = listing.project.id
    return {
        "project": listing.project.human_key,
        "min_age_seconds": listing.min_age_s,
        "owed": [
            {
                **_show_owed(one, home),
                "kind": one.copy.kind.value,
                "importance": one.message.importance.value,
                "thread_id": one.message.thread_id,
                "delivered_ts": iso(one.copy.delivered_ts),
                "age_seconds": _age_s(one, listing.now),
                "read_at": iso_or_none(one.copy.read_ts),
                "reminded_at": iso_or_none(one.copy.reminded_ts),
            }
            for one in listing.owed
        ],
        "more": listing.has_more,
    }


def _show_reminded(reminded: SentReminders) -> JsonObject:
    return {
        "project": reminded.project.human_key,
        "min_age_seconds": reminded.min_age_s,
        "reminded": [
            {**_show_owed(one.owed, reminded.project.id), "reminder_id": one.mail.id} for one in reminded.reminders
        ],
        "more": reminded.has_more,
    }


def _show_owed(owed: OwedMessage, seen_from: ProjectId) -> JsonObject:
    message = owed.message
    return {
        "message_id": message.id,
        "agent": owed.agent.name,
        "from": shown_name(message.sender_name, message.project_id, message.project_slug, seen_from),
        "subject": message.subject,
    }


def _age_s(owed: OwedMessage, now: Micros) -> int:
    return max(0, now - owed.copy.delivered_ts) // SECOND
