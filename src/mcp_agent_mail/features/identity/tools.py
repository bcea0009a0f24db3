"""The identity tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import (
    AGENT_NAME,
    CALLER_NAME,
    LIMIT,
    MODEL,
    NOTE,
    PROGRAM,
    PROJECT_KEY,
    TASK,
    Choice,
    Count,
    Flag,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.agents import AgentStatus, AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity import schemas
from mcp_agent_mail.features.identity.register import Registration
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.shapes import show_registered

POLICY = Choice(tuple(one.value for one in AttachmentsPolicy))
STATUS = Choice(tuple(one.value for one in AgentStatus))
SECONDS = Count(1, 100 * 365 * 24 * 3_600)


def identity_tools(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To register, look up, retire and describe agents. The operator's come last, and MCP clients do not see them."""
    return [
        *_registering_tools(service, current_caller),
        *_looking_tools(service, current_caller),
        *_changing_tools(service, current_caller),
        *_operator_tools(service, current_caller),
    ]


def _registering_tools(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def register_agent(
        project_key: Annotated[str, PROJECT_KEY],
        program: Annotated[str, PROGRAM],
        model: Annotated[str, MODEL],
        name: Annotated[str | None, AGENT_NAME] = None,
        task_description: Annotated[str, TASK] = "",
        attachments_policy: Annotated[str, POLICY] = "auto",
    ) -> Json:
        """Take your identity in a project, or come back to it by the same name. Leave name out to be given one, or to
        come back by your token. Keep registration_token: it is shown once and proves it is you.
        """
        caller = await current_caller()
        wanted = Registration(
            project_key=project_key,
            program=program,
            model=model,
            name=name,
            task_description=task_description,
            attachments_policy=AttachmentsPolicy(attachments_policy),
        )
        return show_registered(await service.register(caller, wanted), caller)

    async def create_agent_identity(
        project_key: Annotated[str, PROJECT_KEY],
        program: Annotated[str, PROGRAM],
        model: Annotated[str, MODEL],
        name_hint: Annotated[str | None, AGENT_NAME] = None,
        task_description: Annotated[str, TASK] = "",
        attachments_policy: Annotated[str, POLICY] = "auto",
    ) -> Json:
        """Make a new identity, never an existing one: a name_hint that is taken becomes a generated name.
        To come back as yourself use register_agent.
        """
        caller = await current_caller()
        wanted = Registration(
            project_key=project_key,
            program=program,
            model=model,
            name=name_hint,
            task_description=task_description,
            attachments_policy=AttachmentsPolicy(attachments_policy),
        )
        return show_registered(await service.create(caller, wanted), caller)

    return [
        tool(register_agent, cluster="identity", title="Register an agent", token_argument="registration_token"),
        tool(create_agent_identity, cluster="identity", title="Create a new identity"),
    ]


def _looking_tools(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def whois(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, AGENT_NAME],
        include_recent_commits: Annotated[bool, Flag()] = True,
        commit_limit: Annotated[int, Count(1, 50)] = 5,
    ) -> Json:
        """One agent: profile, whether it is listening, its latest commits in the mail archive."""
        limit = commit_limit if include_recent_commits else 0
        return schemas.show_known(
            await service.whois(await current_caller(), project_key, agent_name, commit_limit=limit)
        )

    async def list_agents(
        project_key: Annotated[str, PROJECT_KEY],
        active_within_s: Annotated[int | None, SECONDS] = None,
        include_retired: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 200,
    ) -> Json:
        """The agents you can write to, last active first, with status, listening, unread_count; elsewhere, those of
        linked projects. Human, the overseer, can be written to too and is not listed.
        """
        listing = await service.list_(
            await current_caller(),
            project_key,
            include_retired=include_retired,
            active_within_s=active_within_s,
            limit=limit,
        )
        elsewhere = await service.elsewhere(listing.project, active_within_s=active_within_s)
        return schemas.show_peers(listing, elsewhere)

    return [
        tool(whois, cluster="identity", title="Look an agent up", read_only=True, idempotent=True),
        tool(list_agents, cluster="identity", title="List agents", read_only=True, idempotent=True),
    ]


def _changing_tools(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def deregister_agent(
        project_key: Annotated[str, PROJECT_KEY], agent_name: Annotated[str, CALLER_NAME]
    ) -> Json:
        """Retire an agent: no new mail in or out; its history and its name stay. unretire_agent undoes it."""
        caller = await current_caller()
        return schemas.show_retired(await service.retire(caller, project_key, agent_name), caller)

    async def unretire_agent(project_key: Annotated[str, PROJECT_KEY], agent_name: Annotated[str, CALLER_NAME]) -> Json:
        """Bring a retired agent back with its history."""
        caller = await current_caller()
        return schemas.show_unretired(await service.unretire(caller, project_key, agent_name), caller)

    async def set_status(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        status: Annotated[str, STATUS],
        note: Annotated[str | None, NOTE] = None,
    ) -> Json:
        """Tell your peers whether you are free. It is shown, and stops no mail; leaving note out clears it."""
        caller = await current_caller()
        acted = await service.set_status(caller, project_key, agent_name, AgentStatus(status), note)
        return schemas.show_status(acted, caller)

    return [
        tool(
            deregister_agent,
            cluster="identity",
            title="Retire an agent",
            destructive=True,
            idempotent=True,
            token_argument="registration_token",
        ),
        tool(
            unretire_agent,
            cluster="identity",
            title="Bring an agent back",
            idempotent=True,
            token_argument="registration_token",
        ),
        tool(set_status, cluster="identity", title="Set your status", idempotent=True),
    ]


def _operator_tools(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def reissue_token(project_key: Annotated[str, PROJECT_KEY], agent_name: Annotated[str, AGENT_NAME]) -> Json:
        """Give an agent a new token, shown this once; the old one stops working."""
        return schemas.show_reissued(await service.reissue_token(await current_caller(), project_key, agent_name))

    return [tool(reissue_token, cluster="identity", title="Replace a lost token", operator_only=True)]
