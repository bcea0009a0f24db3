"""The form in which the person writes: what stands in its fields, and what is shown beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.features.oversight.human_mail import HumanReceipt
from mcp_agent_mail.features.oversight.recipient_groups import ListedGroup
from mcp_agent_mail.web.addresses import own_path
from mcp_agent_mail.web.request import PageRequest

_BETWEEN_NAMES = re.compile(r"[,;\n]")


class FieldsMissing(InvalidInput):
    """A letter of the person's lacks its text, or more than one of its fields."""


_CALLED = {"to": "To", "subject": "the subject", "body_md": "the text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailFields:
    """As the person wrote them. `idempotency_key` is the form's own: sent twice, it sends once. `draft` is under which
    address the browser keeps what is not sent yet. `confirmed` is the seal of those whom it was said to reach.
    """

    to: str
    subject: str
    body_md: str
    thread_id: str
    importance: str
    ack_required: bool
    acknowledge: bool
    broadcast: bool
    idempotency_key: str
    draft: str
    confirmed: str = ""

    @property
    def names(self) -> list[str]:
        """The recipients, between commas."""
        return [name for part in _BETWEEN_NAMES.split(self.to) if (name := part.strip())]

    def require_whole(self, *, is_answer: bool) -> None:
        """Raise FieldsMissing, with all that is missing, where nobody could see a sign in the text, or where two
        fields are empty. One that is empty by itself is left to the rules, which say more of it. An answer has a
        subject, and somebody that it goes to.
        """
        is_empty = {
            "to": not is_answer and not self.names and not self.broadcast,
            "subject": not is_answer and not self.subject.strip(),
            "body_md": not any(sign.isprintable() and not sign.isspace() for sign in self.body_md),
        }
        missing = [name for name, empty in is_empty.items() if empty]
        if len(missing) < 2 and not is_empty["body_md"]:
            return
        called = listed([_CALLED[one] for one in missing], "and")
        it, are = ("it", "is") if len(missing) == 1 else ("them", "are")
        raise FieldsMissing(
            f"{called[0].upper()}{called[1:]} {are} empty.",
            hint=f"Write {it}, and press Send again: nothing was sent or acknowledged.",
            data={"parameter": missing[0], "missing": list[Json](missing)},
        )


def read_fields(request: PageRequest, *, draft: str) -> MailFields:
    """Of a form that was sent. A browser ends the lines of a text with two characters; mail has one."""
    return MailFields(
        to=", ".join(request.form.get("to", ())),
        subject=request.field("subject"),
        body_md=request.field("body_md").replace("\r\n", "\n"),
        thread_id=request.field("thread_id").strip(),
        importance=request.field("importance"),
        ack_required=request.field("ack_required") == "on",
        acknowledge=request.field("acknowledge") == "on",
        broadcast=request.field("broadcast") == "on",
        idempotency_key=request.field("idempotency_key"),
        draft=draft,
        confirmed=request.field("confirmed"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMail:
    """What this very request held of a letter that was refused whole, and the address of its form."""

    form: str
    to: str
    subject: str
    body_md: str

    @property
    def has_text(self) -> bool:
        return any((self.to, self.subject, self.body_md))


def unsent_letter(request: PageRequest) -> KeptMail:
    """The form's address is that which its draft is kept under."""
    draft = own_path(request.field("draft"), request.path)
    fields = read_fields(request, draft=draft if draft.partition("?")[0] == request.path else request.path)
    return KeptMail(form=fields.draft, to=fields.to, subject=fields.subject, body_md=fields.body_md)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Whom a broadcast or a group would reach: the first of them by name, and who is left out, with why. `seal` is of
    exactly these: pressed again when there are others, the form is asked about again.
    """

    seal: str
    count: int
    names: Sequence[str]
    skipped: Sequence[tuple[str, str]]
    skipped_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The message that is answered. `person` is how it came to `Human`, None where it did not."""

    id: int
    sender: str
    subject: str
    reply_subject: str
    body_md: str
    thread_id: str
    person: HumanReceipt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailForm:
    """`action` takes the form. `known` and `groups` are to choose from. `faulty` are the fields for which the form was
    refused. `is_kept`: the fields hold what was sent once, and the key is theirs whatever a draft says.
    """

    action: str
    project: str
    project_name: str
    fields: MailFields
    known: Sequence[str]
    groups: Sequence[ListedGroup] = ()
    answered: Answered | None = None
    reached: Reached | None = None
    refused: AgentMailError | None = None
    faulty: Sequence[str] = ()
    has_preview: bool = False
    is_kept: bool = False
