"""The macros. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import (
    AGENT_ADDRESS,
    CALLER_NAME,
    MODEL,
    NOTE,
    OTHER_PROJECT,
    PROGRAM,
    PROJECT_KEY,
    TASK,
    Count,
    Flag,
    Matching,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import parse_subject
from mcp_agent_mail.features.contacts.parameters import REASON, REGISTER, TTL
from mcp_agent_mail.features.contacts.targets import Profile
from mcp_agent_mail.features.macros import schemas
from mcp_agent_mail.features.macros.requests import (
    HandshakeRequest,
    JoinRequest,
    Newcomer,
    StartRequest,
    WelcomeMessage,
)
from mcp_agent_mail.features.macros.service import MacroService
from mcp_agent_mail.features.messaging.parameters import BODY, THREAD
from mcp_agent_mail.features.reservations.parameters import PATHS, SECONDS, WANTED_PATHS
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.features.summaries.service import DigestOptions

CLUSTER = "workflow_macros"
INBOX = Count(0, 1_000)


def macro_tools(service: MacroService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    return [*_entering_tools(service, current_caller), *_working_tools(service, current_caller)]


def _entering_tools(service: MacroService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def macro_start_session(
        *,
        human_key: Annotated[str, PROJECT_KEY],
        program: Annotated[str, PROGRAM],
        model: Annotated[str, MODEL],
        task_description: Annotated[str, TASK] = "",
        agent_name: Annotated[str | None, CALLER_NAME] = None,
        file_reservation_paths: Annotated[list[str] | None, PATHS] = None,
        file_reservation_reason: Annotated[str, NOTE] = "macro-session",
        file_reservation_ttl_seconds: Annotated[int, SECONDS] = 3_600,
        inbox_limit: Annotated[int, INBOX] = 10,
    ) -> Json:
        """Begin work or come back, in one call: project of your working directory (human_key), your identity, files
        reserved and held, mail (unread first), peers. Keep registration_token.
        """
        caller = await current_caller()
        newcomer = Newcomer(name=agent_name, program=program, model=model, task_description=task_description)
        request = StartRequest(
            human_key=human_key,
            newcomer=newcomer,
            paths=tuple(file_reservation_paths or ()),
            reason=file_reservation_reason,
            ttl_seconds=file_reservation_ttl_seconds,
            inbox_limit=inbox_limit,
        )
        return schemas.show_started(await service.start_session(caller, request), caller)

    async def macro_prepare_thread(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        thread_id: Annotated[str, THREAD],
        program: Annotated[str, PROGRAM],
        model: Annotated[str, MODEL],
        agent_name: Annotated[str | None, CALLER_NAME] = None,
        task_description: Annotated[str, TASK] = "",
        register_if_missing: Annotated[bool, Flag()] = True,
        include_examples: Annotated[bool, Flag()] = True,
        inbox_limit: Annotated[int, INBOX] = 10,
        include_inbox_bodies: Annotated[bool, Flag()] = False,
        llm_mode: Annotated[bool, Flag()] = True,
        llm_model: Annotated[str | None, MODEL] = None,
    ) -> Json:
        """Join a thread: your identity, what the thread says, your inbox."""
        caller = await current_caller()
        request = JoinRequest(
            project_key=project_key,
            thread_id=thread_id,
            newcomer=Newcomer(name=agent_name, program=program, model=model, task_description=task_description),
            register=register_if_missing,
            wishes=DigestOptions(include_examples=include_examples, llm_mode=llm_mode, llm_model=llm_model),
            inbox_limit=inbox_limit,
            include_inbox_bodies=include_inbox_bodies,
        )
        return schemas.show_joined(await service.prepare_thread(caller, request), caller)

    return [
        tool(
            macro_start_session,
            cluster=CLUSTER,
            title="Start a session",
            token_argument="registration_token",
        ),
        tool(macro_prepare_thread, cluster=CLUSTER, title="Join a thread", is_long=True),
    ]


def _working_tools(service: MacroService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    async def macro_file_reservation_cycle(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str], WANTED_PATHS],
        ttl_seconds: Annotated[int, SECONDS] = 3_600,
        exclusive: Annotated[bool, Flag()] = True,
        reason: Annotated[str, NOTE] = "macro-file_reservation",
        auto_release: Annotated[bool, Flag()] = False,
    ) -> Json:
        """Reserve files; with auto_release give back at once what this call newly got."""
        request = ReserveRequest(
            project_key=project_key,
            agent_name=agent_name,
            paths=tuple(paths),
            ttl_seconds=ttl_seconds,
            exclusive=exclusive,
            reason=reason,
        )
        return schemas.show_cycled(
            await service.reservation_cycle(await current_caller(), request, auto_release=auto_release)
        )

    async def macro_contact_handshake(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        requester: Annotated[str | None, CALLER_NAME] = None,
        target: Annotated[str | None, AGENT_ADDRESS] = None,
        reason: Annotated[str, REASON] = "",
        ttl_seconds: Annotated[int, TTL] = 604_800,
        auto_accept: Annotated[bool, Flag()] = False,
        welcome_subject: Annotated[str | None, Matching(parse_subject)] = None,
        welcome_body: Annotated[str | None, BODY] = None,
        to_project: Annotated[str | None, OTHER_PROJECT] = None,
        agent_name: Annotated[str | None, CALLER_NAME] = None,
        to_agent: Annotated[str | None, AGENT_ADDRESS] = None,
        register_if_missing: Annotated[bool | None, REGISTER] = None,
        program: Annotated[str | None, PROGRAM] = None,
        model: Annotated[str | None, MODEL] = None,
        task_description: Annotated[str | None, TASK] = None,
        thread_id: Annotated[str | None, THREAD] = None,
    ) -> Json:
        """Ask target (left out: the only other agent) for contact and send a welcome, held until it approves.
        auto_accept approves only where its policy would take your mail anyway.
        """
        caller = await current_caller()
        profile = Profile(program=program, model=model, task_description=task_description)
        request = HandshakeRequest(
            project_key=project_key,
            requester=_said("requester", requester, "agent_name", agent_name),
            target=_said("target", target, "to_agent", to_agent),
            to_project=to_project,
            register=None if register_if_missing is False else profile,
            unless_near=register_if_missing is None,
            reason=reason,
            ttl_s=ttl_seconds,
            auto_accept=auto_accept,
            welcome=WelcomeMessage(subject=welcome_subject, body_md=welcome_body, thread_id=thread_id),
        )
        return schemas.show_handshake(await service.handshake(caller, request), caller)

    return [
        tool(macro_file_reservation_cycle, cluster=CLUSTER, title="Reserve files for a moment"),
        tool(macro_contact_handshake, cluster=CLUSTER, title="Shake hands"),
    ]


def _said(name: str, value: str | None, alias: str, other: str | None) -> str | None:
    """Two names for one argument."""
    if value is not None and other is not None and value.strip().lower() != other.strip().lower():
        raise InvalidInput(
            f"{name} and {alias} are the same argument, and differ.",
            hint=f"Give {name} alone.",
            data={"parameter": name},
        )
    return other if value is None else value
