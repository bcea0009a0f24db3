"""One message out of its copies in all archives: they must say the same, and what only some of them say yet is said by
the newest.

An archive's own copies come in one commit, so there all are or none. Between archives one may be behind: what it has
not been told yet is told it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail, ArchivedRecipient
from mcp_agent_mail.domain.messages import RecipientKind


class CopiesDiffer(ValueError):
    """Copies of one message contradict each other, or one of them is missing beside the others."""

    def __init__(self, slug: str, problem: str) -> None:
        super().__init__(problem)
        self.slug = slug
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCopies:
    """What one archive has of a message. Of a project that did not send it: `shown` alone, which its inbox copies say.

    `full` is the sender's copy, which names blind recipients; `inboxes` are the names of those who have a copy.
    """

    project_id: ProjectId
    slug: str
    shown: ArchivedMail
    full: ArchivedMail | None
    inboxes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRecipient:
    """`is_unnumbered`: it has its copy, and the number of the delivery is nowhere to be found."""

    agent_id: AgentId
    project_id: ProjectId
    name: str
    kind: RecipientKind
    delivery_seq: int | None
    delivered_ts: Micros | None
    held_code: str | None
    refused_ts: Micros | None
    expired_ts: Micros | None = None
    is_unnumbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeMail:
    """A message with all its recipients, in the order addressed. `behind` are projects whose archives do not say so."""

    mail: ArchivedMail
    sender: str
    home: ProjectId
    recipients: tuple[WholeRecipient, ...]
    behind: frozenset[ProjectId]


Locate = Callable[[ArchiveCopies, str], ProjectId]
"""The project of a name as an archive has it: `Name`, or `Name@slug`. Raises CopiesDiffer for one that is nowhere."""
Named = Callable[[ProjectId, str], AgentId | None]
"""The agent of this name in a project."""


def whole_mail(copies: Sequence[ArchiveCopies], home: ProjectId, locate: Locate, named: Named) -> WholeMail:
    """Raises CopiesDiffer. `home` is the sender's project, whose archive may be behind, or left out."""
    of_home = next((one for one in copies if one.project_id == home), None)
    for one in copies:
        _require_agreement(one, of_home or copies[0])
    newest = _newest_text(copies)
    states = _newest_states(copies, locate)
    _add_unnamed(states, copies, of_home, named)
    recipients = tuple(states.values())
    sender = newest.sender.partition("@")[0]
    behind = {home} if of_home is None else set[ProjectId]()
    behind |= {one.project_id for one in recipients if one.delivery_seq is not None or one.is_unnumbered}
    behind -= {one.project_id for one in copies if _is_up_to_date(one, newest, recipients)}
    return WholeMail(mail=newest, sender=sender, home=home, recipients=recipients, behind=frozenset(behind))


def copies_of(
    project_id: ProjectId, slug: str, shown: ArchivedMail | None, full: ArchivedMail | None, inboxes: Iterable[str]
) -> ArchiveCopies:
    """Of one archive, checked against each other. Raises CopiesDiffer. `shown` is what canonical and inbox copies say,
    and None where there are none.
    """
    names = frozenset(inboxes)
    said = shown or full
    assert said is not None, slug
    if said.project_id == project_id:
        if shown is None or full is None:
            raise CopiesDiffer(
                slug, f"of message {said.id} the {'sender' if full is None else 'project'}'s copy is gone"
            )
        if shown is not full and replace(full, recipients=_open(full.recipients)) != shown:
            raise CopiesDiffer(slug, f"the copies of message {said.id} say different things")
    elif shown is None or full is not None:
        raise CopiesDiffer(slug, f"message {said.id} is another project's, and lies here as its own")
    own = frozenset(
        one.name for one in (full or said).recipients if one.delivery_seq is not None and "@" not in one.name
    )
    lacking = sorted(own - names)
    # Whom a copy does not name may have a blind one.
    strange = sorted(names - own) if full is not None else []
    if lacking or strange:
        who = (lacking or strange)[0]
        raise CopiesDiffer(slug, f"{who} has {'no' if lacking else 'a'} copy of message {said.id} against what it says")
    return ArchiveCopies(project_id=project_id, slug=slug, shown=said, full=full, inboxes=names)


def _open(recipients: Iterable[ArchivedRecipient]) -> tuple[ArchivedRecipient, ...]:
    return tuple(one for one in recipients if one.kind is not RecipientKind.BCC)


def _require_agreement(one: ArchiveCopies, other: ArchiveCopies) -> None:
    if _lasting(one.shown) != _lasting(other.shown):
        raise CopiesDiffer(one.slug, f"message {one.shown.id} says something else than in {other.slug}")


def _lasting(mail: ArchivedMail) -> tuple[object, ...]:
    """What never changes; a body does in a purge, and what was sent may be withdrawn."""
    known = {one.agent_id for one in _open(mail.recipients)}
    return (
        mail.id, mail.project_id, mail.project_slug, mail.project_key, mail.sender_id, mail.sender.partition("@")[0],
        mail.thread_id, mail.topic, mail.subject, mail.importance, mail.ack_required, mail.created_ts, mail.reply_to,
        mail.is_system, mail.is_private, mail.terms.valid_until, mail.terms.supersedes, mail.wire_place,
        frozenset(known),
    )  # fmt: skip


def _newest_text(copies: Sequence[ArchiveCopies]) -> ArchivedMail:
    """The one that knows most: of a purge, of a withdrawal. Of equals the one that names blind recipients."""
    mails = [one.full or one.shown for one in sorted(copies, key=lambda copy: copy.full is None)]
    return max(mails, key=lambda mail: (mail.purged_ts is not None, mail.terms.withdrawn_ts is not None))


def _newest_states(copies: Sequence[ArchiveCopies], locate: Locate) -> dict[AgentId, WholeRecipient]:
    """Each recipient as the archive says that knows most of it; in the order of the copy that names most."""
    found: dict[AgentId, WholeRecipient] = {}
    for one in sorted(copies, key=lambda copy: copy.full is None):
        for said in (one.full or one.shown).recipients:
            known = found.get(said.agent_id)
            if known is None or _progress(said) > _progress(known):
                found[said.agent_id] = WholeRecipient(
                    agent_id=said.agent_id,
                    project_id=locate(one, said.name),
                    name=said.name.partition("@")[0],
                    kind=said.kind,
                    delivery_seq=said.delivery_seq,
                    delivered_ts=said.delivered_ts,
                    held_code=said.held_code,
                    refused_ts=said.refused_ts,
                    expired_ts=said.expired_ts,
                )
    return found


def _progress(recipient: ArchivedRecipient | WholeRecipient) -> int:
    """Held comes before delivered and before refused, expired after each of them; none is undone."""
    is_decided = recipient.delivery_seq is not None or recipient.refused_ts is not None
    return int(is_decided) + 2 * (recipient.expired_ts is not None)


def _add_unnamed(
    states: dict[AgentId, WholeRecipient], copies: Sequence[ArchiveCopies], of_home: ArchiveCopies | None, named: Named
) -> None:
    """Whoever has a copy got it: a blind one of which only the sender's archive would say more."""
    for one in copies:
        for name in sorted(one.inboxes):
            agent_id = named(one.project_id, name)
            if agent_id is None:
                raise CopiesDiffer(one.slug, f"{name} has a copy of message {one.shown.id}, and no profile")
            known = states.get(agent_id)
            if known is not None and known.delivery_seq is None:
                states[agent_id] = replace(known, is_unnumbered=True, refused_ts=None)
            if known is None and of_home is not None:
                raise CopiesDiffer(
                    one.slug, f"{name} has a copy of message {one.shown.id}, which its sender does not know"
                )
            if known is None:
                states[agent_id] = WholeRecipient(
                    agent_id=agent_id,
                    project_id=one.project_id,
                    name=name,
                    kind=RecipientKind.BCC,
                    delivery_seq=None,
                    delivered_ts=None,
                    held_code=None,
                    refused_ts=None,
                    is_unnumbered=True,
                )


def _is_up_to_date(one: ArchiveCopies, newest: ArchivedMail, recipients: Sequence[WholeRecipient]) -> bool:
    said: Mapping[AgentId, ArchivedRecipient] = {known.agent_id: known for known in (one.full or one.shown).recipients}
    for recipient in recipients:
        is_here = recipient.project_id == one.project_id
        if (
            is_here
            and (recipient.delivery_seq is not None or recipient.is_unnumbered)
            and recipient.name not in one.inboxes
        ):
            return False
        if one.full is None and recipient.kind is RecipientKind.BCC:
            continue
        known = said.get(recipient.agent_id)
        if recipient.is_unnumbered or known is None or _progress(known) != _progress(recipient):
            return False
    return (one.shown.purged_ts, one.shown.terms) == (newest.purged_ts, newest.terms)
