"""The thirteen tools. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

import re
from typing import Annotated

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.params import (
    AGENT_NAME,
    CALLER_NAME,
    LIMIT,
    MODEL,
    NOTE,
    PROGRAM,
    PROJECT_KEY,
    TASK,
    Count,
    Flag,
    Id,
    Text,
    Texts,
)
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.messages import Importance, ReceiptStep
from mcp_agent_mail.domain.search.query import Order
from mcp_agent_mail.facades.claims.answers import show_claimed, show_created
from mcp_agent_mail.facades.claims.parameters import EMBED_POLICY, EPOCH, INLINE_BYTES, SUBJECT, TimeNumber
from mcp_agent_mail.facades.claims.refusals import created, sent_by
from mcp_agent_mail.features.guarding.tools import guard_tools
from mcp_agent_mail.features.identity.schemas import show_known, show_peers
from mcp_agent_mail.features.macros.requests import Newcomer
from mcp_agent_mail.features.messaging import schemas, shapes
from mcp_agent_mail.features.messaging.parameters import BODY, IMPORTANCE, THREAD
from mcp_agent_mail.features.messaging.requests import (
    InboxRequest,
    ReceiptRequest,
    RecipientList,
    ReplyRequest,
    SendRequest,
)
from mcp_agent_mail.features.reservations.parameters import SECONDS, WANTED_PATHS
from mcp_agent_mail.features.reservations.requests import LeaseSelector, ReserveRequest
from mcp_agent_mail.features.reservations.schemas import show_released
from mcp_agent_mail.features.search.schemas import show_found
from mcp_agent_mail.features.search.service import SearchRequest
from mcp_agent_mail.features.summaries.service import DigestOptions
from mcp_agent_mail.features.summaries.shapes import show_thread_summary

_ACTIVE_WITHIN = Count(1, 100 * 365 * 24 * 3_600)
_COMMITS = 5
_SUMMARIZED = 50
"""Of a thread the newest messages that a summary is made of."""
_LEFT_OUT = re.compile(r"[^A-Za-z0-9]+")


def claims_tools(services: Services) -> list[ToolSpec]:
    """Those of the guard are ours: the earlier system's have the same names, parameters and meaning."""
    return [
        *_agent_tools(services),
        *_writing_tools(services),
        *_reading_tools(services),
        *_path_tools(services),
        *_look_tools(services),
        *guard_tools(services.guard_installation, services.identity.caller),
    ]


def _agent_tools(services: Services) -> list[ToolSpec]:
    current_caller = services.identity.caller

    async def create_agent(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        program: Annotated[str, PROGRAM],
        model: Annotated[str, MODEL],
        task_description: Annotated[str, TASK] = "",
        name_hint: Annotated[str | None, AGENT_NAME] = None,
    ) -> Json:
        """Become a new agent of a project, which is made if it is new: project_key is the absolute path of your working
        directory. name_hint is your name if it is free, by its letters and digits; else you are given one. Keep
        registration_token: it is shown once and proves it is you.
        """
        caller = await current_caller()
        newcomer = Newcomer(name=_bare(name_hint), program=program, model=model, task_description=task_description)
        with created():
            return show_created(await services.macros.create_agent(caller, project_key, newcomer), caller)

    async def whois(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, AGENT_NAME],
    ) -> Json:
        """One agent's profile, and its latest commits in the mail archive."""
        known = await services.identity.whois(await current_caller(), project_key, agent_name, commit_limit=_COMMITS)
        return show_known(known)

    async def list_agents(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        active_within_s: Annotated[int | None, _ACTIVE_WITHIN] = None,
        include_retired: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 200,
    ) -> Json:
        """The agents you can write to, last active first; those active in the last active_within_s seconds alone."""
        listing = await services.identity.list_(
            await current_caller(),
            project_key,
            include_retired=include_retired,
            active_within_s=active_within_s,
            limit=limit,
        )
        return show_peers(listing)

    return [
        tool(create_agent, cluster="claims", title="Create an agent"),
        tool(whois, cluster="claims", title="Look an agent up", read_only=True, idempotent=True),
        tool(list_agents, cluster="claims", title="List agents", read_only=True, idempotent=True),
    ]


def _bare(hint: str | None) -> str | None:
    """The letters and digits of a hint, in their order; None where it has none."""
    return _LEFT_OUT.sub("", hint or "") or None


def _writing_tools(services: Services) -> list[ToolSpec]:
    async def send_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        from_agent: Annotated[str, CALLER_NAME],
        to: Annotated[list[str], Texts(min_items=1)],
        subject: Annotated[str, SUBJECT],
        body_md: Annotated[str, BODY],
        cc: Annotated[list[str] | None, Texts()] = None,
        bcc: Annotated[list[str] | None, Texts()] = None,
        importance: Annotated[str, IMPORTANCE] = "normal",
        ack_required: Annotated[bool, Flag()] = False,
        thread_id: Annotated[str | None, THREAD] = None,
        convert_images: Annotated[bool | None, Flag()] = None,
        image_embed_policy: Annotated[str | None, EMBED_POLICY] = None,
        inline_max_bytes: Annotated[int | None, INLINE_BYTES] = None,
    ) -> Json:
        """Send Markdown mail to agents by name. Images of the body that are files of the project or data: URIs come
        along: as WebP with convert_images, small ones inline unless image_embed_policy is file. thread_id keeps a task
        together.
        """
        request = SendRequest(
            project_key=project_key,
            sender_name=from_agent,
            recipients=_named(to, cc, bcc),
            subject=subject,
            body_md=body_md,
            importance=Importance(importance),
            ack_required=ack_required,
            thread_id=thread_id,
            convert_images=convert_images,
            image_policy=_policy(image_embed_policy),
            inline_max_bytes=inline_max_bytes,
        )
        caller = await services.identity.caller()
        with sent_by(from_agent):
            return shapes.show_send_outcome(await services.messaging.send(caller, request))

    async def reply_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        from_agent: Annotated[str, CALLER_NAME],
        reply_to_message_id: Annotated[int, Id()],
        body_md: Annotated[str, BODY],
        to: Annotated[list[str] | None, Texts()] = None,
        cc: Annotated[list[str] | None, Texts()] = None,
        bcc: Annotated[list[str] | None, Texts()] = None,
        importance: Annotated[str | None, IMPORTANCE] = None,
        ack_required: Annotated[bool | None, Flag()] = None,
        convert_images: Annotated[bool | None, Flag()] = None,
        image_embed_policy: Annotated[str | None, EMBED_POLICY] = None,
        inline_max_bytes: Annotated[int | None, INLINE_BYTES] = None,
    ) -> Json:
        """Answer a message in its thread, to its sender unless to is given. The subject is the original's behind Re:.
        It marks the original read.
        """
        request = ReplyRequest(
            project_key=project_key,
            sender_name=from_agent,
            message_id=MessageId(reply_to_message_id),
            recipients=_named(to, cc, bcc),
            body_md=body_md,
            importance=None if importance is None else Importance(importance),
            ack_required=ack_required,
            convert_images=convert_images,
            image_policy=_policy(image_embed_policy),
            inline_max_bytes=inline_max_bytes,
        )
        caller = await services.identity.caller()
        with sent_by(from_agent):
            return schemas.show_reply_outcome(await services.messaging.reply(caller, request))

    return [
        tool(send_message, cluster="claims", title="Send a message"),
        tool(reply_message, cluster="claims", title="Reply to a message"),
    ]


def _reading_tools(services: Services) -> list[ToolSpec]:
    async def check_my_messages(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        since_ts: Annotated[Micros, TimeNumber()] = EPOCH,
        urgent_only: Annotated[bool, Flag()] = False,
        include_bodies: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """Your mail after since_ts (epoch seconds), newest first; marks nothing. urgent_only: high or urgent."""
        request = InboxRequest(
            project_key=project_key,
            agent_name=agent_name,
            limit=limit,
            urgent_only=urgent_only,
            include_bodies=include_bodies,
            since=since_ts or None,
        )
        return shapes.show_inbox_page(await services.messaging.inbox(await services.identity.caller(), request))

    async def acknowledge_message(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        message_id: Annotated[int, Id()],
    ) -> Json:
        """Tell the sender that you have seen and accept a message; marks it read too. The first time stands."""
        caller = await services.identity.caller()
        step = ReceiptStep.ACKNOWLEDGED
        request = ReceiptRequest(
            project_key=project_key, agent_name=agent_name, message_ids=(MessageId(message_id),), step=step
        )
        return schemas.show_receipts(await services.messaging.mark(caller, request), step, caller, as_list=False)

    return [
        tool(
            check_my_messages,
            cluster="claims",
            title="Check your messages",
            read_only=True,
            idempotent=True,
            result_list=True,
        ),
        tool(acknowledge_message, cluster="claims", title="Acknowledge a message", idempotent=True),
    ]


def _named(to: list[str] | None, cc: list[str] | None, bcc: list[str] | None) -> RecipientList:
    return RecipientList(to=tuple(to or ()), cc=tuple(cc or ()), bcc=tuple(bcc or ()))


def _policy(named: str | None) -> AttachmentsPolicy | None:
    return None if named is None else AttachmentsPolicy(named)


def _path_tools(services: Services) -> list[ToolSpec]:
    reservations, current_caller = services.leases.reservations, services.identity.caller

    async def claim_paths(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str], WANTED_PATHS],
        ttl_seconds: Annotated[int, SECONDS] = 3_600,
        exclusive: Annotated[bool, Flag()] = True,
        reason: Annotated[str, NOTE] = "",
    ) -> Json:
        """Claim files before you edit them: paths from the repository root, dir/**, *.py. What others hold comes back
        under conflicts and is not granted, the rest is. Claiming again prolongs.
        """
        request = ReserveRequest(
            project_key=project_key,
            agent_name=agent_name,
            paths=tuple(paths),
            ttl_seconds=ttl_seconds,
            exclusive=exclusive,
            reason=reason,
        )
        return show_claimed(await reservations.reserve(await current_caller(), request))

    async def release_claims(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        paths: Annotated[list[str], WANTED_PATHS],
    ) -> Json:
        """Give back your claims on these paths, written as you claimed them. not_released says which were none."""
        caller = await current_caller()
        named = LeaseSelector(project_key=project_key, agent_name=agent_name, paths=tuple(paths))
        return show_released(await reservations.release(caller, named), caller)

    return [
        tool(claim_paths, cluster="claims", title="Claim files", idempotent=True),
        tool(release_claims, cluster="claims", title="Release claims", idempotent=True),
    ]


def _look_tools(services: Services) -> list[ToolSpec]:
    """To find mail. A summary may ask a model, and takes a turn of the long calls."""
    current_caller = services.identity.caller

    async def search_messages(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        query: Annotated[str, Text(max_length=1_000, may_be_blank=True)],
        limit: Annotated[int, LIMIT] = 20,
    ) -> Json:
        """Find a project's mail by words, newest first: "a phrase", pre*, AND OR NOT. Returns heads with a snippet;
        read one with resource://message/{id}.
        """
        request = SearchRequest(project_key=project_key, query=query, limit=limit, order=Order.NEWEST)
        return show_found(await services.search.search(await current_caller(), request))

    async def summarize_thread(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        thread_id: Annotated[str, THREAD],
        include_examples: Annotated[bool, Flag()] = False,
    ) -> Json:
        """What a thread says: participants, key points, decisions, open questions, actions with owner and state."""
        wishes = DigestOptions(include_examples=include_examples)
        (thread,) = await services.summaries.summarize_threads(
            await current_caller(), project_key, [thread_id], wishes, per_thread_limit=_SUMMARIZED
        )
        return show_thread_summary(thread)

    return [
        tool(search_messages, cluster="claims", title="Search mail", read_only=True, idempotent=True),
        tool(
            summarize_thread,
            cluster="claims",
            title="Summarize a thread",
            is_long=True,
            read_only=True,
            idempotent=True,
        ),
    ]
