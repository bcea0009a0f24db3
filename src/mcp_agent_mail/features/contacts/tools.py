"""The contact tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import (
    AGENT_ADDRESS,
    CALLER_NAME,
    LIMIT,
    MODEL,
    OTHER_PROJECT,
    PROGRAM,
    PROJECT_KEY,
    TASK,
    Choice,
    Flag,
    Id,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.contacts import schemas, shapes
from mcp_agent_mail.features.contacts.parameters import REASON, REGISTER, TTL
from mcp_agent_mail.features.contacts.results import Direction
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.targets import ContactTarget, Profile

POLICY = Choice(tuple(one.value for one in ContactPolicy))
DIRECTION = Choice(tuple(one.value for one in Direction))


def contact_tools(service: ContactService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    return [*_linking_tools(service, current_caller), *_looking_tools(service, current_caller)]


def _linking_tools(service: ContactService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def request_contact(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        from_agent: Annotated[str, CALLER_NAME],
        to_agent: Annotated[str, AGENT_ADDRESS],
        to_project: Annotated[str | None, OTHER_PROJECT] = None,
        reason: Annotated[str, REASON] = "",
        ttl_seconds: Annotated[int, TTL] = 604_800,
        register_if_missing: Annotated[bool | None, REGISTER] = None,
        program: Annotated[str | None, PROGRAM] = None,
        model: Annotated[str | None, MODEL] = None,
        task_description: Annotated[str | None, TASK] = None,
    ) -> Json:
        """Ask an agent, here or in to_project, to take your mail. Only it can approve; repeat to refresh."""
        profile = Profile(program=program, model=model, task_description=task_description)
        wanted = ContactTarget(
            project_key=project_key,
            from_agent=from_agent,
            to_agent=to_agent,
            to_project=to_project,
            register=None if register_if_missing is False else profile,
            unless_near=register_if_missing is None,
        )
        caller = await current_caller()
        asked = await service.request(caller, wanted, reason=reason, ttl_s=ttl_seconds)
        return shapes.show_contact_request(asked, caller)

    async def respond_contact(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        to_agent: Annotated[str, CALLER_NAME],
        from_agent: Annotated[str, AGENT_ADDRESS],
        accept: Annotated[bool, Flag()],
        ttl_seconds: Annotated[int, TTL] = 2_592_000,
        from_project: Annotated[str | None, OTHER_PROJECT] = None,
    ) -> Json:
        """As to_agent, let from_agent write to you (delivers its held mail) or decline it (returns the mail)."""
        caller = await current_caller()
        responded = await service.respond(
            caller,
            project_key,
            to_agent,
            from_agent=from_agent,
            from_project=from_project,
            accept_for_s=ttl_seconds if accept else None,
        )
        return shapes.show_contact_answer(responded, caller)

    async def set_contact_policy(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        policy: Annotated[str, POLICY],
    ) -> Json:
        """Who may write to you: open = anyone, auto = your project and contacts, contacts_only, block_all = nobody."""
        caller = await current_caller()
        done = await service.set_policy(caller, project_key, agent_name, ContactPolicy(policy))
        return schemas.show_policy(done, caller)

    return [
        tool(request_contact, cluster="contact", title="Ask for a contact", idempotent=True),
        tool(respond_contact, cluster="contact", title="Answer a contact request", idempotent=True),
        tool(set_contact_policy, cluster="contact", title="Set the contact policy", idempotent=True),
    ]


def _looking_tools(service: ContactService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def list_contacts(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        limit: Annotated[int, LIMIT] = 200,
    ) -> Json:
        """Your links: outbound (to whom you may write), then inbound (who may write to you, or asks to)."""
        return schemas.show_contacts(await service.list_(await current_caller(), project_key, agent_name, limit))

    async def held_mail(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        direction: Annotated[str, DIRECTION] = "inbound",
        limit: Annotated[int, LIMIT] = 200,
        after_id: Annotated[int | None, Id(low=0)] = None,
    ) -> Json:
        """Mail that waits for consent: for the agent (inbound) or sent by it (outbound), without bodies."""
        held = await service.held(
            await current_caller(), project_key, agent_name, Direction(direction), after_id=after_id or 0, limit=limit
        )
        return schemas.show_held_mail(held)

    async def contact_requests(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        limit: Annotated[int, LIMIT] = 200,
    ) -> Json:
        """The contact requests that wait for the agent's answer, oldest first."""
        return schemas.show_contacts(await service.requests(await current_caller(), project_key, agent_name, limit))

    return [
        tool(
            list_contacts,
            cluster="contact",
            title="List contacts",
            read_only=True,
            idempotent=True,
            result_list=True,
        ),
        tool(
            held_mail,
            cluster="contact",
            title="Mail that waits for consent",
            read_only=True,
            idempotent=True,
            operator_only=True,
        ),
        tool(
            contact_requests,
            cluster="contact",
            title="Requests that wait for an answer",
            read_only=True,
            idempotent=True,
            result_list=True,
            operator_only=True,
        ),
    ]
