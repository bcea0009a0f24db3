"""The person writes: a new message as `Human` of a project, or an answer. What is refused keeps its text."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from mcp_agent_mail.core.errors import AgentMailError, Conflict, IdempotencyKeyConflict, InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.messages import Importance, reply_subject
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.threads import thread_of
from mcp_agent_mail.features.messaging.requests import MessageRequest, RecipientList, SendRequest
from mcp_agent_mail.features.oversight.recipient_groups import is_group
from mcp_agent_mail.web.addresses import compose_url, message_url, own_path, reply_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.actor import require_human
from mcp_agent_mail.web.pages.message import message_number
from mcp_agent_mail.web.refusals import fields_of, for_writers, status_of
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.mail_form import Answered, MailFields, MailForm, Reached, read_fields
from mcp_agent_mail.web.views.message import FOLDED_CHARACTERS

MOST_NAMES = 500
"""Names that a field offers; others can be written all the same."""
SHOWN_NAMES = 12
MOST_SKIPPED = 20


class NobodyReached(InvalidInput):
    """A broadcast without anybody to hear it."""


class OtherTextSent(Conflict):
    """The form was sent before, with something else in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LetterPage:
    """Where the person writes: the project in whose name, and what is answered."""

    page: PageContext
    project: Project
    action: str
    answered: Answered | None = None

    async def shown(
        self,
        fields: MailFields,
        *,
        refused: AgentMailError | None = None,
        reached: Reached | None = None,
        has_preview: bool = False,
        is_kept: bool = True,
    ) -> PageAnswer:
        page, project = self.page, self.project
        thread_id = fields.thread_id if self.answered is None else self.answered.thread_id
        listed = await page.services.identity.list_(page.caller, project.human_key, limit=MOST_NAMES)
        form = MailForm(
            action=self.action,
            project=project.slug,
            project_name=project.name,
            fields=replace(fields, idempotency_key=fields.idempotency_key or secrets.token_urlsafe(18)),
            known=sorted((agent.name for agent in listed.agents), key=str.casefold),
            groups=await page.services.pages.groups.offered(page.caller, project, thread_id),
            answered=self.answered,
            reached=reached,
            refused=None if refused is None else for_writers(refused),
            faulty=() if refused is None else fields_of(refused),
            has_preview=has_preview,
            is_kept=is_kept,
        )
        title = "New message" if self.answered is None else f"Reply: {self.answered.subject}"
        return await page.shown(
            "compose.html",
            {"form": form, "importances": [str(one) for one in Importance]},
            title=title,
            section="compose",
            project=project.slug,
            status=200 if refused is None else status_of(refused),
        )

    async def named(self, fields: MailFields) -> list[str]:
        """The recipients, with its agents in the place of each group."""
        if not any(map(is_group, fields.names)):
            return fields.names
        thread_id = fields.thread_id if self.answered is None else self.answered.thread_id
        groups = self.page.services.pages.groups
        return await groups.expanded(self.page.caller, self.project, fields.names, thread_id)

    async def sent(self, fields: MailFields, send: Callable[[], Awaitable[PageAnswer]]) -> PageAnswer:
        """What `send` answers, else the form again, with what was written in it and why it did not go."""
        if self.page.request.field("act") == "preview":
            return await self.shown(fields, has_preview=True)
        try:
            fields.require_whole(is_answer=self.answered is not None)
            return await send()
        except IdempotencyKeyConflict:
            again = OtherTextSent(
                "This form was sent once already, with something else in it. Nothing was sent now.",
                hint="To send this as a message of its own, press the button again.",
            )
            return await self.shown(replace(fields, idempotency_key=""), refused=again)
        except AgentMailError as refused:
            return await self.shown(fields, refused=refused)


async def compose_page(page: PageContext) -> PageAnswer:
    """The empty form. `to`, `subject` and `thread` of the query stand in it already."""
    letter = await _letter(page)
    to, subject, thread_id = (page.request.asked(name) for name in ("to", "subject", "thread"))
    draft = with_query(letter.action, {"to": to, "subject": subject, "thread": thread_id})
    return await letter.shown(_fresh(draft, to=to, subject=subject, thread_id=thread_id), is_kept=False)


async def compose(page: PageContext) -> PageAnswer:
    """Send it to who is named; to a group, or everyone active, once the person has seen whom that reaches."""
    letter = await _letter(page)
    fields = read_fields(page.request, draft=own_path(page.request.field("draft"), letter.action))

    async def send() -> PageAnswer:
        names = await letter.named(fields)
        if (fields.broadcast and not names) or names != fields.names:
            reached = await _reached(letter, names)
            if fields.confirmed != reached.seal:
                return await letter.shown(fields, reached=reached)
        answer = await page.host.run_tool("send_message", _new(letter, fields, names))
        if not answer["deliveries"]:
            raise _nobody()
        return _done(letter, answer["deliveries"][0]["payload"]["id"], fields)

    return await letter.sent(fields, send)


async def reply_page(page: PageContext) -> PageAnswer:
    """The form of an answer, beside what it answers."""
    letter = await _answering_letter(page)
    person = letter.answered.person if letter.answered else None
    owes = person is not None and person.asks_ack and person.ack_ts is None
    return await letter.shown(_fresh(letter.action, importance="", acknowledge=owes), is_kept=False)


async def reply(page: PageContext) -> PageAnswer:
    """Send the answer: to the original's sender alone unless others are named."""
    letter = await _answering_letter(page)
    assert letter.answered is not None
    answered = letter.answered
    fields = read_fields(page.request, draft=letter.action)

    async def send() -> PageAnswer:
        names = await letter.named(fields)
        if names != fields.names:
            reached = await _reached(letter, names)
            if fields.confirmed != reached.seal:
                return await letter.shown(fields, reached=reached)
        arguments: JsonObject = {
            "project_key": letter.project.human_key,
            "message_id": answered.id,
            "sender_name": HUMAN,
            "body_md": fields.body_md,
            "to": list(names) or None,
            "importance": fields.importance or None,
            "ack_required": fields.ack_required,
            "acknowledge": fields.acknowledge,
            "idempotency_key": fields.idempotency_key,
        }
        answer = await page.host.run_tool("reply_message", _given(arguments))
        return _done(letter, answer["id"], fields)

    return await letter.sent(fields, send)


def _fresh(
    draft: str,
    *,
    to: str = "",
    subject: str = "",
    thread_id: str = "",
    importance: str = "normal",
    acknowledge: bool = False,
) -> MailFields:
    return MailFields(
        to=to,
        subject=subject,
        body_md="",
        thread_id=thread_id,
        importance=importance,
        ack_required=False,
        acknowledge=acknowledge,
        broadcast=False,
        idempotency_key="",
        draft=draft,
    )


async def _letter(page: PageContext) -> _LetterPage:
    require_human(page)
    project = await page.services.pages.oversight.project(page.keys["project"])
    return _LetterPage(page=page, project=project, action=compose_url(project.slug))


async def _answering_letter(page: PageContext) -> _LetterPage:
    """The `Human` that the message came to answers it; that of the address where it came to none, or to that one."""
    require_human(page)
    number = message_number(page.keys["message"])
    here = await page.services.pages.oversight.project(page.keys["project"])
    seen = await page.services.messaging.message(
        page.caller, MessageRequest(message_id=number, project_key=here.human_key)
    )
    person = (await page.services.pages.human_mail.find(page.caller, [number])).get(number)
    came_to = [] if person is None else person.projects
    project = here if not came_to or here.id in {one.id for one in came_to} else came_to[0]
    answered = Answered(
        id=number,
        sender=seen.message.sender_name,
        subject=seen.message.subject,
        reply_subject=reply_subject(seen.message.subject, "Re:"),
        body_md=seen.message.body_md[:FOLDED_CHARACTERS],
        thread_id=thread_of(number, seen.message.thread_id),
        person=person,
    )
    return _LetterPage(page=page, project=project, action=reply_url(here.slug, number), answered=answered)


def _new(letter: _LetterPage, fields: MailFields, names: Sequence[str]) -> JsonObject:
    return _given(
        {
            "project_key": letter.project.human_key,
            "sender_name": HUMAN,
            "to": list(names) or None,
            "subject": fields.subject,
            "body_md": fields.body_md,
            "importance": fields.importance or None,
            "ack_required": fields.ack_required,
            "thread_id": fields.thread_id or None,
            "broadcast": fields.broadcast,
            "idempotency_key": fields.idempotency_key,
        }
    )


def _given(arguments: JsonObject) -> JsonObject:
    return {name: value for name, value in arguments.items() if value is not None}


async def _reached(letter: _LetterPage, names: Sequence[str]) -> Reached:
    """Counted as the send itself decides it. Raises NobodyReached."""
    request = SendRequest(
        project_key=letter.project.human_key,
        sender_name=HUMAN,
        recipients=RecipientList(to=tuple(names)),
        subject=HUMAN,
        body_md="",
        broadcast=not names,
    )
    draft = await letter.page.services.messaging.draft(letter.page.caller, request)
    if not draft.chosen:
        raise _nobody()
    everyone = ",".join(str(one) for one in sorted(one.agent.id for one in draft.chosen))
    return Reached(
        seal=hashlib.sha256(everyone.encode()).hexdigest(),
        count=len(draft.chosen),
        names=[
            shown_name(one.agent.name, one.project.id, one.project.slug, letter.project.id)
            for one in draft.chosen[:SHOWN_NAMES]
        ],
        skipped=[(one.agent, one.reason) for one in draft.skipped[:MOST_SKIPPED]],
        skipped_count=len(draft.skipped),
    )


def _nobody() -> NobodyReached:
    return NobodyReached("This would reach nobody: no agent of the project is active.", hint="Name an agent instead.")


def _done(letter: _LetterPage, message_id: int, fields: MailFields) -> PageAnswer:
    """To the message. By the key of its form the browser knows which draft was sent, and forgets no other."""
    return redirect(with_query(message_url(letter.project.slug, message_id), {"sent": fields.idempotency_key or "1"}))
